//! Comparisons and sums of sixteen numbers at once.
#![allow(unsafe_code)]

use super::Vectors;

impl Vectors {
    /// Returns a number whose bit i is set if number i is at most a bound.
    #[inline(always)]
    pub fn at_most(self, numbers: &[u32; 16], bound: u32) -> u32 {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the value proves that the processor has the instructions.
            Vectors::Avx512(_) => unsafe { avx512::at_most(numbers, bound) },
            _ => {
                let bits = numbers.iter().zip(0..);
                bits.fold(0, |mask, (&it, i)| mask | u32::from(it <= bound) << i)
            }
        }
    }

    /// Returns which of 16 weights contains a number, and the sum of the weights before it: the
    /// numbers below the first weight belong to the first, and so on. The last weight is never used.
    #[inline(always)]
    pub fn place_of(self, weights: &[u64; 16], number: u64) -> (usize, u64) {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the value proves that the processor has the instructions.
            Vectors::Avx512(_) => unsafe { avx512::place_of(weights, number) },
            _ => portable_place_of(weights, number),
        }
    }
}

/// First the quarter is found, then the place in it: short chains of additions, and no branch,
/// because none could be predicted.
#[inline(always)]
fn portable_place_of(weights: &[u64; 16], number: u64) -> (usize, u64) {
    let weight = |i: usize| weights[i % weights.len()];
    let pair = |i: usize| weight(i).wrapping_add(weight(i + 1));
    let quarter = |i: usize| pair(i).wrapping_add(pair(i + 2));
    let one = quarter(0);
    let two = one.wrapping_add(quarter(4));
    let three = two.wrapping_add(quarter(8));
    let (at, start) = chosen(number, [one, two, three]);
    let first = 4 * at;
    let one = start.wrapping_add(weight(first));
    let two = one.wrapping_add(weight(first + 1));
    let three = two.wrapping_add(weight(first + 2));
    let (at, before) = chosen(number, [one, two, three]);
    let before = if at == 0 { start } else { before };
    (first + at, before)
}

/// Returns how many of three growing sums are at most a number, and the last of those, or 0.
#[inline(always)]
fn chosen(number: u64, sums: [u64; 3]) -> (usize, u64) {
    let (mut count, mut last) = (0, 0);
    for sum in sums {
        let passes = sum <= number;
        count += usize::from(passes);
        last = if passes { sum } else { last };
    }
    (count, last)
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi64, _mm512_alignr_epi64, _mm512_cmple_epu32_mask,
        _mm512_cmple_epu64_mask, _mm512_loadu_si512, _mm512_permutexvar_epi64, _mm512_set1_epi32,
        _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_si512,
    };

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn at_most(numbers: &[u32; 16], bound: u32) -> u32 {
        // SAFETY: it reads the 64 bytes of the numbers.
        let numbers = unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) };
        _mm512_cmple_epu32_mask(numbers, _mm512_set1_epi32(bound.cast_signed())).into()
    }

    #[target_feature(enable = "avx512f,popcnt")]
    #[inline]
    pub fn place_of(weights: &[u64; 16], number: u64) -> (usize, u64) {
        let at = weights.as_ptr();
        // SAFETY: they read the 128 bytes of the weights.
        let (low, high) =
            unsafe { (_mm512_loadu_si512(at.cast()), _mm512_loadu_si512(at.add(8).cast())) };
        let low = sums(low);
        let all_low = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), low);
        let high = _mm512_add_epi64(sums(high), all_low);
        let number = _mm512_set1_epi64(number.cast_signed());
        let passed = u32::from(_mm512_cmple_epu64_mask(low, number))
            | u32::from(_mm512_cmple_epu64_mask(high, number)) << 8;
        let count = (passed & 0x7fff).count_ones() as usize;
        // Before the first weight the sum is 0.
        let mut all = [0u64; 24];
        let at = all.as_mut_ptr();
        // SAFETY: they write 128 of the 192 bytes.
        unsafe {
            _mm512_storeu_si512(at.add(8).cast(), low);
            _mm512_storeu_si512(at.add(16).cast(), high);
        }
        (count, all[count + 7])
    }

    /// Returns the sums of the first, of the first two, … of all eight numbers.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn sums(numbers: __m512i) -> __m512i {
        let zero = _mm512_setzero_si512();
        let pairs = _mm512_add_epi64(numbers, _mm512_alignr_epi64::<7>(numbers, zero));
        let fours = _mm512_add_epi64(pairs, _mm512_alignr_epi64::<6>(pairs, zero));
        _mm512_add_epi64(fours, _mm512_alignr_epi64::<4>(fours, zero))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_forms_compare_and_add_like_a_loop(
            numbers: [u32; 16], small in proptest::array::uniform16(0u32..4), which: u8, share in 0.0..1.0,
        ) {
            for numbers in [numbers, small] {
                let weights = numbers.map(u64::from);
                let total: u64 = weights.iter().sum();
                let number = (share * total as f64) as u64;
                let bound = numbers[usize::from(which) % 16];
                let expected = (0..16).filter(|&i| numbers[i] <= bound).map(|i| 1 << i).sum();
                let (mut place, mut before) = (0, 0);
                while place < 15 && before + weights[place] <= number {
                    before += weights[place];
                    place += 1;
                }
                for vectors in Vectors::all_detected() {
                    prop_assert_eq!(vectors.at_most(&numbers, bound), expected);
                    prop_assert_eq!(vectors.place_of(&weights, number), (place, before));
                }
            }
        }
    }
}
