//! Tables that keep a fingerprint of every key: quotient.
//!
//! With F possible fingerprints, n keys have F·(1 − (1 − 1/F)^n) different ones, and a new key is a
//! false positive if it has one of them. From the moment when the table holds as many as it can,
//! the false positive rate stays, and keys that come later are not recorded. A repeat is then
//! missed if its key is one of those; a repeat is taken to be of any key with the same probability.

use super::prediction::{Formula, PredictedPoint, Prediction, Trust, positions};
use super::workload::Workload;

/// Predicts a table with so many possible fingerprints, which holds up to `capacity` of them in
/// `cells` slots.
pub(super) fn quotient(
    workload: &Workload,
    fingerprints: f64,
    capacity: f64,
    cells: f64,
) -> Prediction {
    let formula = Formula {
        by: "one fingerprint per key: 1 − (1 − 1/F)^d(t) until the table is full",
        trust: Trust::Exact,
        loose: "FNR once the table is full: repeats of recent keys are missed more often",
    };
    let other_fingerprint = libm::log1p(-1.0 / fingerprints.max(2.0));
    // The number of keys after which the table is full.
    let full_after = match capacity < fingerprints {
        true => libm::log1p(-capacity / fingerprints) / other_fingerprint,
        false => f64::INFINITY,
    };
    let points = positions(workload).map(|position| {
        let keys = workload.distinct_within(position);
        let fpr = -libm::expm1(other_fingerprint * keys.min(full_after));
        PredictedPoint {
            position,
            fpr,
            fnr: (1.0 - fpr) * (1.0 - full_after / keys.max(1.0)).max(0.0),
            load: fpr * fingerprints / cells,
        }
    });
    Prediction::averaged(workload, formula, points.collect())
}
