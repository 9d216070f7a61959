//! The result of a run, as data.

use serde::Serialize;

use super::gap_meter::GapMeter;
use super::scoreboard::share;
use super::simulation::Contestant;
use crate::theory::{Prediction, Trust};

/// How many stretches the curve of the load has at the most.
const LOAD_POINTS: usize = 32;

/// The result of one filter on one stream. These names are the keys of the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// The version of this list of keys.
    pub schema: u32,
    /// The filter, in its text form.
    pub filter: String,
    /// The memory it was given.
    pub memory_bits: u64,
    /// The stream's text form, or the name of a log.
    pub stream: String,
    /// Observations.
    pub count: u64,
    /// First occurrences.
    pub distinct: u64,
    /// The others.
    pub repeats: u64,
    /// First occurrences reported Seen.
    pub fp: u64,
    /// Repeats reported New.
    #[serde(rename = "fn")]
    pub false_negatives: u64,
    /// `fp` ÷ `distinct`.
    pub fpr: Option<f64>,
    /// `fn` ÷ `repeats`.
    pub fnr: Option<f64>,
    /// `fp` ÷ `count`.
    pub fpr_n: Option<f64>,
    /// `fn` ÷ `count`.
    pub fnr_n: Option<f64>,
    /// The share of cells in use at the end.
    pub load: f64,
    /// What theory says of `fpr`, where it says anything.
    pub predicted_fpr: Option<f64>,
    /// What theory says of `fnr`, where it says anything.
    pub predicted_fnr: Option<f64>,
    /// The formula that says so.
    pub predicted_by: Option<&'static str>,
    /// Whether it is exact, an approximation or a bound.
    pub predicted_trust: Option<Trust>,
    /// The importance of the first occurrences reported Seen ÷ that of everything, where
    /// the stream has any.
    pub wfp: Option<f64>,
    /// The importance of the repeats reported New ÷ that of everything, where the stream
    /// has any.
    pub wfn: Option<f64>,
    /// Time in the filter alone, if the run was timed.
    pub ns_per_observation: Option<f64>,
    /// Positions with the share of cells in use there, evenly spaced from 0, and the end.
    pub load_curve: Vec<(u64, f64)>,
    /// The position from which on the load stays within one hundredth of its end, to the
    /// resolution of the curve.
    pub stable_from: Option<u64>,
    /// How far back repeats lie: powers of two, with how many repeats lie at least so far
    /// and less than twice as far from the last occurrence of their key.
    pub gaps: Vec<(u64, u64)>,
    /// One key in how many the gaps were taken from; 1 if from all.
    pub gaps_sampled_one_in: u64,
}

impl RunSummary {
    pub(super) fn of(
        contestant: &Contestant,
        stream: &str,
        gaps: &GapMeter,
        prediction: Option<&Prediction>,
    ) -> Self {
        let (board, set) = (contestant.board(), contestant.set());
        let end = board.now();
        let cells = set.filter().cells() as f64;
        let octaves = gaps.histogram().octaves();
        let points = board.curve_of(LOAD_POINTS);
        RunSummary {
            schema: 1,
            filter: set.spec().to_string(),
            memory_bits: contestant.memory_bits(),
            stream: stream.to_owned(),
            count: end.position,
            distinct: end.distinct,
            repeats: end.repeats(),
            fp: end.false_positives,
            false_negatives: end.false_negatives,
            fpr: board.fpr(),
            fnr: board.fnr(),
            fpr_n: share(end.false_positives, end.position),
            fnr_n: share(end.false_negatives, end.position),
            load: set.load(),
            predicted_fpr: prediction.map(|it| it.fpr),
            predicted_fnr: prediction.map(|it| it.fnr),
            predicted_by: prediction.map(|it| it.by),
            predicted_trust: prediction.map(|it| it.trust),
            wfp: contestant.weights().wfp(),
            wfn: contestant.weights().wfn(),
            ns_per_observation: share(contestant.nanoseconds(), end.position)
                .filter(|_| contestant.nanoseconds() > 0),
            load_curve: points
                .iter()
                .map(|point| (point.position, point.occupied as f64 / cells))
                .collect(),
            stable_from: board.stable_from(),
            gaps: octaves.iter().map(|it| (it.from, it.count)).collect(),
            gaps_sampled_one_in: gaps.sampled_one_in(),
        }
    }
}
