//! Bloom filters that grow by parts.
//!
//! A key is reported as Seen if one of the parts has all its bits: 1 − Π(1 − P_i). Full parts have
//! the rate at which they were closed, and the newest that of its keys. A key that is dropped is
//! not inserted into the newest part, in which it would have set bits. So the number of inserted
//! keys grows by 1 − FPR per distinct key.

use super::prediction::{Formula, PredictedPoint, Prediction, Trust, positions};
use super::workload::Workload;
use crate::filter::Growing;

const PARTS: Formula = Formula {
    by: "Koloniari et al. 2011: 1 − Π(1 − P_i) over the parts, along the stream",
    trust: Trust::Approximation,
    loose: "parts of few cells",
};

/// Predicts a growing filter without a window.
pub(super) fn predict(workload: &Workload, filter: &Growing) -> Prediction {
    let state = |keys: f64| filter.state_of(keys).unwrap_or_default();
    let (mut inserted, mut before, mut rate_before) = (0.0, 0.0, 0.0);
    let point = |position: f64| {
        let met = workload.distinct_within(position);
        // The rate at the end of the step is not known yet; one correction is enough.
        let (guess, _) = state(inserted + (met - before) * (1.0 - rate_before));
        inserted += (met - before) * (1.0 - (rate_before + guess) / 2.0);
        let (fpr, load) = state(inserted);
        (before, rate_before) = (met, fpr);
        PredictedPoint {
            position,
            fpr,
            fnr: 0.0,
            load,
        }
    };
    let points = positions(workload).map(point).collect();
    Prediction::averaged(workload, PARTS, points)
}
