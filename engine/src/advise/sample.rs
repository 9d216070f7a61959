//! A sample of a stream: all occurrences of some of its keys.
//!
//! Keys are taken by their fingerprints, not places by chance. Of one key in c, all repeats
//! are there, each at a c-th of its distance; so a filter in a c-th of the memory meets
//! the same stream in small, and errs as often.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use crate::filter::Observation;
use crate::fingerprint::Fingerprint;
use crate::lab::AlreadyHashed;
use crate::rng::Generator;

/// Keys of a stream in their order, those of a part of all distinct keys.
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
    /// One of at most `max` observations.
    pub fn bounded(max: usize) -> Self {
        Sample {
            kept: Vec::new(),
            max: max.max(1),
            sample_bits: 0,
            stream_count: 0,
        }
    }

    /// The next key of the stream.
    pub fn record(&mut self, fingerprint: Fingerprint) {
        self.stream_count += 1;
        if !is_in(fingerprint, self.sample_bits) {
            return;
        }
        self.kept.push(fingerprint.into());
        while self.kept.len() > self.max && self.sample_bits < 63 {
            self.sample_bits += 1;
            let bits = self.sample_bits;
            self.kept.retain(|it| is_in(it.fingerprint, bits));
        }
    }

    /// What is kept.
    pub fn observations(&self) -> &[Observation] {
        &self.kept
    }

    /// One key in how many is kept.
    pub fn one_in(&self) -> u64 {
        1 << self.sample_bits
    }

    /// How long the stream was.
    pub fn stream_count(&self) -> u64 {
        self.stream_count
    }

    /// Which observations are first occurrences.
    pub fn first_occurrences(&self) -> Vec<bool> {
        let mut met: HashSet<u64, BuildHasherDefault<AlreadyHashed>> = HashSet::default();
        let kept = self.kept.iter();
        kept.map(|it| met.insert(it.fingerprint.0)).collect()
    }

    /// How many distinct keys are kept.
    pub fn distinct(&self) -> u64 {
        let first = self.first_occurrences();
        first.iter().filter(|first| **first).count() as u64
    }

    /// How many distinct keys the stream had, as far as the sample tells.
    pub fn stream_distinct(&self) -> u64 {
        self.distinct() << self.sample_bits
    }
}

/// By bits that are independent of those a filter takes for its places.
pub(super) fn is_in(fingerprint: Fingerprint, sample_bits: u32) -> bool {
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

    /// Of some 600 keys in 60,000, with a standard error of 4 %.
    #[test]
    fn a_part_of_the_keys_stands_for_all() {
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
