//! How a filter has done over a log, measured and predicted.

use dedupstore::lab::CurvePoint;
use dedupstore::theory::{Prediction, information};
use wasm_bindgen::prelude::*;

/// Rates over the log, each over the stretch since the point before it. A stretch
/// with no first occurrences has no FPR, one with no repeats no FNR: those are NaN.
#[wasm_bindgen]
pub struct Curve {
    points: Vec<CurvePoint>,
    cells: u64,
    memory_bits: u64,
    prediction: Option<Prediction>,
}

impl Curve {
    pub(crate) fn new(
        points: Vec<CurvePoint>,
        cells: u64,
        memory_bits: u64,
        prediction: Option<Prediction>,
    ) -> Self {
        Curve {
            points,
            cells,
            memory_bits,
            prediction,
        }
    }

    fn over_stretches(&self, value: impl Fn(&CurvePoint, &CurvePoint) -> Option<f64>) -> Vec<f64> {
        self.points
            .windows(2)
            .map(|pair| value(&pair[0], &pair[1]).unwrap_or(f64::NAN))
            .collect()
    }

    /// What theory says of the middle of each stretch.
    fn predicted(&self, value: impl Fn(&Prediction, f64) -> f64) -> Vec<f64> {
        self.over_stretches(|start, end| {
            let middle = (start.position + end.position) as f64 / 2.0;
            Some(value(self.prediction.as_ref()?, middle))
        })
    }
}

#[wasm_bindgen]
impl Curve {
    /// Where each stretch ends, in lines.
    #[wasm_bindgen(getter)]
    pub fn position(&self) -> Vec<f64> {
        self.over_stretches(|_, end| Some(end.position as f64))
    }

    /// FPR in each stretch.
    #[wasm_bindgen(getter)]
    pub fn fpr(&self) -> Vec<f64> {
        self.over_stretches(|start, end| end.fpr_since(start))
    }

    /// FNR in each stretch.
    #[wasm_bindgen(getter)]
    pub fn fnr(&self) -> Vec<f64> {
        self.over_stretches(|start, end| end.fnr_since(start))
    }

    /// The share of lines with a wrong verdict in each stretch.
    #[wasm_bindgen(getter)]
    pub fn error(&self) -> Vec<f64> {
        self.over_stretches(|start, end| {
            let errors = |point: &CurvePoint| point.false_positives + point.false_negatives;
            let lines = end.position - start.position;
            (lines > 0).then(|| (errors(end) - errors(start)) as f64 / lines as f64)
        })
    }

    /// The share of cells in use at the end of each stretch.
    #[wasm_bindgen(getter)]
    pub fn load(&self) -> Vec<f64> {
        self.over_stretches(|_, end| Some(end.occupied as f64 / self.cells as f64))
    }

    /// FPR as theory has it; NaN where it has nothing to say.
    #[wasm_bindgen(getter, js_name = predictedFpr)]
    pub fn predicted_fpr(&self) -> Vec<f64> {
        self.predicted(Prediction::fpr_at)
    }

    /// FNR as theory has it.
    #[wasm_bindgen(getter, js_name = predictedFnr)]
    pub fn predicted_fnr(&self) -> Vec<f64> {
        self.predicted(Prediction::fnr_at)
    }

    /// Wrong verdicts as theory has them, for as many new keys and repeats as came.
    #[wasm_bindgen(getter, js_name = predictedError)]
    pub fn predicted_error(&self) -> Vec<f64> {
        self.over_stretches(|start, end| {
            let prediction = self.prediction.as_ref()?;
            let middle = (start.position + end.position) as f64 / 2.0;
            let lines = (end.position - start.position) as f64;
            let first = (end.distinct - start.distinct) as f64 / lines;
            Some(first * prediction.fpr_at(middle) + (1.0 - first) * prediction.fnr_at(middle))
        })
    }

    /// The load as theory has it.
    #[wasm_bindgen(getter, js_name = predictedLoad)]
    pub fn predicted_load(&self) -> Vec<f64> {
        self.over_stretches(|_, end| Some(self.prediction.as_ref()?.load_at(end.position as f64)))
    }

    /// The least FPR of any filter in the same memory that misses no repeat, by the keys
    /// met up to the middle of each stretch.
    #[wasm_bindgen(getter, js_name = boundFpr)]
    pub fn bound_fpr(&self) -> Vec<f64> {
        self.over_stretches(|start, end| {
            let keys = (start.distinct + end.distinct) as f64 / 2.0;
            Some(information::least_fpr(
                self.memory_bits as f64 / keys.max(1.0),
            ))
        })
    }
}
