//! A stream held in memory, and the errors of filters that run over it.

use std::collections::HashSet;
use std::ops::Add;

use dedupstore::lab::StreamSpec;
use dedupstore::{FilterSpec, KeyHasher, Observation, SeenSetBuilder, Verdict};

/// Observations per batch.
const BATCH: usize = 4096;

/// The hashed keys of a stream, and which of them are first occurrences.
pub(super) struct RecordedStream {
    observations: Vec<Observation>,
    is_first: Vec<bool>,
    pub distinct: u64,
    seed: u64,
}

/// Numbers of wrong verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// False positives: new keys that the filter dropped.
    pub dropped: u64,
    /// False negatives: repeats that the filter missed.
    pub missed: u64,
}

impl Errors {
    /// Errors of both kinds.
    pub fn total(self) -> u64 {
        self.dropped + self.missed
    }

    /// Returns whether there are no more errors of either kind, and fewer of at least one.
    pub fn dominates(self, other: Errors) -> bool {
        self.dropped <= other.dropped && self.missed <= other.missed && self != other
    }

    /// Like [`dominates`](Self::dominates), and by more than two standard errors for at least
    /// one kind. Otherwise, two filters that differ only in their hashes would often dominate
    /// each other.
    pub fn significantly_dominates(self, other: Errors) -> bool {
        let significantly_fewer = |mine: u64, others: u64| {
            others as f64 - mine as f64 > 2.0 * ((mine + others) as f64).sqrt()
        };
        let on_one = significantly_fewer(self.dropped, other.dropped)
            || significantly_fewer(self.missed, other.missed);
        on_one && self.dominates(other)
    }
}

impl Add for Errors {
    type Output = Errors;

    fn add(self, more: Errors) -> Errors {
        Errors {
            dropped: self.dropped + more.dropped,
            missed: self.missed + more.missed,
        }
    }
}

impl RecordedStream {
    /// Records `count` keys of a stream. The seed is used for the stream and for all hashing.
    pub fn new(stream: &StreamSpec, count: u64, seed: u64) -> Self {
        let hasher = KeyHasher::new(seed);
        let mut keys = stream.open(count, seed);
        let (mut observations, mut is_first) = (Vec::new(), Vec::new());
        let mut met = HashSet::new();
        while let Some((key, number)) = keys.next_key() {
            observations.push(hasher.fingerprint(key).into());
            is_first.push(met.insert(number));
        }
        RecordedStream {
            observations,
            is_first,
            distinct: met.len() as u64,
            seed,
        }
    }

    /// Returns the same stream with other fingerprints.
    pub fn rehashed(&self, seed: u64) -> Self {
        let hasher = KeyHasher::new(seed);
        let rehash = |it: &Observation| {
            let bytes = it.fingerprint.0.to_le_bytes();
            Observation::from(hasher.fingerprint(&bytes))
        };
        RecordedStream {
            observations: self.observations.iter().map(rehash).collect(),
            is_first: self.is_first.clone(),
            distinct: self.distinct,
            seed,
        }
    }

    pub fn repeats(&self) -> u64 {
        self.observations.len() as u64 - self.distinct
    }

    /// Runs a filter over the stream. Returns None if it cannot be built in this memory.
    pub fn run(&self, filter: &FilterSpec, memory_bits: u64) -> Option<Errors> {
        let mut set = SeenSetBuilder::new(filter)
            .memory_bits(memory_bits)
            .seed(self.seed)
            .build()
            .ok()?;
        let mut verdicts = [Verdict::New; BATCH];
        let mut errors = Errors::default();
        for (batch, is_first) in self
            .observations
            .chunks(BATCH)
            .zip(self.is_first.chunks(BATCH))
        {
            let verdicts = &mut verdicts[..batch.len()];
            set.observe_batch(batch, verdicts);
            for (&mut verdict, &first) in verdicts.iter_mut().zip(is_first) {
                let seen = verdict == Verdict::Seen;
                errors.dropped += u64::from(first & seen);
                errors.missed += u64::from(!first & !seen);
            }
        }
        Some(errors)
    }
}
