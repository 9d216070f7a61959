//! The calculator: two of keys, memory and error rate give the third, for every filter with a
//! formula.

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

#[cfg(feature = "all-filters")]
use crate::js_error;

/// What is given. Exactly two of `keys`, `error` and `memoryBits` are not null.
#[derive(Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct CalculatorInput {
    /// The number of distinct keys.
    pub keys: Option<f64>,
    /// The highest rate of either kind of error.
    pub error: Option<f64>,
    /// The memory.
    pub memory_bits: Option<f64>,
    /// The parameter k; null for the best one.
    pub k: Option<f64>,
    /// How often a key comes on average.
    pub lines_per_key: f64,
}

/// A filter with numbers that fit together.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct CalculatedFilter {
    /// The filter in its text form.
    pub filter: String,
    /// The filter's name for people: "RLBSBF (k=2)".
    pub name: String,
    /// The number of distinct keys.
    pub keys: f64,
    /// The memory.
    pub memory_bits: f64,
    /// The probability that a new key is dropped after all keys.
    pub fpr: f64,
    /// The probability that a repeat is let through.
    pub fnr: f64,
    /// The formula's name and source.
    pub by: &'static str,
}

/// Returns the names of the filters that can be calculated.
#[wasm_bindgen(js_name = calculatedFilters)]
pub fn calculated_filters() -> Vec<String> {
    #[cfg(feature = "all-filters")]
    {
        let names = dedupstore::advise::calculated_filters().into_iter();
        names.map(str::to_owned).collect()
    }
    #[cfg(not(feature = "all-filters"))]
    Vec::new()
}

/// Calculates the missing value for a filter, by its name. The error is a sentence for the page's
/// user.
#[wasm_bindgen(js_name = calculateFilter)]
pub fn calculate_filter(
    filter: &str,
    given: Ts<CalculatorInput>,
) -> Result<Ts<CalculatedFilter>, JsError> {
    #[cfg(feature = "all-filters")]
    {
        let given = given.to_rust()?;
        let calculated = calculate(filter, &given).map_err(js_error)?;
        Ok(calculated.into_ts()?)
    }
    #[cfg(not(feature = "all-filters"))]
    {
        let _ = (filter, given);
        Err(JsError::new(
            "This engine has no calculator. The page has another one that does.",
        ))
    }
}

#[cfg(feature = "all-filters")]
fn calculate(filter: &str, given: &CalculatorInput) -> Result<CalculatedFilter, String> {
    use dedupstore::advise::{self, CalculationError, Given};
    let given = Given {
        keys: given.keys.map(|keys| keys as u64),
        error: given.error,
        memory_bits: given.memory_bits.map(|bits| bits as u64),
        k: given.k.map(|k| k as u32),
        lines_per_key: given.lines_per_key,
    };
    let found = advise::calculate(filter, &given).map_err(|error| match error {
        CalculationError::Impossible => {
            "no size of this filter in a browser has so few errors".to_owned()
        }
        _ => error.to_string(),
    })?;
    Ok(CalculatedFilter {
        filter: found.filter.to_string(),
        name: crate::filter_name::short_name(&found.filter),
        keys: found.keys as f64,
        memory_bits: found.memory_bits as f64,
        fpr: found.fpr,
        fnr: found.fnr,
        by: found.by,
    })
}
