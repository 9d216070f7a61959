//! A cache line in four registers of 128 bits.
#![allow(unsafe_code)]

use std::arch::aarch64::{
    uint8x16_t, uint64x2_t, vaddlvq_u8, vaddq_u8, vaddq_u64, vaddvq_u64, vandq_u8, vandq_u64,
    vbicq_u64, vbslq_u8, vceqq_u64, vcntq_u8, vcombine_u8, vcombine_u64, vcreate_u8, vcreate_u64,
    vdup_n_u8, vdupq_n_s64, vdupq_n_u8, vdupq_n_u64, vld1q_u8, vmaxvq_u8, vmaxvq_u32, vorrq_u64,
    vpaddq_u8, vqtbl1q_u8, vreinterpretq_s64_u64, vreinterpretq_u8_u64, vreinterpretq_u32_u64,
    vreinterpretq_u64_u8, vshlq_u64, vshrq_n_u8, vst1q_u8, vtstq_u8, vtstq_u64,
};

use super::{LineVectors, VectorWork, Vectors, words_of};

/// Proves that the processor has NEON, as nearly every 64-bit ARM has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neon(());

type Quarters = [uint64x2_t; 4];

impl Neon {
    /// Returns None for big-endian programs, which number the lanes of a register in another order,
    /// and in Miri, which does not know all instructions.
    #[inline]
    pub fn detected() -> Option<Self> {
        let is_usable = cfg!(all(target_endian = "little", not(miri)));
        (is_usable && std::arch::is_aarch64_feature_detected!("neon")).then_some(Neon(()))
    }
}

macro_rules! with_neon {
    ($($item:item)*) => {
        $(
            #[target_feature(enable = "neon")]
            #[inline]
            $item
        )*
    };
}

with_neon! {
    fn run(vectors: Neon, work: impl VectorWork<Neon>) {
        work.run(vectors);
    }

    fn load(line: &[u8; 64]) -> Quarters {
        let (quarters, _) = line.as_chunks::<16>();
        let load = |index: usize| {
            // SAFETY: it reads 16 bytes of the line, which need not be aligned.
            vreinterpretq_u64_u8(unsafe { vld1q_u8(quarters[index].as_ptr()) })
        };
        [load(0), load(1), load(2), load(3)]
    }

    fn store(bits: Quarters, line: &mut [u8; 64]) {
        let (quarters, _) = line.as_chunks_mut::<16>();
        for (bits, quarter) in bits.into_iter().zip(quarters) {
            // SAFETY: it writes 16 bytes of the line, which need not be aligned.
            unsafe { vst1q_u8(quarter.as_mut_ptr(), vreinterpretq_u8_u64(bits)) }
        }
    }

    fn and(one: Quarters, other: Quarters) -> Quarters {
        [
            vandq_u64(one[0], other[0]),
            vandq_u64(one[1], other[1]),
            vandq_u64(one[2], other[2]),
            vandq_u64(one[3], other[3]),
        ]
    }

    fn or(one: Quarters, other: Quarters) -> Quarters {
        [
            vorrq_u64(one[0], other[0]),
            vorrq_u64(one[1], other[1]),
            vorrq_u64(one[2], other[2]),
            vorrq_u64(one[3], other[3]),
        ]
    }

    fn without(bits: Quarters, removed: Quarters) -> Quarters {
        [
            vbicq_u64(bits[0], removed[0]),
            vbicq_u64(bits[1], removed[1]),
            vbicq_u64(bits[2], removed[2]),
            vbicq_u64(bits[3], removed[3]),
        ]
    }

    fn is_zero(bits: Quarters) -> bool {
        let any = vorrq_u64(vorrq_u64(bits[0], bits[1]), vorrq_u64(bits[2], bits[3]));
        vmaxvq_u32(vreinterpretq_u32_u64(any)) == 0
    }

    fn count(bits: Quarters) -> u32 {
        let [a, b, c, d] = byte_counts(bits);
        u32::from(vaddlvq_u8(vaddq_u8(vaddq_u8(a, b), vaddq_u8(c, d))))
    }

    fn has_word_above(bits: Quarters, most: u32) -> bool {
        let [a, b, c, d] = byte_counts(bits);
        // Three times, neighbours are added: at the end, there is a byte for each word, twice.
        let pairs = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
        u32::from(vmaxvq_u8(vpaddq_u8(pairs, pairs))) > most
    }

    /// Counts the set bits of each byte.
    fn byte_counts(bits: Quarters) -> [uint8x16_t; 4] {
        bits.map(|quarter| vcntq_u8(vreinterpretq_u8_u64(quarter)))
    }

    fn zero() -> Quarters {
        [vdupq_n_u64(0); 4]
    }

    fn splat(number: u64) -> Quarters {
        [vdupq_n_u64(number); 4]
    }

    /// Returns a different number in each of the two lanes.
    fn pair(low: u64, high: u64) -> uint64x2_t {
        vcombine_u64(vcreate_u64(low), vcreate_u64(high))
    }

    /// Returns the bit whose position is in the nine bits of every lane from `shift` on.
    fn bit_at(number: Quarters, shift: u32) -> Quarters {
        shifted_to(1, number, shift, 63)
    }

    fn one_per_word(count: u32, number: u64) -> Quarters {
        let words = vdupq_n_u64(words_of(count, number).into());
        let quarter = |first: u64| {
            // Negative distances shift to the right.
            let distances = pair((6 * first).wrapping_sub(58), (6 * first).wrapping_sub(52));
            let positions = vshlq_u64(vdupq_n_u64(number), vreinterpretq_s64_u64(distances));
            let positions = vandq_u64(positions, vdupq_n_u64(63));
            let bits = vshlq_u64(vdupq_n_u64(1), vreinterpretq_s64_u64(positions));
            vandq_u64(bits, vtstq_u64(words, pair(1 << first, 2 << first)))
        };
        [quarter(0), quarter(2), quarter(4), quarter(6)]
    }

    fn words_in_use(bits: Quarters) -> u32 {
        // All ones, which is -1, for each such word.
        let [a, b, c, d] = bits.map(|quarter| vtstq_u64(quarter, quarter));
        let sum = vaddvq_u64(vaddq_u64(vaddq_u64(a, b), vaddq_u64(c, d)));
        sum.wrapping_neg() as u32
    }

    /// Returns the four bits whose position is in the seven bits of every lane from `shift` + 2 on.
    fn cell_at(number: Quarters, shift: u32) -> Quarters {
        shifted_to(15, number, shift, 60)
    }

    /// Returns a pattern at the position that is in every lane from `shift` on. The `mask` bits of
    /// it are the place in a word, the bits from 6 to 8 are the word. Every lane shifts the pattern
    /// to the place, and those of other words are emptied. A shift by the position xor 64 times the
    /// lane's number, as for AVX2, would not give 0 there: the instruction takes only the lowest
    /// byte of a distance, as a signed number.
    fn shifted_to(pattern: u64, number: Quarters, shift: u32, mask: u64) -> Quarters {
        let position = vshlq_u64(number[0], vdupq_n_s64(-i64::from(shift)));
        let place = vandq_u64(position, vdupq_n_u64(mask));
        let shifted = vshlq_u64(vdupq_n_u64(pattern), vreinterpretq_s64_u64(place));
        let word = vandq_u64(position, vdupq_n_u64(7 << 6));
        let quarter = |first: u64| {
            let is_own = vceqq_u64(word, pair(first << 6, (first + 1) << 6));
            vandq_u64(shifted, is_own)
        };
        [quarter(0), quarter(2), quarter(4), quarter(6)]
    }

    fn cells_in(bits: Quarters, values: u16) -> Quarters {
        // The bit of each value, in the byte of its number.
        let bit_of_value = vcreate_u8(0x8040_2010_0804_0201);
        let [low_values, high_values] = values.to_le_bytes().map(|byte| vdup_n_u8(byte));
        let table = vtstq_u8(
            vcombine_u8(low_values, high_values),
            vcombine_u8(bit_of_value, bit_of_value),
        );
        let low_bits = vdupq_n_u8(15);
        bits.map(|quarter| {
            let cells = vreinterpretq_u8_u64(quarter);
            let low = vqtbl1q_u8(table, vandq_u8(cells, low_bits));
            let high = vqtbl1q_u8(table, vshrq_n_u8::<4>(cells));
            vreinterpretq_u64_u8(vbslq_u8(low_bits, low, high))
        })
    }
}

implement_line_vectors!(Neon, Quarters);

impl From<Neon> for Vectors {
    #[inline(always)]
    fn from(vectors: Neon) -> Self {
        Vectors::Neon(vectors)
    }
}
