//! Properties of a log that do not depend on a filter.

use serde::Serialize;
use tsify::Tsify;

/// Properties that follow from the sequence of keys.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct StreamProfile {
    /// Lines with a key.
    pub count: u64,
    /// Distinct keys.
    pub distinct: u64,
    /// How soon keys come back.
    pub gaps: Vec<GapCount>,
    /// The gaps were measured on one key in this many.
    pub gaps_sampled_one_in: u64,
}

/// The number of repeats whose key came last between `from` and 2 × `from` − 1 lines before.
#[derive(Serialize, Tsify)]
pub struct GapCount {
    /// A power of two.
    pub from: u64,
    /// The number of repeats.
    pub count: u64,
}

/// Properties that follow from the text of the lines.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct LineProfile {
    /// Lines read, including lines without a key and lines outside the sample.
    pub lines_read: u64,
    /// Lines without a key. They are skipped.
    pub lines_without_key: u64,
    /// Lines without a readable importance, if lines have one. They count with the least.
    pub lines_without_importance: u64,
    /// The most frequent keys.
    pub top_keys: Vec<KeyCount>,
    /// The counts of `topKeys` may be too low by up to this number.
    pub top_keys_error: u64,
    /// Null if the lines carry no time.
    pub lines_over_time: Option<LinesOverTime>,
}

/// A key and the number of its lines.
#[derive(Serialize, Tsify)]
pub struct KeyCount {
    /// The key, cut if it is long.
    pub key: String,
    /// The number of lines.
    pub count: u64,
}

/// The number of lines in consecutive intervals of equal length.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct LinesOverTime {
    /// The start of the first interval, in seconds since 1970.
    pub start_seconds: i64,
    /// The length of an interval.
    pub interval_seconds: i64,
    /// The number of lines in each interval.
    pub counts: Vec<u64>,
}
