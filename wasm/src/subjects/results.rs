//! The results of the subjects.

use serde::Serialize;
use tsify::Tsify;

/// The results of a subject.
#[derive(Serialize, Tsify)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum SubjectResult {
    /// Of windows.
    Windows(WindowsResult),
    /// Of a divided filter.
    Slices(SlicesResult),
    /// Of trees.
    Trees(TreesResult),
    /// Of a filter that grows.
    Growth(GrowthResult),
}

/// What windows forget, and the errors of filters with one.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct WindowsResult {
    /// The span, as in `7 d`.
    pub span: String,
    /// The time from the first line to the last, as in `3 d 4 h`.
    pub duration: String,
    /// Lines without a readable time.
    pub without_time: u64,
    /// Repeats in the whole log.
    pub repeats: u64,
    /// What windows forget, the shortest first.
    pub spans: Vec<WindowSpan>,
    /// The index of the chosen span in `spans`.
    pub chosen: usize,
    /// One per filter, the fewest errors first.
    pub outcomes: Vec<WindowOutcome>,
}

/// What a window forgets.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct WindowSpan {
    /// The span, as in `7 d`.
    pub span: String,
    /// The same as a number.
    pub seconds: u64,
    /// The repeats that come after the window: they are delivered again.
    pub again: u64,
    /// The same as a share of repeats; null if there are none.
    pub share: Option<f64>,
}

/// The errors of a filter with a window.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct WindowOutcome {
    /// The filter in its text form.
    pub filter: String,
    /// The filter's name for people.
    pub name: String,
    /// Keys that the filter had not delivered within the window.
    pub distinct: u64,
    /// Keys that it had.
    pub repeats: u64,
    /// New keys reported Seen.
    pub false_positives: u64,
    /// Repeats reported New.
    pub false_negatives: u64,
    /// False positives as a share of new keys.
    pub fpr: Option<f64>,
    /// False negatives as a share of repeats.
    pub fnr: Option<f64>,
    /// Wrong verdicts as a share of lines.
    pub error: Option<f64>,
}

/// A Bloom filter that is divided in several ways.
#[derive(Serialize, Tsify)]
pub struct SlicesResult {
    /// One per way.
    pub outcomes: Vec<SliceOutcome>,
}

/// A Bloom filter that is divided among machines.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct SliceOutcome {
    /// How it is divided, in the text form.
    pub slices: String,
    /// The number of machines.
    pub sites: usize,
    /// How many of them have failed.
    pub failed: u64,
    /// Lines.
    pub count: u64,
    /// First occurrences.
    pub distinct: u64,
    /// Repeats.
    pub repeats: u64,
    /// First occurrences reported Seen.
    pub false_positives: u64,
    /// Repeats reported New.
    pub false_negatives: u64,
    /// Verdicts that are neither.
    pub unknown: u64,
    /// False positives as a share of first occurrences.
    pub fpr: Option<f64>,
    /// False negatives as a share of repeats.
    pub fnr: Option<f64>,
    /// The FPR of the formula; null if there is none.
    pub predicted_fpr: Option<f64>,
    /// The FNR of the formula.
    pub predicted_fnr: Option<f64>,
    /// Messages per line that test a key.
    pub messages_test: Option<f64>,
    /// Messages per line that set bits.
    pub messages_set: Option<f64>,
    /// The share of all tests that the busiest machine receives.
    pub hottest: Option<f64>,
}

/// Several trees.
#[derive(Serialize, Tsify)]
pub struct TreesResult {
    /// One per tree.
    pub outcomes: Vec<TreeOutcome>,
    /// Lines that do not name their producer.
    #[serde(rename = "withoutProducer")]
    pub without_producer: u64,
}

/// A tree of Bloom filters.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct TreeOutcome {
    /// The tree in its text form.
    pub tree: String,
    /// The number of nodes.
    pub nodes: u64,
    /// Lines.
    pub count: u64,
    /// First occurrences.
    pub distinct: u64,
    /// Repeats.
    pub repeats: u64,
    /// First occurrences reported Seen.
    pub false_positives: u64,
    /// Repeats reported New.
    pub false_negatives: u64,
    /// False positives as a share of first occurrences.
    pub fpr: Option<f64>,
    /// False negatives as a share of repeats.
    pub fnr: Option<f64>,
    /// Lines to which a single filter gives the other verdict.
    pub differs_from_single: u64,
    /// Messages per line beyond the producer's own leaf.
    pub messages_remote: Option<f64>,
    /// What happened at each level, from the root.
    pub levels: Vec<TreeLevel>,
}

/// A level of a tree.
#[derive(Serialize, Tsify)]
pub struct TreeLevel {
    /// 0 is the root.
    pub level: u32,
    /// The number of nodes.
    pub nodes: u64,
    /// How often a node was asked or told something.
    pub accesses: u64,
    /// Lines that were reported Seen because of this level.
    pub hits: u64,
}

/// A filter that grows, beside Bloom filters that do not.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct GrowthResult {
    /// The filter that grows, in its text form.
    pub filter: String,
    /// The memory that is reserved.
    pub reserve_bits: u64,
    /// The memory of the small Bloom filter.
    pub small_bits: u64,
    /// How the filters filled, from the first lines to all.
    pub points: Vec<GrowthPoint>,
    /// The keys that still fit into the reserve, about; 0 if it is full.
    pub keys_left: f64,
}

/// The filters after some lines.
#[derive(Clone, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct GrowthPoint {
    /// Lines.
    pub lines: u64,
    /// Distinct keys.
    pub distinct: u64,
    /// The bytes that the growing filter has used.
    pub used_bytes: u64,
    /// The number of parts that it tests for a key.
    pub parts: u64,
    /// First occurrences that it reported Seen.
    pub growing_false_positives: u64,
    /// The same as a share.
    pub growing_fpr: Option<f64>,
    /// The FPR of the small Bloom filter.
    pub small_fpr: Option<f64>,
    /// The FPR of the Bloom filter in the whole reserve.
    pub large_fpr: Option<f64>,
}
