//! The 512 bits of a cache line in the registers of the processor.
//!
//! Which instructions there are is found out at run time, once per batch: [`Vectors::detected`].
//! A loop over a batch is called by `run`, so that it is compiled for these instructions. Every form computes the same bytes; the tests of the filters compare them.
//!
//! Besides `prefetch.rs`, this is the only module of the pure engine with `unsafe`: the compiler
//! cannot know that the processor has the instructions.
#![allow(unsafe_code)]

/// Implements [`LineVectors`] by functions of the same names that are compiled for the
/// instructions, and `run` and the parts of `bits` likewise.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! implement_line_vectors {
    ($vectors:ident, $bits:ty) => {
        impl LineVectors for $vectors {
            type Bits = $bits;

            #[inline]
            fn run(self, work: impl VectorWork<Self>) {
                // SAFETY: `self` proves that the processor has the instructions.
                unsafe { run(self, work) }
            }

            #[inline(always)]
            fn load(self, line: &[u8; 64]) -> $bits {
                // SAFETY: `self` proves that the processor has the instructions.
                unsafe { load(line) }
            }

            #[inline(always)]
            fn store(self, bits: $bits, line: &mut [u8; 64]) {
                // SAFETY: `self` proves that the processor has the instructions.
                unsafe { store(bits, line) }
            }

            #[inline(always)]
            fn bits(self, count: u32, mut next_number: impl FnMut() -> u64) -> $bits {
                // SAFETY: `self` proves that the processor has the instructions.
                let (mut bits, mut number) = unsafe { (zero(), zero()) };
                for index in 0..count {
                    if index % 7 == 0 {
                        // SAFETY: as above.
                        number = unsafe { splat(next_number()) };
                    }
                    // SAFETY: as above.
                    bits = unsafe { or(bits, bit_at(number, 55 - 9 * (index % 7))) };
                }
                bits
            }

            #[inline(always)]
            fn one_per_word(self, count: u32, number: u64) -> $bits {
                // SAFETY: `self` proves that the processor has the instructions.
                unsafe { one_per_word(count, number) }
            }

            #[inline(always)]
            fn words_in_use(self, bits: $bits) -> u32 {
                // SAFETY: `self` proves that the processor has the instructions.
                unsafe { words_in_use(bits) }
            }

            #[inline(always)]
            fn cells(self, count: u32, mut next_number: impl FnMut() -> u64) -> $bits {
                // SAFETY: `self` proves that the processor has the instructions.
                let (mut cells, mut number) = unsafe { (zero(), zero()) };
                for index in 0..count {
                    if index % 4 == 0 {
                        // SAFETY: as above.
                        number = unsafe { splat(next_number()) };
                    }
                    // SAFETY: as above.
                    cells = unsafe { or(cells, cell_at(number, 55 - 16 * (index % 4))) };
                }
                cells
            }

            #[inline(always)]
            fn cells_in(self, bits: $bits, values: u16) -> $bits {
                // SAFETY: `self` proves that the processor has the instructions.
                unsafe { cells_in(bits, values) }
            }

            #[inline(always)]
            fn splat(self, number: u64) -> $bits {
                // SAFETY: `self` proves that the processor has the instructions.
                unsafe { splat(number) }
            }

            #[inline(always)]
            fn and(self, one: $bits, other: $bits) -> $bits {
                // SAFETY: `self` proves that the processor has the instructions.
                unsafe { and(one, other) }
            }

            #[inline(always)]
            fn or(self, one: $bits, other: $bits) -> $bits {
                // SAFETY: `self` proves that the processor has the instructions.
                unsafe { or(one, other) }
            }

            #[inline(always)]
            fn without(self, bits: $bits, removed: $bits) -> $bits {
                // SAFETY: `self` proves that the processor has the instructions.
                unsafe { without(bits, removed) }
            }

            #[inline(always)]
            fn is_zero(self, bits: $bits) -> bool {
                // SAFETY: `self` proves that the processor has the instructions.
                unsafe { is_zero(bits) }
            }

            #[inline(always)]
            fn count(self, bits: $bits) -> u32 {
                // SAFETY: `self` proves that the processor has the instructions.
                unsafe { count(bits) }
            }

            #[inline(always)]
            fn has_word_above(self, bits: $bits, most: u32) -> bool {
                // SAFETY: `self` proves that the processor has the instructions.
                unsafe { has_word_above(bits, most) }
            }
        }
    };
}

/// A `match` on [`Vectors`]. The second arm stands for all forms that the target may have, and is
/// compiled for each of them.
macro_rules! match_vectors {
    ($vectors:expr, Portable => $portable:expr, $form:ident => $work:expr $(,)?) => {
        match $vectors {
            $crate::simd::Vectors::Portable => $portable,
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Vectors::Avx2($form) => $work,
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Vectors::Avx512($form) => $work,
            #[cfg(target_arch = "aarch64")]
            $crate::simd::Vectors::Neon($form) => $work,
        }
    };
}
pub(crate) use match_vectors;

#[cfg(feature = "all-filters")]
mod any_work;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(not(target_family = "wasm"))]
mod choose;
#[cfg(feature = "all-filters")]
mod field;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(feature = "all-filters")]
mod select;

#[cfg(not(target_family = "wasm"))]
pub use choose::{Chosen, Interval};
#[cfg(target_arch = "aarch64")]
pub use neon::Neon;
#[cfg(feature = "all-filters")]
pub use {
    any_work::AnyVectorWork,
    field::{Field, from_bit, read_words, write_words},
};
#[cfg(target_arch = "x86_64")]
pub use {avx2::Avx2, avx512::Avx512};

/// The vector instructions that a loop is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// None beyond those of the target.
    Portable,
    /// 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// 512 bits, with an instruction that counts bits.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    /// 128 bits, with an instruction that counts the bits of bytes.
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
}

impl Vectors {
    /// Returns the widest that the processor has.
    #[inline]
    pub fn detected() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(avx512) = Avx512::detected() {
                return Vectors::Avx512(avx512);
            }
            if let Some(avx2) = Avx2::detected() {
                return Vectors::Avx2(avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if let Some(neon) = Neon::detected() {
            return Vectors::Neon(neon);
        }
        Vectors::Portable
    }

    /// Returns all that the processor has.
    #[cfg(test)]
    pub fn all_detected() -> Vec<Self> {
        let all = std::iter::once(Vectors::Portable);
        #[cfg(target_arch = "x86_64")]
        let all = all
            .chain(Avx2::detected().map(Vectors::Avx2))
            .chain(Avx512::detected().map(Vectors::Avx512));
        #[cfg(target_arch = "aarch64")]
        let all = all.chain(Neon::detected().map(Vectors::Neon));
        all.collect()
    }
}

/// Returns a position in a cache line that is cut from a number. Positions with different indices
/// below eight are in different words of 64 bits, which follow each other. The position in each
/// word is six bits, from the top; the next three bits tell the first word.
#[cfg(feature = "all-filters")]
#[inline(always)]
pub fn word_position(number: u64, index: u32) -> u64 {
    let word = ((number >> 13) + u64::from(index)) % 8;
    64 * word + (number >> (58 - 6 * word)) % 64
}

/// Returns a bit for each word that has one of the first `count` positions of a number.
#[inline(always)]
fn words_of(count: u32, number: u64) -> u8 {
    match count {
        8.. => u8::MAX,
        _ => ((1u8 << count) - 1).rotate_left((number >> 13) as u32 % 8),
    }
}

/// Work that is compiled for vector instructions, as far as it is inlined. A closure would not do:
/// a large one is not inlined.
pub trait VectorWork<V> {
    /// Does the work. Implementations must be `inline(always)`.
    fn run(self, vectors: V);
}

/// The bits of a cache line in vector registers. A value of an implementing type exists only if
/// the processor has the instructions.
pub trait LineVectors: Copy + Into<Vectors> {
    /// The 512 bits of a cache line.
    type Bits: Copy;

    /// Does the work, compiled for these instructions.
    fn run(self, work: impl VectorWork<Self>);

    /// Reads a cache line.
    fn load(self, line: &[u8; 64]) -> Self::Bits;

    /// Writes a cache line.
    fn store(self, bits: Self::Bits, line: &mut [u8; 64]);

    /// Returns `count` bits, whose positions are cut from the top of 64-bit numbers, seven per
    /// number.
    fn bits(self, count: u32, next_number: impl FnMut() -> u64) -> Self::Bits;

    /// Returns the bits at the first `count` [positions](word_position) of a number, one per word.
    fn one_per_word(self, count: u32, number: u64) -> Self::Bits;

    /// Counts the words of 64 bits with a set bit.
    fn words_in_use(self, bits: Self::Bits) -> u32;

    /// Returns all bits of `count` cells of four bits. Their positions are cut from 64-bit numbers,
    /// four per number, from the top of each 16 bits.
    fn cells(self, count: u32, next_number: impl FnMut() -> u64) -> Self::Bits;

    /// Returns all bits of the cells of four bits whose value v has its bit v set in `values`.
    fn cells_in(self, bits: Self::Bits, values: u16) -> Self::Bits;

    /// Returns a number eight times.
    fn splat(self, number: u64) -> Self::Bits;

    /// Returns the bits that are in both.
    fn and(self, one: Self::Bits, other: Self::Bits) -> Self::Bits;

    /// Returns the bits that are in either.
    fn or(self, one: Self::Bits, other: Self::Bits) -> Self::Bits;

    /// Returns the bits that are not in `removed`.
    fn without(self, bits: Self::Bits, removed: Self::Bits) -> Self::Bits;

    /// Whether no bit is set.
    fn is_zero(self, bits: Self::Bits) -> bool;

    /// Counts the set bits.
    fn count(self, bits: Self::Bits) -> u32;

    /// Whether one of the eight words of 64 bits has more than `most` set bits. That takes less
    /// time than counting all of them.
    fn has_word_above(self, bits: Self::Bits, most: u32) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Generator;

    /// Computes with one bit at a time.
    fn naive_bits(count: u32, numbers: &[u64]) -> [u8; 64] {
        let mut line = [0; 64];
        for index in 0..count as usize {
            let number = numbers[index / 7];
            let at = (number >> (55 - 9 * (index % 7))) as usize % 512;
            line[at / 8] |= 1 << (at % 8);
        }
        line
    }

    /// Computes with one word at a time.
    fn naive_words(count: u32, number: u64) -> [u8; 64] {
        let mut words = [0u64; 8];
        for index in 0..u64::from(count) {
            let word = ((number >> 13) % 8 + index) % 8;
            words[word as usize] = 1 << ((number << (6 * word)) >> 58);
        }
        std::array::from_fn(|at| words[at / 8].to_le_bytes()[at % 8])
    }

    /// Computes with one cell at a time.
    fn naive_cells(count: u32, numbers: &[u64]) -> [u8; 64] {
        let mut line = [0; 64];
        for index in 0..count as usize {
            let cell = (numbers[index / 4] >> (57 - 16 * (index % 4))) as usize % 128;
            line[cell / 2] |= 15 << (cell % 2 * 4);
        }
        line
    }

    fn agrees_with_single_bits(vectors: impl LineVectors) {
        let draws = Generator::from_seed(11);
        let mut drawn = (0..).map(|index| draws.draw(index));
        let mut next = || drawn.next().unwrap_or(0);
        for count in (1..=32).cycle().take(2000) {
            let numbers: [u64; 5] = std::array::from_fn(|_| next());
            let mut given = numbers.iter();
            let bits = vectors.bits(count, || given.next().copied().unwrap_or(0));
            let mut line = [0; 64];
            vectors.store(bits, &mut line);
            let expected = naive_bits(count, &numbers);
            assert_eq!(line, expected, "{count} bits of {numbers:x?}");
            let few = 1 + count % 8;
            vectors.store(vectors.one_per_word(few, numbers[0]), &mut line);
            assert_eq!(line, naive_words(few, numbers[0]), "{few} words");
            assert_eq!(vectors.words_in_use(vectors.load(&line)), few);
            let mut given = numbers.iter();
            let cells = vectors.cells(count.min(20), || given.next().copied().unwrap_or(0));
            vectors.store(cells, &mut line);
            assert_eq!(line, naive_cells(count.min(20), &numbers), "{count}");
            let words: [u64; 8] = std::array::from_fn(|_| next() & next());
            let mut other = [0; 64];
            for (bytes, word) in other.chunks_exact_mut(8).zip(words) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            let other_bits = vectors.load(&other);
            let ones: u32 = words.iter().map(|word| word.count_ones()).sum();
            assert_eq!(vectors.count(other_bits), ones);
            assert_eq!(vectors.is_zero(other_bits), ones == 0);
            let fullest = words
                .iter()
                .map(|word| word.count_ones())
                .max()
                .unwrap_or(0);
            for most in 0..=64 {
                assert_eq!(vectors.has_word_above(other_bits, most), fullest > most);
            }
            vectors.store(vectors.or(bits, other_bits), &mut line);
            assert!((0..64).all(|i| line[i] == expected[i] | other[i]));
            vectors.store(vectors.and(bits, other_bits), &mut line);
            assert!((0..64).all(|i| line[i] == expected[i] & other[i]));
            let values = numbers[0] as u16;
            vectors.store(vectors.cells_in(other_bits, values), &mut line);
            let all_if = |value: u8| if values >> value & 1 == 1 { 15 } else { 0 };
            let found = |byte: u8| all_if(byte & 15) | (all_if(byte >> 4) << 4);
            assert!((0..64).all(|i| line[i] == found(other[i])));
            vectors.store(vectors.splat(numbers[1]), &mut line);
            assert!((0..64).all(|i| line[i] == numbers[1].to_le_bytes()[i % 8]));
            vectors.store(vectors.without(other_bits, bits), &mut line);
            assert!((0..64).all(|i| line[i] == other[i] & !expected[i]));
        }
        let full = vectors.load(&[0xff; 64]);
        assert_eq!(vectors.count(full), 512);
        assert!(vectors.is_zero(vectors.load(&[0; 64])));
    }

    #[test]
    fn lines_in_registers_agree_with_single_bits() {
        for vectors in Vectors::all_detected() {
            match_vectors!(
                vectors,
                Portable => {},
                vectors => agrees_with_single_bits(vectors),
            );
        }
    }
}
