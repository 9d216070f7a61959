//! Bloom filters that grow by parts.
//!
//! A key is reported as Seen if one of the parts has all its bits: 1 − Π(1 − P_i). Full parts have
//! the rate at which they were closed, and the newest that of its keys. A key that is dropped
//! because an older part has its bits is not inserted into the newest part, where it would have set
//! bits. So the number of keys in the newest part grows by Π(1 − P_i) over the older parts for each
//! distinct key.

use super::prediction::{Formula, PredictedPoint, Prediction, Trust, positions};
use super::workload::Workload;
use crate::filter::{Filter, Growing};

const PARTS: Formula = Formula {
    by: "Koloniari et al. 2011: 1 − Π(1 − P_i) over the parts, along the stream",
    trust: Trust::Approximation,
    loose: "parts of few cells",
};

/// Predicts a growing filter without a window.
pub(super) fn predict(workload: &Workload, filter: &Growing) -> Prediction {
    let state = |keys: f64| filter.state_of(keys).unwrap_or_default();
    let cells = filter.cells() as f64;
    let (mut inserted, mut before, mut passed_before) = (0.0, 0.0, 1.0);
    let point = |position: f64| {
        let met = workload.distinct_within(position);
        // What passes at the end of the step is not known yet; one correction is enough.
        let guess = state(inserted + (met - before) * passed_before).passed;
        inserted += (met - before) * (passed_before + guess) / 2.0;
        let state = state(inserted);
        (before, passed_before) = (met, state.passed);
        PredictedPoint {
            position,
            fpr: state.rate,
            fnr: 0.0,
            load: state.set_cells / cells,
        }
    };
    let points = positions(workload).map(point).collect();
    Prediction::averaged(workload, PARTS, points)
}
