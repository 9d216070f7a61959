//! A cache line in one register of 512 bits.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m512i, _mm_cvtsi64_si128, _mm_cvtsi128_si32, _mm_movm_epi8, _mm_sad_epu8, _mm_setzero_si128,
    _mm512_and_si512, _mm512_andnot_si512, _mm512_broadcast_i32x4, _mm512_cmpgt_epu64_mask,
    _mm512_cvtepi64_epi8, _mm512_loadu_si512, _mm512_maskz_sllv_epi64, _mm512_or_si512,
    _mm512_popcnt_epi64, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_setr_epi64,
    _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_srl_epi64, _mm512_srli_epi16,
    _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_test_epi64_mask, _mm512_xor_si512,
};

use super::{LineVectors, VectorWork, Vectors, words_of};

/// Proves that the processor has AVX-512 with VPOPCNTDQ: Intel since Ice Lake, AMD since Zen 4.
/// These do not lower their frequency for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx512(());

impl Avx512 {
    #[inline]
    pub fn detected() -> Option<Self> {
        let has_all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt");
        has_all.then_some(Avx512(()))
    }
}

macro_rules! with_avx512 {
    ($($item:item)*) => {
        $(
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
            #[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
            #[inline]
            $item
        )*
    };
}

with_avx512! {
    fn run(vectors: Avx512, work: impl VectorWork<Avx512>) {
        work.run(vectors);
    }

    fn load(line: &[u8; 64]) -> __m512i {
        // SAFETY: it reads the 64 bytes of the line, which need not be aligned.
        unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
    }

    fn store(bits: __m512i, line: &mut [u8; 64]) {
        // SAFETY: it writes the 64 bytes of the line, which need not be aligned.
        unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), bits) }
    }

    fn and(one: __m512i, other: __m512i) -> __m512i {
        _mm512_and_si512(one, other)
    }

    fn or(one: __m512i, other: __m512i) -> __m512i {
        _mm512_or_si512(one, other)
    }

    fn without(bits: __m512i, removed: __m512i) -> __m512i {
        _mm512_andnot_si512(removed, bits)
    }

    fn is_zero(bits: __m512i) -> bool {
        _mm512_test_epi64_mask(bits, bits) == 0
    }

    fn count(bits: __m512i) -> u32 {
        let counts = _mm512_cvtepi64_epi8(_mm512_popcnt_epi64(bits));
        _mm_cvtsi128_si32(_mm_sad_epu8(counts, _mm_setzero_si128())) as u32
    }

    fn has_word_above(bits: __m512i, most: u32) -> bool {
        let counts = _mm512_popcnt_epi64(bits);
        _mm512_cmpgt_epu64_mask(counts, _mm512_set1_epi64(i64::from(most))) != 0
    }

    fn zero() -> __m512i {
        _mm512_setzero_si512()
    }

    fn splat(number: u64) -> __m512i {
        _mm512_set1_epi64(number.cast_signed())
    }

    /// Returns the bit whose position is in the nine bits of every lane from `shift` on.
    fn bit_at(number: __m512i, shift: u32) -> __m512i {
        shifted_to(1, number, shift, 511)
    }

    fn one_per_word(count: u32, number: u64) -> __m512i {
        let shifts = _mm512_setr_epi64(58, 52, 46, 40, 34, 28, 22, 16);
        let positions = _mm512_srlv_epi64(splat(number), shifts);
        let positions = _mm512_and_si512(positions, splat(63));
        _mm512_maskz_sllv_epi64(words_of(count, number), splat(1), positions)
    }

    fn words_in_use(bits: __m512i) -> u32 {
        u32::from(_mm512_test_epi64_mask(bits, bits)).count_ones()
    }

    /// Returns the four bits whose position is in the seven bits of every lane from `shift` + 2 on.
    fn cell_at(number: __m512i, shift: u32) -> __m512i {
        shifted_to(15, number, shift, 508)
    }

    /// Returns a pattern at the position that is in the `mask` bits of every lane from `shift` on.
    /// In a lane other than the pattern's own, the position differs from the lane's by 64 or more,
    /// and such a shift gives 0.
    fn shifted_to(pattern: i64, number: __m512i, shift: u32, mask: i64) -> __m512i {
        let lanes = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
        let position = _mm512_srl_epi64(number, _mm_cvtsi64_si128(i64::from(shift)));
        let position = _mm512_and_si512(position, _mm512_set1_epi64(mask));
        shifted(pattern, _mm512_xor_si512(position, lanes))
    }

    fn cells_in(bits: __m512i, values: u16) -> __m512i {
        let table = _mm512_broadcast_i32x4(_mm_movm_epi8(values));
        let low_bits = _mm512_set1_epi8(15);
        let low = _mm512_and_si512(bits, low_bits);
        let high = _mm512_and_si512(_mm512_srli_epi16::<4>(bits), low_bits);
        let low = _mm512_and_si512(_mm512_shuffle_epi8(table, low), low_bits);
        let high = _mm512_andnot_si512(low_bits, _mm512_shuffle_epi8(table, high));
        _mm512_or_si512(low, high)
    }

    /// Shifts a pattern to the left in each lane. The compiler would add comparisons to the intrinsic,
    /// whose result for large shifts it does not take from the processor.
    fn shifted(pattern: i64, by: __m512i) -> __m512i {
        let pattern = _mm512_set1_epi64(pattern);
        let shifted: __m512i;
        // SAFETY: the instruction only computes its result; AVX-512 is enabled here.
        unsafe {
            std::arch::asm!(
                "vpsllvq {}, {}, {}",
                lateout(zmm_reg) shifted,
                in(zmm_reg) pattern,
                in(zmm_reg) by,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        shifted
    }
}

implement_line_vectors!(Avx512, __m512i);

impl From<Avx512> for Vectors {
    #[inline(always)]
    fn from(vectors: Avx512) -> Self {
        Vectors::Avx512(vectors)
    }
}
