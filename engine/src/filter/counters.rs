//! The k counters of a key: what the counting and the stable Bloom filter share.

use std::ops::Range;

use super::{CellLayout, Evidence, Verdict};
use crate::bytes::{PackedCells, read_u64};
use crate::fingerprint::Fingerprint;
use crate::prefetch::prefetch;
use crate::region::Region;

/// Counters of one width, of which each key has k.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counters {
    /// The number of counters per key.
    pub k: u32,
    /// The largest value of a counter.
    pub max: u32,
    packed: PackedCells,
    count: u64,
}

impl Counters {
    /// Returns as many counters as the memory holds.
    pub fn new(k: u64, max: u16, memory_bits: u64) -> Self {
        let width_bits = PackedCells::holding(max).width_bits();
        Counters::with_count(k, max, memory_bits / u64::from(width_bits))
    }

    /// Returns `count` counters.
    pub fn with_count(k: u64, max: u16, count: u64) -> Self {
        Counters {
            k: k as u32,
            max: u32::from(max),
            packed: PackedCells::holding(max),
            count,
        }
    }

    /// Returns the same counters with k and the largest value as compile-time constants; None
    /// if they are others.
    #[inline(always)]
    pub fn with_constants(self, k: u32, max: u16) -> Option<Self> {
        let constant = Counters {
            k,
            max: u32::from(max),
            packed: PackedCells::holding(max),
            ..self
        };
        (self.k == k && self.max == u32::from(max)).then_some(constant)
    }

    pub fn width_bits(&self) -> u32 {
        self.packed.width_bits()
    }

    #[inline(always)]
    pub fn cells(&self) -> u64 {
        self.count
    }

    pub fn region_bytes(&self) -> u64 {
        self.packed.bytes(self.count)
    }

    #[inline(always)]
    pub fn get(&self, region: &[u8], index: u64) -> u32 {
        self.packed.get(region, index)
    }

    #[inline(always)]
    pub fn set<R: Region + ?Sized>(&self, region: &mut R, index: u64, value: u32) {
        self.packed.set(region, index, value);
    }

    /// Returns the values of up to 16 counters from a multiple of 16 on, and anything behind them.
    /// Their bits begin with a byte, and narrow ones are read at once.
    #[inline(always)]
    pub fn values_of(&self, region: &[u8], first: u64, count: usize) -> [u16; 16] {
        let width_bits = self.width_bits();
        let at = self.packed.byte_of(first);
        let mut values = [0; 16];
        if width_bits <= 4 && at + 8 <= region.len() {
            let (word, mask) = (read_u64(region, at), (1 << width_bits) - 1);
            for (i, value) in values.iter_mut().enumerate() {
                *value = (word >> (i as u32 * width_bits)) as u16 & mask;
            }
        } else {
            for (value, at) in values.iter_mut().zip(first..first + count as u64) {
                *value = self.get(region, at) as u16;
            }
        }
        values
    }

    /// Changes a counter. Returns its value before and after that.
    #[inline(always)]
    pub fn change<R: Region + ?Sized>(
        &self,
        region: &mut R,
        index: u64,
        change: impl Fn(u32) -> u32,
    ) -> (u32, u32) {
        self.packed.change(region, index, change)
    }

    /// Calls a function with each counter above 0 and its value, in order, until it returns false. The
    /// first counter is a multiple of 16, so their bits begin with a byte, and narrow ones are read
    /// 32 at a time.
    #[inline(always)]
    pub fn for_each_in_use(
        &self,
        region: &[u8],
        counters: Range<u64>,
        mut function: impl FnMut(u64, u32) -> bool,
    ) {
        let width_bits = self.width_bits();
        let mut first = counters.start;
        while first < counters.end {
            let end = counters.end.min(first + 32);
            let at = self.packed.byte_of(first);
            if let Some(bytes) = region.get(at..at + 16)
                && width_bits <= 4
            {
                let bits = (end - first) as u32 * width_bits;
                let all = u128::from(read_u64(bytes, 8)) << 64 | u128::from(read_u64(bytes, 0));
                let word = all & (u128::MAX >> (u128::BITS - bits));
                let mut in_use = lowest_bits_in_use(word, width_bits);
                while in_use != 0 {
                    let shift = in_use.trailing_zeros();
                    in_use &= in_use - 1;
                    let value = (word >> shift) as u32 & ((1 << width_bits) - 1);
                    if !function(first + u64::from(shift / width_bits), value) {
                        return;
                    }
                }
            } else {
                for counter in first..end {
                    let value = self.get(region, counter);
                    if value != 0 && !function(counter, value) {
                        return;
                    }
                }
            }
            first = end;
        }
    }

    /// Returns the positions of a key.
    #[inline(always)]
    pub fn positions(&self, fingerprint: Fingerprint) -> impl Iterator<Item = u64> + use<> {
        let Counters { k, count, .. } = *self;
        let mut probes = fingerprint.probes();
        (0..k).map(move |_| probes.next_below(count))
    }

    /// Whether all counters of a key satisfy a condition. All counters are read, without an
    /// early exit: their cache lines are already on the way, and one branch per key is
    /// mispredicted less often than k branches.
    #[inline(always)]
    pub fn all(
        &self,
        region: &[u8],
        fingerprint: Fingerprint,
        condition: impl Fn(u32) -> bool,
    ) -> bool {
        let positions = self.positions(fingerprint);
        positions.fold(true, |all, at| all & condition(self.get(region, at)))
    }

    /// Returns Seen if all counters of the key are above 0.
    #[inline(always)]
    pub fn contains(&self, region: &[u8], fingerprint: Fingerprint) -> Verdict {
        Verdict::seen_if(self.all(region, fingerprint, |value| value > 0))
    }

    /// Prefetches the counters of a key.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], fingerprint: Fingerprint) {
        for position in self.positions(fingerprint) {
            self.prefetch_cell(region, position);
        }
    }

    #[inline(always)]
    pub fn prefetch_cell(&self, region: &[u8], index: u64) {
        prefetch(region, self.packed.byte_of(index));
    }

    /// Counts the counters above 0.
    pub fn recount(&self, region: &[u8]) -> u64 {
        (0..self.count)
            .filter(|&at| self.get(region, at) > 0)
            .count() as u64
    }

    /// Returns load^k.
    pub fn false_positive_rate(&self, occupied: u64) -> f64 {
        let load = occupied as f64 / self.count as f64;
        load.powi(self.k as i32)
    }

    pub fn cell_layout(&self, loss: &'static str) -> CellLayout {
        CellLayout::of_counters(self.count, self.max, loss)
    }

    pub fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(self.get(region, index))
    }

    pub fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        Evidence::of_counters(&self.packed, region, &mut self.positions(fingerprint))
    }
}

/// Returns the lowest bit of each counter above 0, for counters of up to four bits.
#[inline(always)]
fn lowest_bits_in_use(word: u128, width_bits: u32) -> u128 {
    let (bits, lowest) = match width_bits {
        1 => (word, u128::MAX),
        2 => (word | word >> 1, u128::MAX / 3),
        // The last two bits are no counter.
        3 => (word | word >> 1 | word >> 2, (u128::MAX >> 2) / 7),
        _ => {
            let pairs = word | word >> 1;
            (pairs | pairs >> 2, u128::MAX / 15)
        }
    };
    bits & lowest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counters_in_use_are_found_in_order(
            max in 1u16..40, count in 1u64..200, start in 0u64..12, groups in 1u64..9, stop_after in 0usize..40,
            values in proptest::collection::vec((any::<u64>(), any::<u16>()), 0..120),
        ) {
            let counters = Counters::with_count(1, max, count);
            let mut region = vec![0u8; counters.region_bytes() as usize];
            for (at, value) in values {
                counters.set(&mut region[..], at % count, u32::from(value) % (u32::from(max) + 1));
            }
            let start = start.min((count - 1) / 16);
            let range = 16 * start..count.min(16 * start + 16 * groups);
            let mut found = Vec::new();
            counters.for_each_in_use(&region, range.clone(), |at, value| {
                found.push((at, value));
                found.len() <= stop_after
            });
            let all = range.map(|at| (at, counters.get(&region, at)));
            let expected: Vec<_> =
                all.filter(|&(_, value)| value > 0).take(stop_after + 1).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
