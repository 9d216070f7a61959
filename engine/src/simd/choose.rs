//! Chooses the numbers that are in an interval.
#![allow(unsafe_code)]

use super::Vectors;

/// All numbers from `first` to `first` + `length_minus_one`.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// The smallest number.
    pub first: u64,
    /// One less than how many numbers there are, which may be 2^64.
    pub length_minus_one: u64,
}

impl Interval {
    #[inline(always)]
    fn contains(self, number: u64) -> bool {
        number.wrapping_sub(self.first) <= self.length_minus_one
    }
}

/// Numbers that were chosen, with their positions. The memory is used again.
#[derive(Debug, Default)]
pub struct Chosen {
    numbers: Vec<u64>,
    positions: Vec<u32>,
    count: usize,
}

/// So many numbers are compared at a time.
const TOGETHER: usize = 8;

impl Chosen {
    /// Returns the numbers that were chosen, in order, and the position of each.
    #[inline(always)]
    pub fn get(&self) -> (&[u64], &[u32]) {
        (&self.numbers[..self.count], &self.positions[..self.count])
    }

    /// Chooses among the numbers of at most 2^32 items. No branch depends on a number.
    pub fn choose<T>(
        &mut self,
        vectors: Vectors,
        items: &[T],
        number_of: impl Fn(&T) -> u64,
        interval: Interval,
    ) {
        // What is chosen last is written with what follows it.
        let room = items.len() + TOGETHER;
        if self.numbers.len() < room {
            self.numbers.resize(room, 0);
            self.positions.resize(room, 0);
        }
        self.count = 0;
        let rest = match vectors {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the value proves that the processor has AVX-512.
            Vectors::Avx512(_) => unsafe { choose_eights(self, items, &number_of, interval) },
            _ => 0,
        };
        for (position, item) in items.iter().enumerate().skip(rest) {
            let number = number_of(item);
            self.numbers[self.count] = number;
            self.positions[self.count] = position as u32;
            self.count += usize::from(interval.contains(number));
        }
    }
}

/// Chooses among eight numbers at a time. Returns the position of those that are left.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,popcnt")]
fn choose_eights<T>(
    chosen: &mut Chosen,
    items: &[T],
    number_of: &impl Fn(&T) -> u64,
    interval: Interval,
) -> usize {
    use std::arch::x86_64::{
        _mm256_add_epi32, _mm256_maskz_compress_epi32, _mm256_set1_epi32, _mm256_setr_epi32,
        _mm256_storeu_si256, _mm512_cmple_epu64_mask, _mm512_loadu_si512,
        _mm512_maskz_compress_epi64, _mm512_set1_epi64, _mm512_storeu_si512, _mm512_sub_epi64,
    };
    let first = _mm512_set1_epi64(interval.first.cast_signed());
    let most = _mm512_set1_epi64(interval.length_minus_one.cast_signed());
    let mut positions = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let (eights, _) = items.as_chunks::<TOGETHER>();
    for eight in eights {
        let numbers: [u64; TOGETHER] = std::array::from_fn(|index| number_of(&eight[index]));
        // SAFETY: it reads the 64 bytes of the array, which need not be aligned.
        let numbers = unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) };
        let mask = _mm512_cmple_epu64_mask(_mm512_sub_epi64(numbers, first), most);
        let room = chosen.count..chosen.count + TOGETHER;
        let (to_numbers, to_positions) = (
            &mut chosen.numbers[room.clone()],
            &mut chosen.positions[room],
        );
        // SAFETY: each writes the bytes of eight elements, which need not be aligned.
        unsafe {
            _mm512_storeu_si512(
                to_numbers.as_mut_ptr().cast(),
                _mm512_maskz_compress_epi64(mask, numbers),
            );
            _mm256_storeu_si256(
                to_positions.as_mut_ptr().cast(),
                _mm256_maskz_compress_epi32(mask, positions),
            );
        }
        chosen.count += mask.count_ones() as usize;
        positions = _mm256_add_epi32(positions, _mm256_set1_epi32(TOGETHER as i32));
    }
    eights.len() * TOGETHER
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_forms_choose_like_a_filter_of_an_iterator(
            numbers in proptest::collection::vec(any::<u64>(), 0..100), first: u64, length: u64, shift in 0u32..64,
        ) {
            let interval = Interval { first, length_minus_one: length >> shift };
            let is_chosen = |number: u64| number.wrapping_sub(first) <= length >> shift;
            let expected: (Vec<u64>, Vec<u32>) = numbers
                .iter()
                .enumerate()
                .filter(|&(_, &number)| is_chosen(number))
                .map(|(position, &number)| (number, position as u32))
                .unzip();
            for vectors in Vectors::all_detected() {
                let mut chosen = Chosen::default();
                // Memory that was used before makes no difference.
                for _ in 0..2 {
                    chosen.choose(vectors, &numbers, |&number| number, interval);
                    let found = chosen.get();
                    prop_assert_eq!((found.0.to_vec(), found.1.to_vec()), expected.clone());
                }
            }
        }
    }
}
