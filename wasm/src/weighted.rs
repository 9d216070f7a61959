//! The errors of one filter weighted by importance, and its errors by importance.

use dedupstore::lab::{ImportanceRates, RunSummary};
use serde::Serialize;
use tsify::Tsify;

/// The weighted errors of one filter. The numbers equal those of `dedupstore simulate --json`.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct WeightedOutcome {
    /// The filter in its text form.
    pub filter: String,
    /// The importance of new keys reported Seen, as a share of all importance.
    pub wfp: Option<f64>,
    /// The importance of repeats reported New, as a share of all importance.
    pub wfn: Option<f64>,
    /// Both together.
    pub error: Option<f64>,
    /// The importance of repeats reported Seen, as a share of all that was reported Seen.
    pub precision: Option<f64>,
    /// The importance of repeats reported Seen, as a share of all repeats.
    pub recall: Option<f64>,
    /// The importance from which on the filter misses fewer repeats than a stable Bloom filter
    /// in the same memory; null if there is none.
    pub crossover: Option<u16>,
    /// New keys reported Seen as a share of all lines.
    pub fp_share: Option<f64>,
    /// Repeats reported New as a share of all lines.
    pub fn_share: Option<f64>,
    /// The errors by importance, the least first.
    pub rates: Vec<ImportanceRate>,
}

/// The errors among lines of an importance, or of neighbouring ones.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct ImportanceRate {
    /// The least importance.
    pub from: u16,
    /// The greatest importance.
    pub to: u16,
    /// Lines.
    pub count: u64,
    /// New keys reported Seen as a share of these lines.
    pub fp_share: f64,
    /// Repeats reported New as a share of these lines.
    pub fn_share: f64,
}

impl From<RunSummary> for WeightedOutcome {
    fn from(summary: RunSummary) -> Self {
        WeightedOutcome {
            filter: summary.filter,
            wfp: summary.wfp,
            wfn: summary.wfn,
            error: summary.wfp.zip(summary.wfn).map(|(fp, fn_)| fp + fn_),
            precision: summary.precision_w,
            recall: summary.recall_w,
            crossover: summary.crossover,
            fp_share: summary.fpr_n,
            fn_share: summary.fnr_n,
            rates: summary.importance.iter().map(Into::into).collect(),
        }
    }
}

impl From<&ImportanceRates> for ImportanceRate {
    fn from(rates: &ImportanceRates) -> Self {
        ImportanceRate {
            from: rates.from,
            to: rates.to,
            count: rates.count,
            fp_share: rates.i_fp,
            fn_share: rates.i_fn,
        }
    }
}
