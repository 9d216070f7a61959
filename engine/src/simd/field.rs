//! Inserts a field into the packed fields of a block.
#![allow(unsafe_code)]

use super::Vectors;
use crate::bytes::{read_u64, write_u64};

const WORD_BITS: u32 = u64::BITS;

/// A field that is to be inserted into a block, and the new lowest bits of the block.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The first bit of the field. All bits from there on move up.
    pub at: u32,
    /// The end of all fields of the block. What would move beyond it is lost.
    pub end: u32,
    /// The number of its bits, from 1 to 63.
    pub width: u32,
    /// Its value.
    pub value: u64,
    /// Which bits of the block, before the field, get new values.
    pub low_mask: u128,
    /// These values.
    pub low_bits: u128,
}

impl Vectors {
    /// Inserts a field into a block of half a cache line, or of one to three.
    #[inline(always)]
    pub fn insert_field(self, block: &mut [u8], field: Field) {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the value proves that the processor has the instructions.
            Vectors::Avx512(_) if block.len() >= 64 => unsafe { avx512::insert(block, field) },
            _ => field.insert_into_block(block),
        }
    }
}

impl Field {
    #[inline(never)]
    fn insert_into_block(self, block: &mut [u8]) {
        match block.len() {
            32 => self.insert_into_words::<4>(block),
            64 => self.insert_into_words::<8>(block),
            128 => self.insert_into_words::<16>(block),
            _ => self.insert_into_words::<24>(block),
        }
    }

    /// Inserts the field into a block of so many words.
    #[inline(always)]
    fn insert_into_words<const WORDS: usize>(self, block: &mut [u8]) {
        let (at, width) = (self.at, self.width);
        let mut words: [u64; WORDS] = read_words(block);
        let old = u128::from(words[0]) | u128::from(words[1]) << WORD_BITS;
        let new = old & !self.low_mask | self.low_bits;
        (words[0], words[1]) = (new as u64, (new >> WORD_BITS) as u64);
        let inserted = u128::from(self.value) << (at % WORD_BITS);
        let first = (at / WORD_BITS) as usize;
        // Plain loops over all words: the compiler makes vector instructions of them.
        let (mut result, mut below) = ([0; WORDS], 0);
        for i in 0..WORDS {
            let moves = from_bit(at, i);
            let moved = words[i] & moves;
            let carried = below >> (WORD_BITS - width);
            let low = if i == first { inserted as u64 } else { 0 };
            let high = if i == first + 1 {
                (inserted >> WORD_BITS) as u64
            } else {
                0
            };
            let fields = words[i] & !moves | moved << width | carried | low | high;
            result[i] = fields & !from_bit(self.end, i);
            below = moved;
        }
        write_words(block, &result);
    }
}

/// Returns the bits of word number `index` that are at or after a bit of all words.
#[inline(always)]
pub fn from_bit(bit: u32, index: usize) -> u64 {
    let inside = bit.saturating_sub(WORD_BITS * index as u32);
    match inside < WORD_BITS {
        true => u64::MAX << inside,
        false => 0,
    }
}

/// Reads the words of a block.
#[inline(always)]
pub fn read_words<const WORDS: usize>(block: &[u8]) -> [u64; WORDS] {
    let (block, mut words) = (&block[..8 * WORDS], [0; WORDS]);
    for (i, word) in words.iter_mut().enumerate() {
        *word = read_u64(block, 8 * i);
    }
    words
}

/// Writes the words of a block.
#[inline(always)]
pub fn write_words<const WORDS: usize>(block: &mut [u8], words: &[u64; WORDS]) {
    let block = &mut block[..8 * WORDS];
    for (i, &word) in words.iter().enumerate() {
        write_u64(block, 8 * i, word);
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        __m512i, _mm_cvtsi64_si128, _mm_set_epi64x, _mm512_add_epi64, _mm512_alignr_epi64,
        _mm512_and_si512, _mm512_andnot_si512, _mm512_loadu_si512, _mm512_max_epi64,
        _mm512_or_si512, _mm512_set1_epi64, _mm512_setr_epi64, _mm512_setzero_si512,
        _mm512_sll_epi64, _mm512_sllv_epi64, _mm512_srl_epi64, _mm512_srlv_epi64,
        _mm512_storeu_si512, _mm512_sub_epi64, _mm512_zextsi128_si512,
    };

    use super::{Field, WORD_BITS};

    /// Inserts a field into a block of whole cache lines.
    ///
    /// # Safety
    /// The processor has AVX-512.
    // Always inlined, which a function with these instructions cannot be; those below are small
    // enough. In a loop over keys, a call takes longer than the insertion.
    #[inline(always)]
    pub unsafe fn insert(block: &mut [u8], field: Field) {
        let (lines, _) = block.as_chunks_mut();
        let Some((first, others)) = lines.split_first_mut() else {
            return;
        };
        // SAFETY: as for this function.
        let mut moved = unsafe { insert_into_first(first, field) };
        for (line, number) in others.iter_mut().zip(1..) {
            // SAFETY: as for this function.
            moved = unsafe { insert_into_next(line, number, moved, field) };
        }
    }

    /// Inserts a field into the first line of a block and replaces the lowest bits. Returns those bits
    /// of the line that move.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn insert_into_first(line: &mut [u8; 64], field: Field) -> __m512i {
        let (after, moved) = with_field(load(line), 0, _mm512_setzero_si512(), field);
        let after = _mm512_andnot_si512(low_words(field.low_mask), after);
        store(_mm512_or_si512(after, low_words(field.low_bits)), line);
        moved
    }

    /// Does the same with another line, given those bits of the line before it that move.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn insert_into_next(line: &mut [u8; 64], number: i64, below: __m512i, field: Field) -> __m512i {
        let (after, moved) = with_field(load(line), 512 * number, below, field);
        store(after, line);
        moved
    }

    /// Returns a line of a block with the field inserted, and those bits of it that move. `first_bit`
    /// is where the line begins in the block, and `below` are the moving bits of the line before it.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn with_field(
        line: __m512i,
        first_bit: i64,
        below: __m512i,
        field: Field,
    ) -> (__m512i, __m512i) {
        let zero = _mm512_setzero_si512();
        let words = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
        let words = _mm512_add_epi64(words, _mm512_set1_epi64(first_bit));
        // Shifts by 64 or more, and so by negative numbers, give 0.
        let distance = |bit: u32| _mm512_sub_epi64(_mm512_set1_epi64(bit.into()), words);
        let all_from =
            |distance| _mm512_sllv_epi64(_mm512_set1_epi64(-1), _mm512_max_epi64(distance, zero));
        let at = distance(field.at);
        let moves = all_from(at);
        let moved = _mm512_and_si512(line, moves);
        let count = |bits: u32| _mm_cvtsi64_si128(bits.into());
        let carried = _mm512_alignr_epi64::<7>(moved, below);
        let carried = _mm512_srl_epi64(carried, count(WORD_BITS - field.width));
        let up = _mm512_or_si512(_mm512_sll_epi64(moved, count(field.width)), carried);
        // The field is in the word where it begins, and perhaps in the next.
        let value = _mm512_set1_epi64(field.value.cast_signed());
        let inserted = _mm512_or_si512(
            _mm512_sllv_epi64(value, at),
            _mm512_srlv_epi64(value, _mm512_sub_epi64(zero, at)),
        );
        let stays = _mm512_andnot_si512(moves, line);
        let all = _mm512_or_si512(_mm512_or_si512(stays, up), inserted);
        let behind = all_from(distance(field.end));
        (_mm512_andnot_si512(behind, all), moved)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn low_words(bits: u128) -> __m512i {
        let (low, high) = (bits as u64, (bits >> WORD_BITS) as u64);
        _mm512_zextsi128_si512(_mm_set_epi64x(high.cast_signed(), low.cast_signed()))
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load(line: &[u8; 64]) -> __m512i {
        // SAFETY: it reads the 64 bytes of the line, which need not be aligned.
        unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store(bits: __m512i, line: &mut [u8; 64]) {
        // SAFETY: it writes the 64 bytes of the line, which need not be aligned.
        unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), bits) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the bits of a block with the field inserted, one by one.
    fn naive(block: &[u8], field: Field) -> Vec<bool> {
        let bits: Vec<bool> = (0..8 * block.len())
            .map(|i| block[i / 8] >> (i % 8) & 1 == 1)
            .collect();
        let mut result = bits.clone();
        for i in (0..128).filter(|i| field.low_mask >> i & 1 == 1) {
            result[i] = field.low_bits >> i & 1 == 1;
        }
        let (at, width) = (field.at as usize, field.width as usize);
        result.splice(at..at, (0..width).map(|i| field.value >> i & 1 == 1));
        result.truncate(field.end as usize);
        result.resize(bits.len(), false);
        result
    }

    proptest! {
        #[test]
        fn all_forms_insert_like_a_loop_over_bits(
            halves in 1usize..=6, seed in proptest::collection::vec(any::<u8>(), 192), width in 1u32..=57, at: u32, end: u32, value: u64,
            low: u32, low_bits: u128,
        ) {
            prop_assume!(halves == 1 || halves % 2 == 0);
            let block = &seed[..32 * halves];
            let bits = 256 * halves as u32;
            let low = 1 + low % 120;
            let at = low + at % (bits - low - width + 1);
            let end = at + width + end % (bits - at - width + 1);
            let low_mask = (1 << low) - 1;
            let value = value & ((1 << width) - 1);
            let field = Field { at, end, width, value, low_mask, low_bits: low_bits & low_mask };
            for vectors in Vectors::all_detected() {
                let mut inserted = block.to_vec();
                vectors.insert_field(&mut inserted, field);
                let found: Vec<bool> = (0..bits as usize).map(|i| inserted[i / 8] >> (i % 8) & 1 == 1).collect();
                prop_assert_eq!(found, naive(block, field), "{:?}", vectors);
            }
        }
    }
}
