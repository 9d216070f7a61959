//! What the adviser is told.

use super::sample::Sample;

/// Which error is worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    /// Neither, but for what the costs say.
    #[default]
    Balanced,
    /// A new key must never be taken for a repeat.
    NoDrops,
    /// A repeat must never be taken for new.
    NoRepeats,
}

impl Preference {
    /// All of them, with their names.
    pub const NAMES: [(&'static str, Preference); 3] = [
        ("balanced", Preference::Balanced),
        ("no-drops", Preference::NoDrops),
        ("no-repeats", Preference::NoRepeats),
    ];
}

/// A memory, and what is known and wanted. All but the memory may be left open.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The filter's memory.
    pub memory_bits: u64,
    /// How many distinct keys will come.
    pub distinct: Option<u64>,
    /// How many keys will come, repeats included.
    pub count: Option<u64>,
    /// The most of the new keys that may be dropped.
    pub max_fpr: Option<f64>,
    /// The most of the repeats that may be missed.
    pub max_fnr: Option<f64>,
    /// What a dropped new key costs.
    pub cost_fp: f64,
    /// What a missed repeat costs.
    pub cost_fn: f64,
    /// Which error is worse.
    pub preference: Preference,
    /// Keys of such a stream.
    pub sample: Option<&'a Sample>,
}

impl Question<'_> {
    /// A memory, and nothing known.
    pub fn of_memory(memory_bits: u64) -> Self {
        Question {
            memory_bits,
            distinct: None,
            count: None,
            max_fpr: None,
            max_fnr: None,
            cost_fp: 1.0,
            cost_fn: 1.0,
            preference: Preference::Balanced,
            sample: None,
        }
    }

    /// The distinct keys that are to be expected: as told, else as many as the sample's
    /// stream has.
    pub fn expected_distinct(&self) -> Option<u64> {
        self.distinct.or(self.sample.map(Sample::stream_distinct))
    }

    /// Bits of memory for each of them.
    pub fn bits_a_key(&self) -> Option<f64> {
        let distinct = self.expected_distinct()?.max(1);
        Some(self.memory_bits as f64 / distinct as f64)
    }

    /// What errors cost an observation, of which `first` is the share of first occurrences.
    pub(super) fn cost(&self, fpr: f64, fnr: f64, first: f64) -> f64 {
        self.cost_fp * fpr * first + self.cost_fn * fnr * (1.0 - first)
    }

    /// How many times the bounds are exceeded; 1 if they are kept.
    pub(super) fn excess(&self, fpr: f64, fnr: f64) -> f64 {
        let over = |rate: f64, bound: Option<f64>| match bound {
            Some(bound) => (rate / bound.max(f64::MIN_POSITIVE)).max(1.0),
            None => 1.0,
        };
        over(fpr, self.max_fpr) * over(fnr, self.max_fnr)
    }
}
