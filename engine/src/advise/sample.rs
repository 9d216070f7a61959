//! A sample of a stream: all occurrences of some of its keys.
//!
//! Keys are chosen by their fingerprints; observations are not chosen at random. If one key in c
//! is kept, all of its repeats are kept, at 1/c of their distance. So a filter with 1/c of the
//! memory sees the same stream on a smaller scale and has the same error rates.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use crate::filter::Observation;
use crate::fingerprint::{Fingerprint, IdentityHasher};
use crate::rng::Generator;

/// The observations of some keys of a stream, in order.
#[derive(Clone, Debug)]
pub struct Sample {
    kept: Vec<Observation>,
    max: usize,
    sample_bits: u32,
    stream_count: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Sample::bounded(1 << 20)
    }
}

impl Sample {
    /// Creates a sample of at most `max` observations.
    pub fn bounded(max: usize) -> Self {
        Sample {
            kept: Vec::new(),
            max: max.max(1),
            sample_bits: 0,
            stream_count: 0,
        }
    }

    /// Records the next key of the stream. Its time is its position in the stream, from 0: one
    /// second per key.
    pub fn record(&mut self, fingerprint: Fingerprint) {
        self.record_next(fingerprint.into());
    }

    /// Records the next key of the stream, with its time.
    pub fn record_at(&mut self, fingerprint: Fingerprint, tick: u32) {
        self.record_observation(Observation {
            tick,
            ..fingerprint.into()
        });
    }

    /// Records the next observation of the stream. Its time is its position in the stream, as for
    /// [`record`](Sample::record).
    pub fn record_next(&mut self, observation: Observation) {
        let tick = u32::try_from(self.stream_count).unwrap_or(u32::MAX);
        self.record_observation(Observation {
            tick,
            ..observation
        });
    }

    /// Records the next observation of the stream, with its time and importance.
    pub fn record_observation(&mut self, observation: Observation) {
        self.stream_count += 1;
        if !is_sampled(observation.fingerprint, self.sample_bits) {
            return;
        }
        self.kept.push(observation);
        while self.kept.len() > self.max && self.sample_bits < 63 {
            self.sample_bits += 1;
            let bits = self.sample_bits;
            self.kept.retain(|it| is_sampled(it.fingerprint, bits));
        }
    }

    /// The observations in the sample.
    pub fn observations(&self) -> &[Observation] {
        &self.kept
    }

    /// Returns c if one key in c is in the sample.
    pub fn one_in(&self) -> u64 {
        1 << self.sample_bits
    }

    /// The number of observations in the stream.
    pub fn stream_count(&self) -> u64 {
        self.stream_count
    }

    /// Returns, for each observation, whether it is the first occurrence of its key.
    pub fn first_occurrences(&self) -> Vec<bool> {
        let mut met: HashSet<u64, BuildHasherDefault<IdentityHasher>> = HashSet::default();
        let kept = self.kept.iter();
        kept.map(|it| met.insert(it.fingerprint.0)).collect()
    }

    /// The number of distinct keys in the sample.
    pub fn distinct(&self) -> u64 {
        let first = self.first_occurrences();
        first.iter().filter(|first| **first).count() as u64
    }

    /// Returns the time from the earliest to the latest observation, in seconds.
    pub fn seconds(&self) -> u64 {
        let ticks = || self.kept.iter().map(|it| u64::from(it.tick));
        let (first, last) = (ticks().min().unwrap_or(0), ticks().max().unwrap_or(0));
        last - first + 1
    }

    /// Estimates how many keys of the stream are in a window of so many seconds: keys that were
    /// delivered and not yet forgotten.
    pub fn stream_keys_within(&self, seconds: u64) -> u64 {
        let mut last: HashMap<u64, u64, BuildHasherDefault<IdentityHasher>> = HashMap::default();
        let (mut newest, mut deliveries) = (0, 0u64);
        for it in &self.kept {
            newest = u64::from(it.tick).max(newest);
            let delivered = last.get(&it.fingerprint.0);
            if delivered.is_none_or(|delivered| newest - delivered >= seconds) {
                last.insert(it.fingerprint.0, newest);
                deliveries += 1;
            }
        }
        let share = (seconds as f64 / self.seconds() as f64).min(1.0);
        ((deliveries << self.sample_bits) as f64 * share) as u64
    }

    /// Estimates the number of distinct keys in the stream.
    pub fn stream_distinct(&self) -> u64 {
        self.distinct() << self.sample_bits
    }
}

/// Returns whether a key is in a sample. Uses bits that are independent of those that filters
/// use for their positions.
pub(super) fn is_sampled(fingerprint: Fingerprint, sample_bits: u32) -> bool {
    Generator::from_state(fingerprint.0)
        .draw(0)
        .trailing_zeros()
        >= sample_bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::KeyHasher;
    use crate::lab::StreamSpec;

    /// The sample has about 600 of 60,000 keys; the standard error is 4 %.
    #[test]
    fn a_sample_estimates_the_distinct_keys_of_the_stream() {
        let spec: StreamSpec = "shuffle:60".parse().expect("a stream");
        let mut stream = spec.open(100_000, 1);
        let hasher = KeyHasher::new(1);
        let mut sample = Sample::bounded(1000);
        while let Some((key, _)) = stream.next_key() {
            sample.record(hasher.fingerprint(key));
        }
        assert!(sample.observations().len() <= 1000);
        assert!(sample.one_in() >= 64);
        assert_eq!(sample.stream_count(), 100_000);
        let distinct = sample.stream_distinct() as f64;
        assert!((distinct / 60_000.0 - 1.0).abs() < 0.12, "{distinct}");
    }
}
