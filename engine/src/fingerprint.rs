//! Hashes a key to the 64-bit fingerprint that filters work on.
//!
//! A key is hashed once, by xxh3 with a seed, into a [`Fingerprint`]; all positions in all filters
//! derive from it. The seed and the [`HashScheme`] are recorded with a state, because a filter is
//! useless with another hash.
//!
//! The engine cannot distinguish two keys with equal fingerprints. Among a billion keys the
//! probability that any two collide is about 3 %, and then it affects one key of a billion.

use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A 64-bit keyed hash of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub u64);

/// How keys become fingerprints and fingerprints become positions.
///
/// A change of either is a new scheme with a new number; old numbers are never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum HashScheme {
    /// XXH3-64 with a 64-bit seed; positions by [`Fingerprint::probes`].
    #[default]
    Xxh3V1,
}

impl HashScheme {
    /// Returns the number that is written into files.
    pub const fn id(self) -> u32 {
        match self {
            HashScheme::Xxh3V1 => 1,
        }
    }

    /// Returns the scheme of a number read from a file; None if this version does not know it.
    pub const fn from_id(id: u32) -> Option<Self> {
        match id {
            1 => Some(HashScheme::Xxh3V1),
            _ => None,
        }
    }

    /// Returns the name that users see.
    pub const fn name(self) -> &'static str {
        match self {
            HashScheme::Xxh3V1 => "xxh3-64/1",
        }
    }
}

/// Hashes keys with one scheme and seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHasher {
    seed: u64,
}

impl KeyHasher {
    /// Returns a hasher of the current scheme.
    pub const fn new(seed: u64) -> Self {
        KeyHasher { seed }
    }

    /// Returns the seed.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the scheme.
    pub const fn scheme(&self) -> HashScheme {
        HashScheme::Xxh3V1
    }

    /// Returns the fingerprint of a key.
    #[inline]
    pub fn fingerprint(&self, key: &[u8]) -> Fingerprint {
        #[cfg(target_family = "wasm")]
        if let Some(hash) = crate::wasm_xxh3::hash(key, self.seed) {
            return Fingerprint(hash);
        }
        Fingerprint(xxh3_64_with_seed(key, self.seed))
    }
}

/// A multiplier for which tuples of successive high bits are well distributed
/// (Steele and Vigna, "Computationally easy, spectrally good multipliers for
/// congruential pseudorandom number generators", 2021, table for 64-bit MCGs).
const PROBE_MULTIPLIER: u64 = 0xf135_7aea_2e62_a9c5;

impl Fingerprint {
    /// Returns an endless sequence of 64-bit numbers, each by one multiplication; the first is the
    /// fingerprint itself. Use the high bits, by [`reduce`].
    #[inline]
    pub fn probes(self) -> Probes {
        Probes { next: self.0 }
    }
}

/// The sequence of [`Fingerprint::probes`].
#[derive(Clone, Debug)]
pub struct Probes {
    next: u64,
}

impl Probes {
    /// Returns the next number, mapped into `0..range`.
    #[inline]
    pub fn next_below(&mut self, range: u64) -> u64 {
        reduce(self.next_bits(), range)
    }

    /// Returns the next number itself, to be cut into several small ones from the top. Each of
    /// them is uniform because the multiplier is odd; the higher ones are mixed better.
    #[inline]
    pub fn next_bits(&mut self) -> u64 {
        let bits = self.next;
        self.next = self.next.wrapping_mul(PROBE_MULTIPLIER);
        bits
    }
}

/// Maps a uniform 64-bit number into `0..range` by its high bits, without division.
#[inline]
pub fn reduce(uniform: u64, range: u64) -> u64 {
    // WebAssembly has no 128-bit product and calls a function for it.
    if cfg!(target_family = "wasm") && range <= 1 << 32 {
        return reduce_to_32_bits(uniform, range);
    }
    ((u128::from(uniform) * u128::from(range)) >> 64) as u64
}

/// Returns [`reduce`]`(uniform, range) * unit`, where the unit is a power of two and
/// `range * unit` is below 2⁶⁴. Rounding the product down to a multiple is cheaper than shifting it
/// into place: the compiler would shift both halves of it, which takes several operations on AMD.
#[inline(always)]
pub(crate) fn reduce_to_multiple(uniform: u64, range: u64, unit: u64) -> u64 {
    reduce(uniform, range * unit) & !(unit - 1)
}

/// Computes [`reduce`] for ranges up to 2³² by two products that fit in 64 bits.
#[inline]
fn reduce_to_32_bits(uniform: u64, range: u64) -> u64 {
    let low = (uniform & u64::from(u32::MAX)) * range;
    ((uniform >> 32) * range + (low >> 32)) >> 32
}

/// A hasher for numbers that are hashes already: returns them unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These values are written into stores and must never change.
    #[test]
    fn fingerprints_are_xxh3_hashes() {
        // Also computed with the Python binding of the reference library.
        assert_eq!(
            KeyHasher::new(0).fingerprint(b""),
            Fingerprint(0x2d06_8005_38d3_94c2)
        );
        let golden = [
            (0, "https://harbour.example/", 0x32f7_b17e_3e46_b7cc_u64),
            (1, "https://harbour.example/", 0xf53d_093b_3f35_3fb8),
            (u64::MAX, "k", 0x49f2_277b_ffde_3652),
        ];
        for (seed, key, expected) in golden {
            let found = KeyHasher::new(seed).fingerprint(key.as_bytes()).0;
            assert_eq!(found, expected, "seed {seed}, key {key:?}: {found:#018x}");
        }
    }

    #[test]
    fn probes_never_change() {
        let mut probes = Fingerprint(0x0123_4567_89ab_cdef).probes();
        let found: Vec<u64> = (0..4).map(|_| probes.next_below(1_000_003)).collect();
        assert_eq!(found, [4444, 679_666, 520_116, 510_168]);
    }

    #[test]
    fn reduce_maps_onto_the_range() {
        assert_eq!(reduce(0, 7), 0);
        assert_eq!(reduce(u64::MAX, 7), 6);
        assert_eq!(reduce(u64::MAX, 1), 0);
        assert_eq!(reduce(1 << 63, 1 << 40), 1 << 39);
    }

    #[test]
    fn both_implementations_of_reduce_agree() {
        let numbers = [
            0,
            1,
            0xffff_ffff,
            1 << 32,
            0x0123_4567_89ab_cdef,
            u64::MAX - 1,
            u64::MAX,
        ];
        for uniform in numbers {
            for range in [
                0,
                1,
                2,
                7,
                1_000_003,
                (1 << 31) + 1,
                u64::from(u32::MAX),
                1 << 32,
            ] {
                let expected = ((u128::from(uniform) * u128::from(range)) >> 64) as u64;
                assert_eq!(
                    reduce_to_32_bits(uniform, range),
                    expected,
                    "{uniform} {range}"
                );
                assert_eq!(reduce(uniform, range), expected);
            }
        }
    }

    #[test]
    fn a_multiple_is_the_unit_times_the_reduced_number() {
        let hasher = KeyHasher::new(3);
        for index in 0u64..100_000 {
            let uniform = hasher.fingerprint(&index.to_le_bytes()).0;
            let range = 1 + (uniform.rotate_left(17) >> (index % 64).max(8));
            for unit in [1, 8, 64] {
                let expected = reduce(uniform, range) * unit;
                assert_eq!(reduce_to_multiple(uniform, range, unit), expected);
            }
        }
        assert_eq!(
            reduce_to_multiple(u64::MAX, 1 << 50, 64),
            ((1 << 50) - 1) * 64
        );
    }

    /// Pairs of successive probes are distributed over a 64 × 64 grid like random numbers:
    /// chi-square with 4095 degrees of freedom has the mean 4095 and the standard deviation 90.5.
    #[test]
    fn successive_probes_are_independent() {
        let hasher = KeyHasher::new(42);
        let samples = 1_000_000u64;
        let mut grid = vec![0u64; 4096];
        for key in 0..samples {
            let mut probes = hasher.fingerprint(&key.to_le_bytes()).probes();
            let (a, b) = (probes.next_below(64), probes.next_below(64));
            grid[(a * 64 + b) as usize] += 1;
        }
        let expected = samples as f64 / 4096.0;
        let chi_square: f64 = grid
            .iter()
            .map(|&n| (n as f64 - expected).powi(2) / expected)
            .sum();
        assert!((chi_square - 4095.0).abs() < 4.0 * 90.5, "{chi_square}");
    }
}
