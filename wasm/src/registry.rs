//! The filters of the engine, described for the page's form.

use dedupstore::filter::{Descriptor, Kind, Parameter};
use dedupstore::lab::Sampling;
use dedupstore::{AnyFilter, FilterSpec, registry as engine_registry};
use serde::Serialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use crate::log_part::LogPart;
use crate::setting_error::build_error;

/// The number of values of a parameter that the map compares: the page has as many colours.
const SWEPT_VALUES: usize = 6;

/// A filter.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct FilterDescription {
    /// The name in a text form.
    pub name: &'static str,
    /// The name in a sentence.
    pub title: &'static str,
    /// How it works.
    pub summary: &'static str,
    /// What it guarantees.
    pub promise: &'static str,
    /// When to choose it.
    pub choose_when: &'static str,
    /// Which errors it makes.
    pub errs: &'static str,
    /// An example.
    pub drawing: FilterDrawing,
    /// In the order of the text form.
    pub parameters: Vec<ParameterDescription>,
}

/// A few cells before and after a new key, one character per cell.
#[derive(Serialize, Tsify)]
pub struct FilterDrawing {
    /// The rows of cells before the key.
    pub before: &'static [&'static str],
    /// The same rows after the key.
    pub after: &'static [&'static str],
    /// What happened.
    pub caption: &'static str,
}

/// A parameter of a filter.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct ParameterDescription {
    /// The name in a text form.
    pub name: &'static str,
    /// What it sets.
    pub meaning: &'static str,
    /// The default value as text.
    pub default_value: String,
    /// The values that the map compares, as text.
    pub swept_values: Vec<String>,
    /// The values that the parameter accepts.
    pub allowed: AllowedValues,
}

/// The values that a parameter accepts.
#[derive(Serialize, Tsify)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum AllowedValues {
    /// A number in a range.
    Number {
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
        /// The distance between two neighbouring values.
        step: f64,
    },
    /// One of several words.
    Choice {
        /// The words.
        options: &'static [&'static str],
    },
}

impl FilterDescription {
    fn new(descriptor: &'static Descriptor) -> Self {
        let drawing = &descriptor.drawing;
        FilterDescription {
            name: descriptor.name,
            title: descriptor.title,
            summary: descriptor.summary,
            promise: descriptor.promise,
            choose_when: descriptor.choose_when,
            errs: descriptor.errors.in_words(),
            drawing: FilterDrawing {
                before: drawing.before,
                after: drawing.after,
                caption: drawing.caption,
            },
            parameters: descriptor
                .parameters
                .iter()
                .map(ParameterDescription::new)
                .collect(),
        }
    }
}

impl ParameterDescription {
    fn new(parameter: &'static Parameter) -> Self {
        let swept = parameter.kind.suggested_values(SWEPT_VALUES);
        ParameterDescription {
            name: parameter.name,
            meaning: parameter.meaning,
            default_value: parameter.kind.default_value().to_string(),
            swept_values: swept.iter().map(ToString::to_string).collect(),
            allowed: AllowedValues::new(&parameter.kind),
        }
    }
}

impl AllowedValues {
    fn new(kind: &Kind) -> Self {
        match *kind {
            Kind::Integer { min, max, .. } => AllowedValues::Number {
                min: min as f64,
                max: max as f64,
                step: 1.0,
            },
            Kind::Decimal {
                min_millionths,
                max_millionths,
                ..
            } => AllowedValues::Number {
                min: min_millionths as f64 / 1e6,
                max: max_millionths as f64 / 1e6,
                step: 1e-6,
            },
            Kind::Choice { options } => AllowedValues::Choice { options },
        }
    }
}

/// Returns why a filter cannot be created in this memory for a part of a log; undefined if it can.
#[wasm_bindgen(js_name = checkSetting)]
pub fn check_setting(
    filter: &str,
    memory_bits: f64,
    part: Ts<LogPart>,
) -> Result<Option<String>, JsError> {
    let sampling: Sampling = part.to_rust()?.into();
    let memory_bits = sampling.memory_bits(memory_bits as u64);
    let built = filter
        .parse::<FilterSpec>()
        .map_err(|error| error.to_string())
        .and_then(|spec| AnyFilter::build(&spec, memory_bits).map_err(|error| build_error(&error)));
    Ok(built.err())
}

/// Returns all filters.
#[wasm_bindgen]
pub fn filters() -> Result<Vec<Ts<FilterDescription>>, JsError> {
    let descriptions = engine_registry()
        .iter()
        .copied()
        .map(FilterDescription::new);
    descriptions.map(|it| Ok(it.into_ts()?)).collect()
}
