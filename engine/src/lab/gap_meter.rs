//! Measures the gaps between occurrences of a key, in bounded memory.
//!
//! The meter remembers the last position of each key. If there are too many keys, it keeps only
//! those whose hash ends in a zero bit, then two zero bits, and so on. A repeat in this sample of
//! keys counts as many times as the keys that it represents, so each repeat of the stream counts
//! once in expectation. If a stream has a few very popular keys, the sample may miss them or give
//! them too much weight.

use super::open_table::{BURST, OpenTable, Slot};
use crate::rng::Generator;
use crate::theory::GapHistogram;

/// Default number of remembered keys: 20 to 40 MB.
const DEFAULT_KEYS: usize = 1 << 20;

/// The last position of a key, counted from 1.
#[derive(Clone, Copy, Debug, Default)]
struct LastPosition {
    hash: u64,
    position: u64,
}

impl Slot for LastPosition {
    #[inline(always)]
    fn key(&self) -> Option<u64> {
        (self.position > 0).then_some(self.hash)
    }
}

/// Measures the gaps of a stream in progress.
#[derive(Debug)]
pub struct GapMeter {
    last: OpenTable<LastPosition>,
    max_keys: usize,
    sample_bits: u32,
    position: u64,
    histogram: GapHistogram,
}

impl Default for GapMeter {
    fn default() -> Self {
        GapMeter::bounded(DEFAULT_KEYS)
    }
}

impl GapMeter {
    /// Creates a meter that remembers all keys.
    pub fn exact() -> Self {
        GapMeter::bounded(usize::MAX)
    }

    /// Creates a meter that is exact up to `max_keys` keys and then samples at most that many.
    pub fn bounded(max_keys: usize) -> Self {
        GapMeter {
            last: OpenTable::default(),
            max_keys: max_keys.max(1),
            sample_bits: 0,
            position: 0,
            histogram: GapHistogram::default(),
        }
    }

    /// Records the next key.
    #[inline]
    pub fn record(&mut self, identity: u64) {
        self.position += 1;
        let hash = hash(identity);
        if !self.is_sampled(hash) {
            return;
        }
        let position = self.position;
        match self.last.replace(hash, LastPosition { hash, position }) {
            Some(before) => {
                let gap = position - before.position;
                self.histogram.record(gap, 1 << self.sample_bits);
            }
            None => self.reduce_sample(),
        }
    }

    /// Records many keys in order, faster than one by one.
    pub fn record_all(&mut self, identities: &[u64]) {
        for burst in identities.chunks(BURST) {
            for hash in burst.iter().map(|&identity| hash(identity)) {
                if self.is_sampled(hash) {
                    self.last.prefetch(hash);
                }
            }
            burst.iter().for_each(|&identity| self.record(identity));
        }
    }

    #[inline(always)]
    fn is_sampled(&self, hash: u64) -> bool {
        hash.trailing_zeros() >= self.sample_bits
    }

    fn reduce_sample(&mut self) {
        while self.last.len() > self.max_keys && self.sample_bits < 63 {
            self.sample_bits += 1;
            let bits = self.sample_bits;
            self.last.retain(|last| last.hash.trailing_zeros() >= bits);
        }
    }

    /// The gaps measured so far.
    pub fn histogram(&self) -> &GapHistogram {
        &self.histogram
    }

    /// Returns c if one key in c is in the sample; 1 if the histogram is exact.
    pub fn sampled_one_in(&self) -> u64 {
        1 << self.sample_bits
    }
}

/// Mixes the bits of an identity: consecutive numbers must not be sampled by their last bits.
#[inline(always)]
fn hash(identity: u64) -> u64 {
    Generator::from_state(identity).draw(0)
}

#[cfg(test)]
mod tests {
    use super::super::stream::tests::numbers;
    use super::*;

    fn measured(mut meter: GapMeter, keys: &[u64]) -> GapMeter {
        let (one_by_one, together) = keys.split_at(keys.len() / 2);
        for &key in one_by_one {
            meter.record(key);
        }
        meter.record_all(together);
        meter
    }

    #[test]
    fn gaps_are_exact() {
        let meter = measured(GapMeter::exact(), &[5, 7, 5, 5, 9, 7]);
        let found: Vec<(u64, u64)> = meter
            .histogram()
            .buckets()
            .map(|bucket| (bucket.from, bucket.count))
            .collect();
        assert_eq!(found, [(1, 1), (2, 1), (4, 1)]);
        assert_eq!(meter.sampled_one_in(), 1);
    }

    /// The sample has about 1,000 of 60,000 keys, each with less than one repeat on average, so
    /// the standard error of the number of repeats is about 4 %.
    #[test]
    fn a_sample_estimates_the_gaps_of_the_stream() {
        let keys = numbers("shuffle:60", 100_000, 3);
        let exact = measured(GapMeter::exact(), &keys);
        let sampled = measured(GapMeter::bounded(1000), &keys);
        assert!(sampled.sampled_one_in() >= 64, "{sampled:?}");
        assert_eq!(exact.histogram().total(), 40_000);
        let total = sampled.histogram().total() as f64;
        assert!((total / 40_000.0 - 1.0).abs() < 0.12, "{total}");
        let median = |meter: &GapMeter| meter.histogram().quantile(0.5).expect("repeats") as f64;
        let ratio = median(&sampled) / median(&exact);
        assert!((0.75..1.34).contains(&ratio), "{ratio}");
    }
}
