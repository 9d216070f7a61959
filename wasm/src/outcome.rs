//! The result of one filter over a log, measured and predicted.

use dedupstore::SeenSet;
use dedupstore::lab::RunSummary;
use dedupstore::theory::{Prediction, Trust};
use serde::Serialize;
use tsify::Tsify;

use crate::filter_name::{name_in_sentence, short_name};

/// A shorter time is mostly that of the first use of code and memory, and differs from run to run.
const SHORTEST_MEASURED_NS: f64 = 50e6;

/// The result of one filter. The numbers equal those of `dedupstore simulate --json`.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct Outcome {
    /// The filter in its text form.
    pub filter: String,
    /// The filter's name for people: "RLBSBF (k=2)".
    pub name: String,
    /// The filter's name in a sentence: "a Bloom filter".
    pub name_in_sentence: String,
    /// Whether the filter uses the importance of keys.
    pub uses_importance: bool,
    /// The memory that was asked for. On a sample of keys the filter runs in less.
    pub memory_bits: u64,
    /// Lines.
    pub count: u64,
    /// First occurrences.
    pub distinct: u64,
    /// Lines that are not first occurrences.
    pub repeats: u64,
    /// First occurrences reported Seen.
    pub false_positives: u64,
    /// Repeats reported New.
    pub false_negatives: u64,
    /// False positives as a share of first occurrences; null if there are none.
    pub fpr: Option<f64>,
    /// False negatives as a share of repeats; null if there are none.
    pub fnr: Option<f64>,
    /// Wrong verdicts as a share of all lines.
    pub error: Option<f64>,
    /// The share of cells in use.
    pub load: f64,
    /// Time in the filter alone; null if the log is too short to measure it.
    pub ns_per_observation: Option<f64>,
    /// Null if there is no formula for the filter.
    pub prediction: Option<PredictedRates>,
}

/// The rates that a formula predicts over the whole log.
#[derive(Serialize, Tsify)]
pub struct PredictedRates {
    /// The predicted FPR.
    pub fpr: f64,
    /// The predicted FNR.
    pub fnr: f64,
    /// The formula's name and source.
    pub by: &'static str,
    /// How exact the formula is, after "It is".
    pub trust: &'static str,
    /// Where the formula is loose.
    pub loose: &'static str,
}

impl Outcome {
    pub(crate) fn new(
        summary: RunSummary,
        set: &SeenSet,
        memory_bits: u64,
        prediction: Option<&Prediction>,
    ) -> Self {
        let error = summary.fpr_n.zip(summary.fnr_n).map(|(fp, fn_)| fp + fn_);
        Outcome {
            filter: summary.filter,
            name: short_name(set.spec()),
            name_in_sentence: name_in_sentence(set.spec()),
            uses_importance: set.filter().needs().importance,
            memory_bits,
            count: summary.count,
            distinct: summary.distinct,
            repeats: summary.repeats,
            false_positives: summary.fp,
            false_negatives: summary.false_negatives,
            fpr: summary.fpr,
            fnr: summary.fnr,
            error,
            load: summary.load,
            ns_per_observation: summary
                .ns_per_observation
                .filter(|time| time * summary.count as f64 >= SHORTEST_MEASURED_NS),
            prediction: prediction.map(PredictedRates::new),
        }
    }
}

impl PredictedRates {
    fn new(prediction: &Prediction) -> Self {
        PredictedRates {
            fpr: prediction.fpr,
            fnr: prediction.fnr,
            by: prediction.by,
            trust: match prediction.trust {
                Trust::Exact => "exact for a stream that does not change, in many cells",
                Trust::Approximation => "an approximation",
                Trust::Bound => "an upper bound",
            },
            loose: prediction.loose,
        }
    }
}

/// Returns the indices of outcomes from the fewest errors to the most. With as many errors, the
/// filter with fewer false positives comes first.
pub(crate) fn ranking(outcomes: &[Outcome]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..outcomes.len()).collect();
    order.sort_by_key(|&index| {
        let Outcome {
            false_positives,
            false_negatives,
            ..
        } = outcomes[index];
        (false_positives + false_negatives, false_positives)
    });
    order
}
