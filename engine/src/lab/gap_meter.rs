//! Measures how far back the repeats of a stream lie, in bounded memory.
//!
//! The last place of each key is remembered. When there are more keys than may be, only
//! those whose hash ends in a zero bit are kept, then those with two, and so on: a sample
//! of keys, of which every repeat counts for as many as it stands for. Each repeat of the
//! stream is expected to count once; on a stream with few very popular keys the sample may
//! miss or favour them.

use super::open_table::{BURST, OpenTable, Slot};
use crate::rng::Generator;
use crate::theory::GapHistogram;

/// Keys remembered unless told otherwise: some 20 to 40 MB.
const DEFAULT_KEYS: usize = 1 << 20;

/// Where a key came last, counted from 1.
#[derive(Clone, Copy, Debug, Default)]
struct LastPlace {
    hash: u64,
    place: u64,
}

impl Slot for LastPlace {
    #[inline(always)]
    fn key(&self) -> Option<u64> {
        (self.place > 0).then_some(self.hash)
    }
}

/// Gaps of a stream under way.
#[derive(Debug)]
pub struct GapMeter {
    last: OpenTable<LastPlace>,
    max_keys: usize,
    sample_bits: u32,
    place: u64,
    histogram: GapHistogram,
}

impl Default for GapMeter {
    fn default() -> Self {
        GapMeter::bounded(DEFAULT_KEYS)
    }
}

impl GapMeter {
    /// Every gap, however many keys there are.
    pub fn exact() -> Self {
        GapMeter::bounded(usize::MAX)
    }

    /// Exact up to `max_keys` keys, and from a sample of at most as many beyond.
    pub fn bounded(max_keys: usize) -> Self {
        GapMeter {
            last: OpenTable::default(),
            max_keys: max_keys.max(1),
            sample_bits: 0,
            place: 0,
            histogram: GapHistogram::default(),
        }
    }

    /// The next key.
    #[inline]
    pub fn record(&mut self, identity: u64) {
        self.place += 1;
        let hash = hash(identity);
        if !self.samples(hash) {
            return;
        }
        let place = self.place;
        match self.last.replace(hash, LastPlace { hash, place }) {
            Some(before) => {
                let gap = place - before.place;
                self.histogram.record(gap, 1 << self.sample_bits);
            }
            None => self.thin_out(),
        }
    }

    /// [`record`](GapMeter::record) for many in order, faster than one by one.
    pub fn record_all(&mut self, identities: &[u64]) {
        for burst in identities.chunks(BURST) {
            for hash in burst.iter().map(|&identity| hash(identity)) {
                if self.samples(hash) {
                    self.last.prefetch(hash);
                }
            }
            burst.iter().for_each(|&identity| self.record(identity));
        }
    }

    #[inline(always)]
    fn samples(&self, hash: u64) -> bool {
        hash.trailing_zeros() >= self.sample_bits
    }

    fn thin_out(&mut self) {
        while self.last.len() > self.max_keys && self.sample_bits < 63 {
            self.sample_bits += 1;
            let bits = self.sample_bits;
            self.last.retain(|last| last.hash.trailing_zeros() >= bits);
        }
    }

    /// The gaps so far.
    pub fn histogram(&self) -> &GapHistogram {
        &self.histogram
    }

    /// One key in how many is in the sample now: 1 if the histogram is exact.
    pub fn sampled_one_in(&self) -> u64 {
        1 << self.sample_bits
    }
}

/// Keys that are numbers in a row must not be sampled by their last bits.
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

    /// A sample of about 1,000 of 60,000 keys, each with less than one repeat on average:
    /// the standard error of the number of repeats is about 4 %.
    #[test]
    fn a_sample_stands_for_the_stream() {
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
