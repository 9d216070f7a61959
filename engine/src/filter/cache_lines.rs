//! A region cut into lines of 64 bytes, one of which is all that a key touches.
//!
//! Lines are counted from the region's start. Where that is the start of a cache line,
//! as in memory of our own and in stores, an observation costs one line of memory.

use super::{BuildError, FilterSpec};
use crate::bytes::read_u64;
use crate::fingerprint::{Fingerprint, Probes, reduce};
use crate::prefetch::prefetch;

/// The length of a line.
pub(super) const LINE_BYTES: usize = 64;
/// The same in bits.
pub(super) const LINE_BITS: u64 = 8 * LINE_BYTES as u64;

/// How many bits of a number choose a bit of a line.
const CHOICE_BITS: u32 = LINE_BITS.trailing_zeros();
/// How many such choices one number holds.
const CHOICES: u32 = u64::BITS / CHOICE_BITS;

/// As many lines as a memory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    count: u64,
}

impl Lines {
    /// At least one.
    pub fn fitting(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        match memory_bits / LINE_BITS {
            0 => Err(BuildError::TooSmall {
                filter: spec.to_string(),
                memory_bits,
                minimum_bits: LINE_BITS,
            }),
            count => Ok(Lines { count }),
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn bytes(&self) -> u64 {
        self.count * LINE_BYTES as u64
    }

    /// Where a key's line starts, and numbers that say nothing of which line it is.
    #[inline(always)]
    pub fn place(&self, fingerprint: Fingerprint) -> (usize, Probes) {
        let mut probes = fingerprint.probes();
        let line = probes.next_below(self.count);
        (line as usize * LINE_BYTES, probes)
    }

    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], fingerprint: Fingerprint) {
        prefetch(
            region,
            reduce(fingerprint.0, self.count) as usize * LINE_BYTES,
        );
    }
}

/// How many numbers `choices` of `count` bits need.
pub(super) fn numbers_for(count: u32) -> u64 {
    u64::from(count.div_ceil(CHOICES))
}

/// `count` bits of a line, seven to a number.
#[inline(always)]
pub(super) fn choices(
    count: u32,
    mut next_number: impl FnMut() -> u64,
) -> impl Iterator<Item = u64> {
    let mut number = 0;
    (0..count).map(move |i| {
        if i % CHOICES == 0 {
            number = next_number();
        }
        number = number.rotate_left(CHOICE_BITS);
        number % LINE_BITS
    })
}

/// Whether all of these bits of a line are set. All are looked at: they are in one line,
/// and a branch for each would be guessed wrong.
#[inline(always)]
pub(super) fn all_set(line: &[u8], bits: impl Iterator<Item = u64>) -> bool {
    let word = |at: u64| read_u64(line, at as usize / 64 * 8);
    bits.fold(1, |all, at| all & (word(at) >> (at % 64))) != 0
}

/// How many bits of a line are set.
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
    fn choices_are_the_pieces_of_numbers_from_the_top() {
        let mut numbers = [0x8040_2010_0804_0201u64, u64::MAX].into_iter();
        let found: Vec<u64> = choices(8, || numbers.next().unwrap_or(0)).collect();
        assert_eq!(found, [256, 256, 256, 256, 256, 256, 256, 511]);
        assert_eq!([1, 7, 8, 14, 15].map(numbers_for), [1, 1, 2, 2, 3]);
    }

    /// Which bit of its line a key takes says nothing of which line that is: counted in
    /// 64 × 512 cells, chi-square with 32,767 degrees of freedom has deviation 256.
    #[test]
    fn bits_are_independent_of_lines() {
        let lines = Lines { count: 64 };
        let hasher = KeyHasher::new(5);
        let samples = 2_000_000u64;
        for place in [0, 3, 6] {
            let mut grid = vec![0u32; 64 * 512];
            for key in 0..samples {
                let (at, mut probes) = lines.place(hasher.fingerprint(&key.to_le_bytes()));
                let bit = choices(7, || probes.next_bits()).nth(place).unwrap_or(0);
                grid[at / LINE_BYTES * 512 + bit as usize] += 1;
            }
            let expected = samples as f64 / grid.len() as f64;
            let terms = grid.iter().map(|&n| (f64::from(n) - expected).powi(2));
            let chi_square = terms.sum::<f64>() / expected;
            assert!((chi_square - 32_767.0).abs() < 4.0 * 256.0, "{chi_square}");
        }
    }
}
