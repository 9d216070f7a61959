//! The rates of a run against the position in the log, measured and predicted.

use dedupstore::lab::{CurvePoint, FilterRun};
use dedupstore::theory::{Prediction, information};
use js_sys::Float64Array;
use serde::Serialize;
use serde_wasm_bindgen::preserve;
use tsify::Tsify;

/// The curves of all filters of a run. A value belongs to the stretch of lines that ends at
/// its position. NaN: the stretch has no such rate.
#[derive(Default, Serialize, Tsify)]
pub struct Curves {
    /// The line at which each stretch ends; the same for every filter.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub position: Float64Array,
    /// One per filter.
    pub filters: Vec<FilterCurves>,
    /// The least FPR of any filter in this memory without false negatives.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub bound: Float64Array,
}

/// The curves of one filter.
#[derive(Serialize, Tsify)]
pub struct FilterCurves {
    /// Counted on the log.
    pub measured: Measures,
    /// Computed by the filter's formula; NaN if there is none.
    pub predicted: Measures,
}

/// The four values that the charts show.
#[derive(Serialize, Tsify)]
pub struct Measures {
    /// False positives as a share of first occurrences.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub fpr: Float64Array,
    /// False negatives as a share of repeats.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub fnr: Float64Array,
    /// Wrong verdicts as a share of lines.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub error: Float64Array,
    /// The share of cells in use at the end of the stretch.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub load: Float64Array,
}

impl Curves {
    /// Appends the curves of one filter, in at most `stretches` stretches.
    pub(crate) fn push(
        &mut self,
        run: &FilterRun,
        prediction: Option<&Prediction>,
        stretches: usize,
    ) {
        let points = run.scoreboard().coarse_curve(stretches);
        let memory_bits = run.memory_bits() as f64;
        self.position = column(&points, |_, end| Some(end.position as f64));
        self.bound = column(&points, |start, end| {
            let keys = (start.distinct + end.distinct) as f64 / 2.0;
            Some(information::min_fpr(memory_bits / keys.max(1.0)))
        });
        self.filters.push(FilterCurves {
            measured: measured(&points, run.set().filter().cells()),
            predicted: predicted(&points, prediction),
        });
    }
}

fn measured(points: &[CurvePoint], cells: u64) -> Measures {
    let errors = |point: &CurvePoint| point.false_positives + point.false_negatives;
    Measures {
        fpr: column(points, |start, end| end.fpr_since(start)),
        fnr: column(points, |start, end| end.fnr_since(start)),
        error: column(points, |start, end| {
            let lines = end.position - start.position;
            (lines > 0).then(|| (errors(end) - errors(start)) as f64 / lines as f64)
        }),
        load: column(points, |_, end| Some(end.occupied as f64 / cells as f64)),
    }
}

/// Rates are those at the middle of each stretch; the load is that at its end.
fn predicted(points: &[CurvePoint], prediction: Option<&Prediction>) -> Measures {
    let middle =
        |start: &CurvePoint, end: &CurvePoint| (start.position + end.position) as f64 / 2.0;
    Measures {
        fpr: column(points, |start, end| {
            Some(prediction?.fpr_at(middle(start, end)))
        }),
        fnr: column(points, |start, end| {
            Some(prediction?.fnr_at(middle(start, end)))
        }),
        // For as many first occurrences and repeats as the stretch has.
        error: column(points, |start, end| {
            let prediction = prediction?;
            let middle = middle(start, end);
            let lines = (end.position - start.position) as f64;
            let first = (end.distinct - start.distinct) as f64 / lines;
            Some(first * prediction.fpr_at(middle) + (1.0 - first) * prediction.fnr_at(middle))
        }),
        load: column(points, |_, end| {
            Some(prediction?.load_at(end.position as f64))
        }),
    }
}

/// One value per stretch between two points; NaN for None.
fn column(
    points: &[CurvePoint],
    value: impl Fn(&CurvePoint, &CurvePoint) -> Option<f64>,
) -> Float64Array {
    let values: Vec<f64> = points
        .windows(2)
        .map(|pair| value(&pair[0], &pair[1]).unwrap_or(f64::NAN))
        .collect();
    Float64Array::from(&values[..])
}
