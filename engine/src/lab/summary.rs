//! The result of a run.

use serde::Serialize;

use super::filter_run::FilterRun;
use super::gap_meter::GapMeter;
use super::scoreboard::share;
use super::weights::ImportanceRates;
use crate::theory::{Prediction, Trust};

/// The greatest number of intervals of the load curve.
const LOAD_INTERVALS: usize = 32;

/// The result of one filter on one stream. The field names are the keys of the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// The version of the JSON form.
    pub schema: u32,
    /// The filter, in its text form.
    pub filter: String,
    /// The memory of the filter.
    pub memory_bits: u64,
    /// The text form of the stream, or the name of a log.
    pub stream: String,
    /// The number of observations.
    pub count: u64,
    /// The number of first occurrences. For a filter with a window: of occurrences of keys that it
    /// had not delivered within its span.
    pub distinct: u64,
    /// The number of repeats.
    pub repeats: u64,
    /// First occurrences reported Seen.
    pub fp: u64,
    /// Repeats reported New.
    #[serde(rename = "fn")]
    pub false_negatives: u64,
    /// `fp` ÷ `distinct`.
    pub fpr: Option<f64>,
    /// The same among the first occurrences in the stream only. It differs from `fpr` only for a
    /// filter with a window, where a key that was wrongly reported Seen stays new.
    pub fpr_fresh: Option<f64>,
    /// `fn` ÷ `repeats`.
    pub fnr: Option<f64>,
    /// `fp` ÷ `count`.
    pub fpr_n: Option<f64>,
    /// `fn` ÷ `count`.
    pub fnr_n: Option<f64>,
    /// The share of used cells at the end.
    pub load: f64,
    /// The predicted `fpr`, if there is a formula; for a filter with a window, the predicted
    /// `fpr_fresh`.
    pub predicted_fpr: Option<f64>,
    /// The predicted `fnr`, if there is a formula.
    pub predicted_fnr: Option<f64>,
    /// The name of the formula.
    pub predicted_by: Option<&'static str>,
    /// Whether the formula is exact, an approximation or a bound.
    pub predicted_trust: Option<Trust>,
    /// The importance of first occurrences reported Seen ÷ the importance of all observations, if
    /// the stream has importance.
    pub wfp: Option<f64>,
    /// The importance of repeats reported New ÷ the importance of all observations, if the stream
    /// has importance.
    pub wfn: Option<f64>,
    /// The importance of repeats reported Seen ÷ that of all observations reported Seen, if the
    /// stream has importance.
    pub precision_w: Option<f64>,
    /// The importance of repeats reported Seen ÷ that of all repeats, if the stream has importance.
    pub recall_w: Option<f64>,
    /// The importance from which on the filter has fewer false negatives than a stable Bloom filter
    /// in the same memory. None if there is no such importance, or no importance at all.
    pub crossover: Option<u16>,
    /// The time in the filter per observation, if the run was timed.
    pub ns_per_observation: Option<f64>,
    /// Positions, evenly spaced from 0, and the end, each with the share of used cells.
    pub load_curve: Vec<(u64, f64)>,
    /// The position from which on the load stays within 1 % of its final value, to the resolution
    /// of the curve.
    pub stable_from: Option<u64>,
    /// Errors by importance, the least first. Empty if the stream has no importance.
    pub importance: Vec<ImportanceRates>,
    /// The gaps between repeats: powers of two, each with the number of repeats whose distance
    /// from the previous occurrence of their key is at least that and less than twice that.
    pub gaps: Vec<(u64, u64)>,
    /// c if the gaps were measured on one key in c; 1 if on all keys.
    pub gaps_sampled_one_in: u64,
}

impl RunSummary {
    pub(super) fn of(
        run: &FilterRun,
        stream: &str,
        gaps: &GapMeter,
        prediction: Option<&Prediction>,
    ) -> Self {
        let (scoreboard, set) = (run.scoreboard(), run.set());
        let end = scoreboard.now();
        let cells = set.filter().cells() as f64;
        let octaves = gaps.histogram().octaves();
        let points = scoreboard.coarse_curve(LOAD_INTERVALS);
        RunSummary {
            schema: 1,
            filter: set.spec().to_string(),
            memory_bits: run.memory_bits(),
            stream: stream.to_owned(),
            count: end.position,
            distinct: end.distinct,
            repeats: end.repeats(),
            fp: end.false_positives,
            false_negatives: end.false_negatives,
            fpr: scoreboard.fpr(),
            fpr_fresh: run.fpr_of_first_occurrences(),
            fnr: scoreboard.fnr(),
            fpr_n: share(end.false_positives, end.position),
            fnr_n: share(end.false_negatives, end.position),
            load: set.load(),
            predicted_fpr: prediction.map(|it| it.fpr),
            predicted_fnr: prediction.map(|it| it.fnr),
            predicted_by: prediction.map(|it| it.by),
            predicted_trust: prediction.map(|it| it.trust),
            wfp: run.weights().wfp(),
            wfn: run.weights().wfn(),
            precision_w: run.weights().precision(),
            recall_w: run.weights().recall(),
            crossover: None,
            ns_per_observation: share(run.nanoseconds(), end.position)
                .filter(|_| run.nanoseconds() > 0),
            load_curve: points
                .iter()
                .map(|point| (point.position, point.occupied as f64 / cells))
                .collect(),
            stable_from: scoreboard.stable_from(),
            importance: run.weights().rates(),
            gaps: octaves.iter().map(|it| (it.from, it.count)).collect(),
            gaps_sampled_one_in: gaps.sampled_one_in(),
        }
    }
}
