//! A region divided into cache lines of 64 bytes. A key touches only one of them.
//!
//! The lines are counted from the start of the region. If the region starts at a cache line, as
//! it does in memory that we allocate, an observation touches one cache line.

use super::{BuildError, FilterSpec, Rows};
use crate::bytes::read_u64;
use crate::fingerprint::{Fingerprint, Probes, reduce_to_multiple};
use crate::prefetch::prefetch;

/// The size of a cache line in bytes.
pub(super) const CACHE_LINE_BYTES: usize = 64;
/// The size of a cache line in bits.
pub(super) const CACHE_LINE_BITS: u64 = 8 * CACHE_LINE_BYTES as u64;

/// The number of random bits that choose one bit of a cache line.
const POSITION_BITS: u32 = CACHE_LINE_BITS.trailing_zeros();
/// The number of positions that one 64-bit number yields.
const POSITIONS_PER_NUMBER: u32 = u64::BITS / POSITION_BITS;

/// The cache lines of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CacheLines {
    count: u64,
    /// Where the region begins; 0 unless it is a part of the filter's region.
    first_byte: usize,
}

impl CacheLines {
    /// Returns as many cache lines as the memory holds, at least one.
    pub fn fitting(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        match memory_bits / CACHE_LINE_BITS {
            0 => Err(BuildError::TooSmall {
                filter: spec.to_string(),
                memory_bits,
                minimum_bits: CACHE_LINE_BITS,
            }),
            count => Ok(CacheLines {
                count,
                first_byte: 0,
            }),
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn bytes(&self) -> u64 {
        self.count * CACHE_LINE_BYTES as u64
    }

    /// Returns the byte offset of a key's cache line, and further random numbers of the key,
    /// which are independent of the choice of the line.
    #[inline(always)]
    pub fn locate(&self, fingerprint: Fingerprint) -> (usize, Probes) {
        let mut probes = fingerprint.probes();
        let number = probes.next_bits();
        (self.offset_of(number) - self.first_byte, probes)
    }

    /// Returns the byte offset of the line `reduce(number, count)`, by one multiplication.
    #[inline(always)]
    fn offset_of(&self, number: u64) -> usize {
        reduce_to_multiple(number, self.count, CACHE_LINE_BYTES as u64) as usize
    }

    /// Returns the cache lines as rows of a row-local filter.
    pub fn rows(&self) -> Rows {
        Rows {
            count: self.count,
            bits: CACHE_LINE_BITS,
        }
    }

    /// Returns the same cache lines in a part of the region that begins with the line `first`.
    #[inline(always)]
    pub fn starting_at(self, first: u64) -> Self {
        CacheLines {
            first_byte: first as usize * CACHE_LINE_BYTES,
            ..self
        }
    }

    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], fingerprint: Fingerprint) {
        prefetch(region, self.offset_of(fingerprint.0));
    }
}

/// Returns how many 64-bit numbers [`bit_positions`] takes for `count` positions.
pub(super) fn numbers_needed(count: u32) -> u64 {
    u64::from(count.div_ceil(POSITIONS_PER_NUMBER))
}

/// Returns `count` bit positions in a cache line, seven per 64-bit number.
#[inline(always)]
pub(super) fn bit_positions(
    count: u32,
    mut next_number: impl FnMut() -> u64,
) -> impl Iterator<Item = u64> {
    let mut number = 0;
    (0..count).map(move |i| {
        if i % POSITIONS_PER_NUMBER == 0 {
            number = next_number();
        }
        number = number.rotate_left(POSITION_BITS);
        number % CACHE_LINE_BITS
    })
}

/// Whether all of these bits of a cache line are set. All are read, without an early exit: a
/// branch per bit would be mispredicted.
#[inline(always)]
pub(super) fn all_set(line: &[u8], bits: impl Iterator<Item = u64>) -> bool {
    let word = |at: u64| read_u64(line, at as usize / 64 * 8);
    bits.fold(1, |all, at| all & (word(at) >> (at % 64))) != 0
}

/// Counts the set bits of a cache line.
#[inline(always)]
pub(super) fn ones(line: &[u8]) -> u32 {
    let words = line.chunks_exact(8);
    words.map(|word| read_u64(word, 0).count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::KeyHasher;

    #[test]
    fn positions_are_cut_from_the_top_of_each_number() {
        let mut numbers = [0x8040_2010_0804_0201u64, u64::MAX].into_iter();
        let found: Vec<u64> = bit_positions(8, || numbers.next().unwrap_or(0)).collect();
        assert_eq!(found, [256, 256, 256, 256, 256, 256, 256, 511]);
        assert_eq!([1, 7, 8, 14, 15].map(numbers_needed), [1, 1, 2, 2, 3]);
    }

    /// The bits that a key takes in its line are independent of the line: counted in 64 × 512
    /// cells, chi-square with 32,767 degrees of freedom has a standard deviation of 256.
    #[test]
    fn bits_are_independent_of_the_cache_line() {
        let lines = CacheLines {
            count: 64,
            first_byte: 0,
        };
        let hasher = KeyHasher::new(5);
        let samples = 2_000_000u64;
        for index in [0, 3, 6] {
            let mut grid = vec![0u32; 64 * 512];
            for key in 0..samples {
                let (at, mut probes) = lines.locate(hasher.fingerprint(&key.to_le_bytes()));
                let bit = bit_positions(7, || probes.next_bits()).nth(index);
                grid[at / CACHE_LINE_BYTES * 512 + bit.unwrap_or(0) as usize] += 1;
            }
            let expected = samples as f64 / grid.len() as f64;
            let terms = grid.iter().map(|&n| (f64::from(n) - expected).powi(2));
            let chi_square = terms.sum::<f64>() / expected;
            assert!((chi_square - 32_767.0).abs() < 4.0 * 256.0, "{chi_square}");
        }
    }
}
