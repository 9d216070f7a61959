//! Tables that keep a fingerprint of every key: quotient.
//!
//! With F possible fingerprints, n keys have F·(1 − (1 − 1/F)^n) different ones, and a new key is a
//! false positive if it has one of them. A table that grows may have more fingerprints at each size;
//! then the share of keys that are false positives continues from that of the size before. From the
//! moment when the table holds as many as it can, the false positive rate stays, and keys that come
//! later are not recorded. A repeat is then missed if its key is one of those; a repeat is taken to be
//! of any key with the same probability.

use super::prediction::{Formula, PredictedPoint, Prediction, Trust, positions};
use super::workload::Workload;

/// What a table holds after a number of keys.
struct State {
    fpr: f64,
    /// The number of fingerprints.
    held: f64,
    /// The number of keys that came before the table was full.
    recorded: f64,
}

/// Predicts a table with `cells` slots. It grows in steps, each with the number of fingerprints that
/// it holds up to and the number of possible ones.
pub(super) fn quotient(
    workload: &Workload,
    steps: impl Iterator<Item = (f64, f64)> + Clone,
    cells: f64,
) -> Prediction {
    let formula = Formula {
        by: "one fingerprint per key: 1 − (1 − 1/F)^d(t) until the table is full",
        trust: Trust::Exact,
        loose: "FNR once the table is full: repeats of recent keys are missed more often",
    };
    let points = positions(workload).map(|position| {
        let keys = workload.distinct_within(position);
        let state = after(keys, steps.clone());
        PredictedPoint {
            position,
            fpr: state.fpr,
            fnr: (1.0 - state.fpr) * (1.0 - state.recorded / keys.max(1.0)).max(0.0),
            load: state.held / cells,
        }
    });
    Prediction::averaged(workload, formula, points.collect())
}

fn after(keys: f64, steps: impl Iterator<Item = (f64, f64)>) -> State {
    let (mut fpr, mut held, mut recorded) = (0.0, 0.0, 0.0);
    for (capacity, fingerprints) in steps {
        let other_fingerprint = libm::log1p(-1.0 / fingerprints.max(2.0));
        // The number of keys after which this table is full.
        let room = f64::max(capacity - held, 0.0) / fingerprints / (1.0 - fpr);
        let until_full = match room < 1.0 {
            true => libm::log1p(-room) / other_fingerprint,
            false => f64::INFINITY,
        };
        let here = until_full.min(keys - recorded);
        let added = -libm::expm1(other_fingerprint * here) * (1.0 - fpr);
        held += added * fingerprints;
        fpr += added;
        recorded += here;
        if recorded >= keys {
            break;
        }
    }
    State {
        fpr,
        held,
        recorded,
    }
}
