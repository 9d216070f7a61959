//! The result of a filter, measured and predicted.

use dedupstore::lab::RunSummary;
use dedupstore::theory::{Prediction, Trust};
use wasm_bindgen::prelude::*;

/// The result of a filter. The names are those of `dedupstore simulate --json`.
#[wasm_bindgen]
pub struct Outcome {
    summary: RunSummary,
    formula: Option<Formula>,
}

/// What theory says over the whole log.
#[derive(Clone, Copy)]
struct Formula {
    fpr: f64,
    fnr: f64,
    by: &'static str,
    trust: Trust,
    loose: &'static str,
}

impl Outcome {
    pub(crate) fn new(summary: RunSummary, prediction: Option<&Prediction>) -> Self {
        let formula = prediction.map(|it| Formula {
            fpr: it.fpr,
            fnr: it.fnr,
            by: it.by,
            trust: it.trust,
            loose: it.loose,
        });
        Outcome { summary, formula }
    }
}

#[wasm_bindgen]
impl Outcome {
    /// The filter, in its text form.
    #[wasm_bindgen(getter)]
    pub fn filter(&self) -> String {
        self.summary.filter.clone()
    }

    /// The memory it was given.
    #[wasm_bindgen(getter, js_name = memoryBits)]
    pub fn memory_bits(&self) -> f64 {
        self.summary.memory_bits as f64
    }

    /// Lines.
    #[wasm_bindgen(getter)]
    pub fn count(&self) -> f64 {
        self.summary.count as f64
    }

    /// First occurrences.
    #[wasm_bindgen(getter)]
    pub fn distinct(&self) -> f64 {
        self.summary.distinct as f64
    }

    /// The others.
    #[wasm_bindgen(getter)]
    pub fn repeats(&self) -> f64 {
        self.summary.repeats as f64
    }

    /// First occurrences reported Seen.
    #[wasm_bindgen(getter, js_name = falsePositives)]
    pub fn false_positives(&self) -> f64 {
        self.summary.fp as f64
    }

    /// Repeats reported New.
    #[wasm_bindgen(getter, js_name = falseNegatives)]
    pub fn false_negatives(&self) -> f64 {
        self.summary.false_negatives as f64
    }

    /// The share of first occurrences reported Seen.
    #[wasm_bindgen(getter)]
    pub fn fpr(&self) -> Option<f64> {
        self.summary.fpr
    }

    /// The share of repeats reported New.
    #[wasm_bindgen(getter)]
    pub fn fnr(&self) -> Option<f64> {
        self.summary.fnr
    }

    /// The share of all lines with a wrong verdict.
    #[wasm_bindgen(getter)]
    pub fn error(&self) -> Option<f64> {
        Some(self.summary.fpr_n? + self.summary.fnr_n?)
    }

    /// The share of cells in use.
    #[wasm_bindgen(getter)]
    pub fn load(&self) -> f64 {
        self.summary.load
    }

    /// Time in the filter alone, where the browser's clock could tell.
    #[wasm_bindgen(getter, js_name = nsPerObservation)]
    pub fn ns_per_observation(&self) -> Option<f64> {
        self.summary.ns_per_observation
    }

    /// What theory says of `fpr`.
    #[wasm_bindgen(getter, js_name = predictedFpr)]
    pub fn predicted_fpr(&self) -> Option<f64> {
        self.formula.map(|it| it.fpr)
    }

    /// What theory says of `fnr`.
    #[wasm_bindgen(getter, js_name = predictedFnr)]
    pub fn predicted_fnr(&self) -> Option<f64> {
        self.formula.map(|it| it.fnr)
    }

    /// The formula that says so.
    #[wasm_bindgen(getter, js_name = predictedBy)]
    pub fn predicted_by(&self) -> Option<String> {
        self.formula.map(|it| it.by.to_owned())
    }

    /// Whether it is exact, an approximation or a bound.
    #[wasm_bindgen(getter, js_name = predictedTrust)]
    pub fn predicted_trust(&self) -> Option<String> {
        let in_words = |trust| match trust {
            Trust::Exact => "exact",
            Trust::Approximation => "an approximation",
            Trust::Bound => "an upper bound",
        };
        self.formula.map(|it| in_words(it.trust).to_owned())
    }

    /// Where it is loose.
    #[wasm_bindgen(getter, js_name = predictedLoose)]
    pub fn predicted_loose(&self) -> Option<String> {
        self.formula.map(|it| it.loose.to_owned())
    }
}
