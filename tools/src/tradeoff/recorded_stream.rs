//! A stream in memory, and filters run over it.

use std::collections::HashSet;

use dedupstore::lab::StreamSpec;
use dedupstore::{FilterSpec, KeyHasher, Observation, SeenSet, Verdict};

/// Observations handed over at a time.
const BATCH: usize = 4096;

/// The keys of a stream under one seed, and which of them are first occurrences.
pub(super) struct Track {
    observations: Vec<Observation>,
    first: Vec<bool>,
    pub distinct: u64,
    seed: u64,
}

/// Wrong verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// New keys dropped.
    pub dropped: u64,
    /// Repeats missed.
    pub missed: u64,
}

impl Errors {
    /// Both.
    pub fn total(self) -> u64 {
        self.dropped + self.missed
    }

    /// No more of either, and fewer of one.
    pub fn better_on_both_than(self, other: Errors) -> bool {
        self.dropped <= other.dropped && self.missed <= other.missed && self != other
    }

    /// The same, and fewer by more than chance explains: two filters that differ in nothing
    /// but their hashes would else be better than one another half of the time.
    pub fn surely_better_on_both_than(self, other: Errors) -> bool {
        let surely = |mine: u64, others: u64| {
            others as f64 - mine as f64 > 2.0 * ((mine + others) as f64).sqrt()
        };
        let on_one = surely(self.dropped, other.dropped) || surely(self.missed, other.missed);
        on_one && self.better_on_both_than(other)
    }

    pub(super) fn and(self, more: Errors) -> Errors {
        Errors {
            dropped: self.dropped + more.dropped,
            missed: self.missed + more.missed,
        }
    }
}

impl Track {
    /// The seed is that of the stream and of all hashing.
    pub fn new(stream: &StreamSpec, count: u64, seed: u64) -> Self {
        let hasher = KeyHasher::new(seed);
        let mut keys = stream.open(count, seed);
        let (mut observations, mut first) = (Vec::new(), Vec::new());
        let mut met = HashSet::new();
        while let Some((key, number)) = keys.next_key() {
            observations.push(hasher.fingerprint(key).into());
            first.push(met.insert(number));
        }
        Track {
            observations,
            first,
            distinct: met.len() as u64,
            seed,
        }
    }

    /// The same stream under another hash.
    pub fn hashed_anew(&self, seed: u64) -> Self {
        let hasher = KeyHasher::new(seed);
        let anew = |it: &Observation| {
            let bytes = it.fingerprint.0.to_le_bytes();
            Observation::from(hasher.fingerprint(&bytes))
        };
        Track {
            observations: self.observations.iter().map(anew).collect(),
            first: self.first.clone(),
            distinct: self.distinct,
            seed,
        }
    }

    pub fn repeats(&self) -> u64 {
        self.observations.len() as u64 - self.distinct
    }

    /// Nothing, if there is no such filter in this memory.
    pub fn run(&self, filter: &FilterSpec, memory_bits: u64) -> Option<Errors> {
        let mut set = SeenSet::in_memory(filter, memory_bits, self.seed).ok()?;
        let mut verdicts = [Verdict::New; BATCH];
        let mut errors = Errors::default();
        for (batch, first) in self
            .observations
            .chunks(BATCH)
            .zip(self.first.chunks(BATCH))
        {
            let verdicts = &mut verdicts[..batch.len()];
            set.observe_batch(batch, verdicts);
            for (&mut verdict, &first) in verdicts.iter_mut().zip(first) {
                let seen = verdict == Verdict::Seen;
                errors.dropped += u64::from(first & seen);
                errors.missed += u64::from(!first & !seen);
            }
        }
        Some(errors)
    }
}
