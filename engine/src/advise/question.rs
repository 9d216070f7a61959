//! What is known about a stream and what is wanted of a filter.

use super::sample::Sample;

/// Which error is worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    /// Neither; the costs decide.
    #[default]
    Balanced,
    /// No false positives: a new key must never be dropped.
    NoDrops,
    /// No false negatives: a repeat must never be let through.
    NoRepeats,
}

impl Preference {
    /// All preferences with their names.
    pub const NAMES: [(&'static str, Preference); 3] = [
        ("balanced", Preference::Balanced),
        ("no-drops", Preference::NoDrops),
        ("no-repeats", Preference::NoRepeats),
    ];
}

/// Which rates decide.
///
/// A filter that forgets nothing makes few errors while it is nearly empty and most of them at the
/// end. A Bloom filter gains more from that than a table of fingerprints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RatesBy {
    /// The means over the stream, which starts with an empty filter.
    #[default]
    Mean,
    /// The rates at the end of the stream, when the filter has observed all expected keys. They are
    /// predicted; a sample only tells the number of keys.
    End,
}

impl RatesBy {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            RatesBy::Mean => "mean",
            RatesBy::End => "end",
        }
    }
}

/// A memory size, what is known about the stream, and what is wanted. Only the memory is
/// required.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The memory of the filter.
    pub memory_bits: u64,
    /// The time in seconds after which a key must come again; None if it must never come again.
    /// The choice is then among filters with a window, and a key is a repeat if the filter
    /// delivered it within that time.
    pub window: Option<u64>,
    /// The expected number of distinct keys; in one window if there is one.
    pub distinct: Option<u64>,
    /// The expected number of keys, including repeats; in one window if there is one.
    pub count: Option<u64>,
    /// The greatest acceptable false positive rate.
    pub max_fpr: Option<f64>,
    /// The greatest acceptable false negative rate.
    pub max_fnr: Option<f64>,
    /// The cost of a false positive: a new key that is dropped.
    pub cost_fp: f64,
    /// The cost of a false negative: a repeat that is let through.
    pub cost_fn: f64,
    /// Which error is worse.
    pub preference: Preference,
    /// Which rates decide.
    pub rates_by: RatesBy,
    /// A sample of the stream.
    pub sample: Option<&'a Sample>,
}

impl Question<'_> {
    /// Asks for a filter in this memory, with nothing known about the stream.
    pub fn of_memory(memory_bits: u64) -> Self {
        Question {
            memory_bits,
            window: None,
            distinct: None,
            count: None,
            max_fpr: None,
            max_fnr: None,
            cost_fp: 1.0,
            cost_fn: 1.0,
            preference: Preference::Balanced,
            rates_by: RatesBy::Mean,
            sample: None,
        }
    }

    /// Returns the expected number of distinct keys, in one window if there is one: the given
    /// number, or else that of the sampled stream.
    pub fn expected_distinct(&self) -> Option<u64> {
        let sampled = self.sample.map(|sample| match self.window {
            None => sample.stream_distinct(),
            Some(seconds) => sample.stream_keys_within(seconds),
        });
        self.distinct.or(sampled)
    }

    /// Returns the bits of memory per expected distinct key.
    pub fn bits_per_key(&self) -> Option<f64> {
        let distinct = self.expected_distinct()?.max(1);
        Some(self.memory_bits as f64 / distinct as f64)
    }

    /// Returns the mean cost of errors per observation. `first_share` is the share of first
    /// occurrences.
    pub(super) fn cost(&self, fpr: f64, fnr: f64, first_share: f64) -> f64 {
        self.cost_fp * fpr * first_share + self.cost_fn * fnr * (1.0 - first_share)
    }

    /// Returns the factor by which the rates exceed the bounds; 1 if they meet them.
    pub(super) fn excess(&self, fpr: f64, fnr: f64) -> f64 {
        let excess = |rate: f64, bound: Option<f64>| match bound {
            Some(bound) => (rate / bound.max(f64::MIN_POSITIVE)).max(1.0),
            None => 1.0,
        };
        excess(fpr, self.max_fpr) * excess(fnr, self.max_fnr)
    }
}
