//! A cache line in two registers of 256 bits.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m256i, _mm_add_epi64, _mm_cvtsi64_si128, _mm_cvtsi128_si32, _mm_unpackhi_epi64,
    _mm256_add_epi8, _mm256_and_si256, _mm256_andnot_si256, _mm256_castsi256_pd,
    _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_cmpeq_epi64, _mm256_cmpgt_epi64,
    _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_movemask_pd, _mm256_or_si256,
    _mm256_sad_epu8, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi64x, _mm256_setr_epi8,
    _mm256_setr_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_sllv_epi64,
    _mm256_srl_epi64, _mm256_srli_epi16, _mm256_srli_epi64, _mm256_srlv_epi64, _mm256_storeu_si256,
    _mm256_testz_si256, _mm256_xor_si256,
};

use super::{LineVectors, VectorWork, Vectors, words_of};

/// Proves that the processor has AVX2: Intel since Haswell, AMD since Excavator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx2(());

type Halves = [__m256i; 2];

impl Avx2 {
    #[inline]
    pub fn detected() -> Option<Self> {
        let has_all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt");
        has_all.then_some(Avx2(()))
    }
}

macro_rules! with_avx2 {
    ($($item:item)*) => {
        $(
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
            #[inline]
            $item
        )*
    };
}

with_avx2! {
    fn run(vectors: Avx2, work: impl VectorWork<Avx2>) {
        work.run(vectors);
    }

    fn load(line: &[u8; 64]) -> Halves {
        let (low, high) = line.split_at(32);
        // SAFETY: each reads 32 bytes of the line, which need not be aligned.
        unsafe {
            [
                _mm256_loadu_si256(low.as_ptr().cast()),
                _mm256_loadu_si256(high.as_ptr().cast()),
            ]
        }
    }

    fn store(bits: Halves, line: &mut [u8; 64]) {
        let (low, high) = line.split_at_mut(32);
        // SAFETY: each writes 32 bytes of the line, which need not be aligned.
        unsafe {
            _mm256_storeu_si256(low.as_mut_ptr().cast(), bits[0]);
            _mm256_storeu_si256(high.as_mut_ptr().cast(), bits[1]);
        }
    }

    fn and(one: Halves, other: Halves) -> Halves {
        [
            _mm256_and_si256(one[0], other[0]),
            _mm256_and_si256(one[1], other[1]),
        ]
    }

    fn or(one: Halves, other: Halves) -> Halves {
        [
            _mm256_or_si256(one[0], other[0]),
            _mm256_or_si256(one[1], other[1]),
        ]
    }

    fn without(bits: Halves, removed: Halves) -> Halves {
        [
            _mm256_andnot_si256(removed[0], bits[0]),
            _mm256_andnot_si256(removed[1], bits[1]),
        ]
    }

    fn is_zero(bits: Halves) -> bool {
        let either = _mm256_or_si256(bits[0], bits[1]);
        _mm256_testz_si256(either, either) == 1
    }

    fn count(bits: Halves) -> u32 {
        let counts = _mm256_add_epi8(byte_counts(bits[0]), byte_counts(bits[1]));
        let sums = _mm256_sad_epu8(counts, _mm256_setzero_si256());
        let high = _mm256_extracti128_si256::<1>(sums);
        let sums = _mm_add_epi64(_mm256_castsi256_si128(sums), high);
        _mm_cvtsi128_si32(_mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums))) as u32
    }

    fn has_word_above(bits: Halves, most: u32) -> bool {
        let most = _mm256_set1_epi64x(i64::from(most));
        let above = bits.map(|half| {
            let counts = _mm256_sad_epu8(byte_counts(half), _mm256_setzero_si256());
            _mm256_cmpgt_epi64(counts, most)
        });
        !is_zero(above)
    }

    /// Counts the set bits of each byte, by a table of those of four bits.
    fn byte_counts(bits: __m256i) -> __m256i {
        let table = _mm256_setr_epi8(
            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
        );
        let low_bits = _mm256_set1_epi8(15);
        let low = _mm256_and_si256(bits, low_bits);
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bits), low_bits);
        _mm256_add_epi8(
            _mm256_shuffle_epi8(table, low),
            _mm256_shuffle_epi8(table, high),
        )
    }

    fn zero() -> Halves {
        [_mm256_setzero_si256(); 2]
    }

    fn splat(number: u64) -> Halves {
        [_mm256_set1_epi64x(number.cast_signed()); 2]
    }

    /// Returns the bit whose position is in the nine bits of every lane from `shift` on.
    fn bit_at(number: Halves, shift: u32) -> Halves {
        shifted_to(1, number, shift, 511)
    }

    fn one_per_word(count: u32, number: u64) -> Halves {
        let words = _mm256_set1_epi64x(i64::from(words_of(count, number)));
        let half = |shifts: __m256i, bits_of_words: __m256i| {
            let positions = _mm256_srlv_epi64(splat(number)[0], shifts);
            let positions = _mm256_and_si256(positions, _mm256_set1_epi64x(63));
            let chosen = _mm256_cmpeq_epi64(_mm256_and_si256(words, bits_of_words), bits_of_words);
            _mm256_sllv_epi64(_mm256_srli_epi64::<63>(chosen), positions)
        };
        [
            half(_mm256_setr_epi64x(58, 52, 46, 40), _mm256_setr_epi64x(1, 2, 4, 8)),
            half(_mm256_setr_epi64x(34, 28, 22, 16), _mm256_setr_epi64x(16, 32, 64, 128)),
        ]
    }

    fn words_in_use(bits: Halves) -> u32 {
        let unused = bits.map(|half| {
            let is_zero = _mm256_cmpeq_epi64(half, _mm256_setzero_si256());
            _mm256_movemask_pd(_mm256_castsi256_pd(is_zero)).count_ones()
        });
        8 - unused[0] - unused[1]
    }

    /// Returns the four bits whose position is in the seven bits of every lane from `shift` + 2 on.
    fn cell_at(number: Halves, shift: u32) -> Halves {
        shifted_to(15, number, shift, 508)
    }

    /// Returns a pattern at the position that is in the `mask` bits of every lane from `shift` on.
    /// In a lane other than the pattern's own, the position differs from the lane's by 64 or more,
    /// and such a shift gives 0.
    fn shifted_to(pattern: i64, number: Halves, shift: u32, mask: i64) -> Halves {
        let position = _mm256_srl_epi64(number[0], _mm_cvtsi64_si128(i64::from(shift)));
        let position = _mm256_and_si256(position, _mm256_set1_epi64x(mask));
        let low_lanes = _mm256_setr_epi64x(0, 64, 128, 192);
        let high_lanes = _mm256_setr_epi64x(256, 320, 384, 448);
        [
            shifted(pattern, _mm256_xor_si256(position, low_lanes)),
            shifted(pattern, _mm256_xor_si256(position, high_lanes)),
        ]
    }

    fn cells_in(bits: Halves, values: u16) -> Halves {
        // The bit of each value, in the byte of its number.
        let bit_of_value = _mm256_set1_epi64x(0x8040_2010_0804_0201u64.cast_signed());
        let byte_of_value = _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0, 0x0101_0101_0101_0101);
        let table = _mm256_shuffle_epi8(_mm256_set1_epi16(values.cast_signed()), byte_of_value);
        let table = _mm256_cmpeq_epi8(_mm256_and_si256(table, bit_of_value), bit_of_value);
        let low_bits = _mm256_set1_epi8(15);
        bits.map(|half| {
            let low = _mm256_and_si256(half, low_bits);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(half), low_bits);
            let low = _mm256_and_si256(_mm256_shuffle_epi8(table, low), low_bits);
            let high = _mm256_andnot_si256(low_bits, _mm256_shuffle_epi8(table, high));
            _mm256_or_si256(low, high)
        })
    }

    /// Shifts a pattern to the left in each lane. The compiler would add comparisons to the intrinsic,
    /// whose result for large shifts it does not take from the processor.
    fn shifted(pattern: i64, by: __m256i) -> __m256i {
        let pattern = _mm256_set1_epi64x(pattern);
        let shifted: __m256i;
        // SAFETY: the instruction only computes its result; AVX2 is enabled here.
        unsafe {
            std::arch::asm!(
                "vpsllvq {}, {}, {}",
                lateout(ymm_reg) shifted,
                in(ymm_reg) pattern,
                in(ymm_reg) by,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        shifted
    }
}

implement_line_vectors!(Avx2, Halves);

impl From<Avx2> for Vectors {
    #[inline(always)]
    fn from(vectors: Avx2) -> Self {
        Vectors::Avx2(vectors)
    }
}
