//! Finds a set bit of a word by its rank.
#![allow(unsafe_code)]

use super::Vectors;

impl Vectors {
    /// Returns the position of the set bit number `rank`, counted from 0. The word has more than
    /// `rank` set bits.
    ///
    /// One instruction moves a bit to the set bit of its rank. Processors with AVX-512 execute it in
    /// a few cycles; some of those with AVX2 only take a hundred.
    #[inline(always)]
    pub fn select(self, word: u64, rank: u32) -> u32 {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the value proves that the processor has the instructions, among them BMI2.
            Vectors::Avx512(_) => unsafe { deposited(word, rank) },
            _ => portable_select(word, rank),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2")]
#[inline]
fn deposited(word: u64, rank: u32) -> u32 {
    std::arch::x86_64::_pdep_u64(1 << rank, word).trailing_zeros()
}

/// Counts the set bits of bytes, then looks up the position in one of them.
#[inline(always)]
fn portable_select(word: u64, rank: u32) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = ONES << 7;
    // The number of set bits in each byte, then in each byte and all lower ones.
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    let sums = ((fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(ONES);
    // The top bit of each byte whose sum is above the rank.
    let reached = ((sums | TOPS) - ONES * u64::from(rank + 1)) & TOPS;
    let byte = reached.trailing_zeros() & !7;
    let before = (sums << 8 >> byte) as u8;
    let rest = (word >> byte) as u8;
    byte + u32::from(SELECT_IN_BYTE[(rank - u32::from(before)) as usize & 7][rest as usize])
}

/// The position of the set bit number r of each byte, by r. A loop would take a different number of
/// steps each time, which a processor cannot predict.
static SELECT_IN_BYTE: [[u8; 256]; 8] = {
    let mut table = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut rank) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[rank][byte] = bit as u8;
                rank += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn select_agrees_with_a_search_bit_by_bit(word: u64, sparse: u64) {
            for word in [word, word & sparse, word | sparse, u64::MAX] {
                let bits = (0..64).filter(|bit| word >> bit & 1 == 1);
                for (rank, bit) in bits.enumerate() {
                    for vectors in Vectors::all_detected() {
                        prop_assert_eq!(vectors.select(word, rank as u32), bit);
                    }
                }
            }
        }
    }
}
