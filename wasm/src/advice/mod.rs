//! Advice for a log: the same as `dedupstore advise LOG`.
//!
//! Without the feature `all-filters` the bindings are the same, and the constructor fails: only the
//! complete engine can choose among all filters.

#[cfg(not(feature = "all-filters"))]
mod absent;
#[cfg(feature = "all-filters")]
mod log_adviser;

#[cfg(not(feature = "all-filters"))]
use absent::LogAdviser;
#[cfg(feature = "all-filters")]
use log_adviser::LogAdviser;

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use crate::js_error;
use crate::key_choice::{KeyChoice, KeySpec};
use crate::log_part::LogPart;

/// Reads a log and recommends a filter for it. If its lines have importance, errors weigh as much
/// as that.
#[wasm_bindgen]
pub struct Adviser(LogAdviser);

/// What a filter must achieve. Rates are shares, not percentages.
#[derive(Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct AdviceRequirements {
    /// The memory of the filter.
    pub memory_bits: f64,
    /// The highest acceptable FPR; null for any.
    pub max_fpr: Option<f64>,
    /// The highest acceptable FNR; null for any.
    pub max_fnr: Option<f64>,
    /// The cost of a false positive.
    pub cost_fp: f64,
    /// The cost of a false negative.
    pub cost_fn: f64,
    /// Which errors to avoid.
    pub prefer: Preference,
}

/// Which errors to avoid, in the words of the command line.
#[derive(Clone, Copy, Deserialize, Tsify)]
#[serde(rename_all = "kebab-case")]
pub enum Preference {
    /// Compare by cost.
    Balanced,
    /// Avoid false positives.
    NoDrops,
    /// Avoid false negatives.
    NoRepeats,
}

/// A recommendation.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct Advice {
    /// The recommended filter, then the runners-up, best first.
    pub estimates: Vec<Estimate>,
    /// Whether the recommended filter is expected to meet the requirements.
    pub keeps_bounds: bool,
    /// More memory, with which a filter meets the requirements; null if they are met, or if no
    /// memory is enough.
    pub enough: Option<EnoughForBounds>,
    /// Why it is recommended: a clause without a full stop.
    pub reason: String,
    /// A note on the filters of the papers; null if there is none.
    pub papers: Option<String>,
    /// How certain the recommendation is: a clause without a full stop.
    pub certainty: &'static str,
    /// The number of lines on which the filters were tried; null if only formulas were used.
    pub observations: Option<u64>,
}

/// A filter and the memory with which it meets the requirements.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct EnoughForBounds {
    /// The filter in its text form.
    pub filter: String,
    /// The memory for the whole log.
    pub memory_bits: f64,
}

/// What to expect of a filter.
#[derive(Serialize, Tsify)]
pub struct Estimate {
    /// The filter in its text form.
    pub filter: String,
    /// The expected FPR.
    pub fpr: f64,
    /// The expected FNR.
    pub fnr: f64,
    /// The expected cost of errors per line.
    pub cost: f64,
}

#[wasm_bindgen]
impl Adviser {
    /// Creates an adviser for a part of a log.
    #[wasm_bindgen(constructor)]
    pub fn new(key: Ts<KeySpec>, part: Ts<LogPart>) -> Result<Adviser, JsError> {
        let key = KeyChoice::new(&key.to_rust()?).map_err(js_error)?;
        let adviser = LogAdviser::new(&key, part.to_rust()?.into());
        adviser.map(Adviser).map_err(js_error)
    }

    /// Reads the next bytes of the log.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), JsError> {
        self.0.feed(chunk).map_err(js_error)
    }

    /// Ends the log. Text after the last newline is a line too.
    pub fn finish(&mut self) {
        self.0.finish();
    }

    /// Whether the requested part of the log has been read.
    #[wasm_bindgen(getter, js_name = isComplete)]
    pub fn is_complete(&self) -> bool {
        self.0.is_complete()
    }

    /// Lines with a key.
    #[wasm_bindgen(getter)]
    pub fn count(&self) -> f64 {
        self.0.count() as f64
    }

    /// Lines read so far that have no key.
    #[wasm_bindgen(getter, js_name = linesWithoutKey)]
    pub fn lines_without_key(&self) -> f64 {
        self.0.lines_without_key() as f64
    }

    /// Tries filters on a sample of the log and recommends one.
    pub fn advise(&self, requirements: Ts<AdviceRequirements>) -> Result<Ts<Advice>, JsError> {
        let advice = self.0.advise(&requirements.to_rust()?);
        Ok(advice.map_err(js_error)?.into_ts()?)
    }
}
