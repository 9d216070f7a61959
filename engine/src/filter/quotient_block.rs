//! One block of a quotient table: 64 slots with their metadata, in bytes.
//!
//! ```text
//! byte 0        1             9             17
//!      offset   64 occupied   64 run ends   64 remainders of `width` bits, packed
//! ```
//!
//! *Occupied* bit i says that some key has the quotient 64·block + i. *Run end* bit i says that slot
//! i of this block holds the last remainder of a run. The *offset* is the number of slots, counted
//! from the first slot of the block, that the runs of all earlier quotients reach into it and beyond
//! it; 255 stands for 255 and more.
//!
//! The remainders of a block are exactly `width` words of 64 bits, so that slots are moved by whole
//! words. Functions here take the bytes of several blocks and the number of one of them.

use crate::bytes::{read_u64, write_u64};

/// The number of slots of a block.
pub(super) const SLOTS: u64 = 64;
/// An offset of at least this is stored as this.
pub(super) const LONG_OFFSET: u8 = u8::MAX;
/// The largest width of a remainder: one that starts at any bit of a byte fits into eight bytes.
pub(super) const MAX_WIDTH_BITS: u32 = 57;

const OCCUPIED_AT: usize = 1;
const ENDS_AT: usize = 9;
const REMAINDERS_AT: usize = 17;
const WORD_BITS: u32 = u64::BITS;

/// Where the parts of a block are, for remainders of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// The number of bits of a remainder, from 1 to [`MAX_WIDTH_BITS`].
    pub width_bits: u32,
}

impl Blocks {
    /// Returns the size of a block.
    #[inline(always)]
    pub fn bytes(self) -> usize {
        REMAINDERS_AT + 8 * self.width_bits as usize
    }

    #[inline(always)]
    fn start(self, block: u64) -> usize {
        block as usize * self.bytes()
    }

    /// Returns the byte of the offset, which is the first of the block.
    #[inline(always)]
    pub fn offset_at(self, block: u64) -> usize {
        self.start(block)
    }

    /// Returns the first byte of the occupied bits.
    #[inline(always)]
    pub fn occupied_at(self, block: u64) -> usize {
        self.start(block) + OCCUPIED_AT
    }

    /// Returns the first byte of the run ends.
    #[inline(always)]
    pub fn ends_at(self, block: u64) -> usize {
        self.start(block) + ENDS_AT
    }

    /// Returns the first bit of a slot.
    #[inline(always)]
    pub fn slot_bit(self, slot: u64) -> u64 {
        let first = 8 * (self.start(slot / SLOTS) + REMAINDERS_AT) as u64;
        first + slot % SLOTS * u64::from(self.width_bits)
    }

    /// Returns the occupied bits of a block.
    #[inline(always)]
    pub fn occupied(self, bytes: &[u8], block: u64) -> u64 {
        read_u64(bytes, self.occupied_at(block))
    }

    /// Returns the run ends of a block.
    #[inline(always)]
    pub fn ends(self, bytes: &[u8], block: u64) -> u64 {
        read_u64(bytes, self.ends_at(block))
    }

    /// Sets or clears the occupied bit of a quotient.
    #[inline(always)]
    pub fn set_occupied(self, bytes: &mut [u8], quotient: u64, value: bool) {
        set_bit_at(bytes, self.occupied_at(quotient / SLOTS), quotient, value);
    }

    /// Sets or clears the run end of a slot.
    #[inline(always)]
    pub fn set_end(self, bytes: &mut [u8], slot: u64, value: bool) {
        set_bit_at(bytes, self.ends_at(slot / SLOTS), slot, value);
    }

    /// Whether a slot holds the last remainder of a run.
    #[inline(always)]
    pub fn is_end(self, bytes: &[u8], slot: u64) -> bool {
        self.ends(bytes, slot / SLOTS) >> (slot % SLOTS) & 1 == 1
    }

    #[inline(always)]
    fn mask(self) -> u64 {
        (1 << self.width_bits) - 1
    }

    /// Returns eight bytes that contain a slot, and its first bit in them.
    #[inline(always)]
    fn window(self, length: usize, slot: u64) -> (usize, u32) {
        let bit = self.slot_bit(slot);
        // At the end of the bytes the window is moved back to stay inside.
        let at = ((bit / 8) as usize).min(length - 8);
        (at, (bit - 8 * at as u64) as u32)
    }

    /// Returns the remainder in a slot.
    #[inline(always)]
    pub fn remainder(self, bytes: &[u8], slot: u64) -> u64 {
        let (at, shift) = self.window(bytes.len(), slot);
        read_u64(bytes, at) >> shift & self.mask()
    }

    /// Writes the remainder of a slot.
    #[inline(always)]
    pub fn set_remainder(self, bytes: &mut [u8], slot: u64, remainder: u64) {
        let (at, shift) = self.window(bytes.len(), slot);
        let others = read_u64(bytes, at) & !(self.mask() << shift);
        write_u64(bytes, at, others | remainder << shift);
    }

    /// Moves the slots `first..free` up by one and puts a remainder and its run end into `first`.
    /// `free` is overwritten.
    #[inline(always)]
    pub fn insert(self, bytes: &mut [u8], first: u64, free: u64, remainder: u64, is_end: bool) {
        let lowest = first / SLOTS;
        for block in (lowest..=free / SLOTS).rev() {
            let (from, carried) = match block == lowest {
                true => (first % SLOTS, (remainder, is_end)),
                false => {
                    let below = block * SLOTS - 1;
                    let carried = (self.remainder(bytes, below), self.is_end(bytes, below));
                    (0, carried)
                }
            };
            let to = (free - block * SLOTS).min(SLOTS - 1);
            let ends_at = self.ends_at(block);
            let ends = read_u64(bytes, ends_at);
            let moved = ends << 1 & !(1 << from) | u64::from(carried.1) << from;
            let changed = span(from, to + 1);
            write_u64(bytes, ends_at, ends & !changed | moved & changed);
            self.move_up(bytes, block, from, to);
            self.set_remainder(bytes, block * SLOTS + from, carried.0);
        }
    }

    /// Moves the slots `from..to` of a block up by one. The contents of `from` do not matter then.
    #[inline(always)]
    fn move_up(self, bytes: &mut [u8], block: u64, from: u64, to: u64) {
        // In a damaged table, `to` may be before `from`.
        if from >= to {
            return;
        }
        let width = self.width_bits;
        let (low_bit, high_bit) = (from as u32 * width, (to as u32 + 1) * width);
        let (low, high) = (low_bit / WORD_BITS, (high_bit - 1) / WORD_BITS);
        let area = self.start(block) + REMAINDERS_AT;
        let words = &mut bytes[area + 8 * low as usize..area + 8 * (high as usize + 1)];
        let last = words.len() - 8;
        let (first_word, last_word) = (read_u64(words, 0), read_u64(words, last));
        let mut word = last_word;
        for at in (8..=last).rev().step_by(8) {
            let below = read_u64(words, at - 8);
            write_u64(words, at, word << width | below >> (WORD_BITS - width));
            word = below;
        }
        write_u64(words, 0, word << width);
        // The slots before and behind, in the same words, stay.
        let behind = !part(high, 0, high_bit);
        write_u64(
            words,
            last,
            read_u64(words, last) & !behind | last_word & behind,
        );
        let before = part(low, 0, low_bit);
        write_u64(words, 0, read_u64(words, 0) & !before | first_word & before);
    }

    /// Moves the slots after `removed` up to `last` down by one and empties `last`.
    pub fn remove(self, bytes: &mut [u8], removed: u64, last: u64) {
        let lowest = removed / SLOTS;
        for block in lowest..=last / SLOTS {
            let from = match block == lowest {
                true => removed % SLOTS,
                false => 0,
            };
            let to = (last - block * SLOTS).min(SLOTS - 1);
            let (remainder, is_end) = match block == last / SLOTS {
                true => (0, false),
                false => {
                    let above = (block + 1) * SLOTS;
                    (self.remainder(bytes, above), self.is_end(bytes, above))
                }
            };
            let ends_at = self.ends_at(block);
            let ends = read_u64(bytes, ends_at);
            let moved = ends >> 1 & !(1 << to) | u64::from(is_end) << to;
            let changed = span(from, to + 1);
            write_u64(bytes, ends_at, ends & !changed | moved & changed);
            self.move_down(bytes, block, from, to);
            self.set_remainder(bytes, block * SLOTS + to, remainder);
        }
    }

    /// Moves the slots after `from` up to `to` of a block down by one.
    fn move_down(self, bytes: &mut [u8], block: u64, from: u64, to: u64) {
        let width = self.width_bits;
        let (low_bit, high_bit) = (from as u32 * width, (to as u32 + 1) * width);
        let (low, high) = (low_bit / WORD_BITS, (high_bit - 1) / WORD_BITS);
        let area = self.start(block) + REMAINDERS_AT;
        let word_at = |word: u32| area + 8 * word as usize;
        for index in low..=high {
            let word = read_u64(bytes, word_at(index));
            let above = match index == high {
                true => 0,
                false => read_u64(bytes, word_at(index + 1)),
            };
            let moved = word >> width | above << (WORD_BITS - width);
            let changed = part(index, low_bit, high_bit);
            write_u64(bytes, word_at(index), word & !changed | moved & changed);
        }
    }
}

/// Returns a word with the bits `from..to` set.
#[inline(always)]
pub(super) fn span(from: u64, to: u64) -> u64 {
    let below = |bit: u64| match bit {
        64.. => u64::MAX,
        _ => (1 << bit) - 1,
    };
    below(to) & !below(from)
}

/// Returns the bits of word number `index` that are among the bits `from..to` of all words.
#[inline(always)]
fn part(index: u32, from: u32, to: u32) -> u64 {
    let first = index * WORD_BITS;
    let within = |bit: u32| u64::from(bit.saturating_sub(first).min(WORD_BITS));
    span(within(from), within(to))
}

#[inline(always)]
fn set_bit_at(bytes: &mut [u8], at: usize, index: u64, value: bool) {
    let byte = &mut bytes[at + (index % SLOTS / 8) as usize];
    let bit = 1 << (index % 8);
    match value {
        true => *byte |= bit,
        false => *byte &= !bit,
    }
}

/// Returns the position of the set bit number `rank`, counted from 0. The word has more than `rank`
/// set bits.
#[inline(always)]
pub(super) fn select(word: u64, rank: u32) -> u32 {
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
                    prop_assert_eq!(select(word, rank as u32), bit);
                }
            }
        }

        /// Slots are inserted and removed as in a vector.
        #[test]
        fn slots_move_like_the_elements_of_a_vector(
            width in 1..=MAX_WIDTH_BITS, seed in proptest::collection::vec(any::<(u64, bool)>(), 192),
            changes in proptest::collection::vec((any::<bool>(), 0u64..192, 0u64..192, any::<(u64, bool)>()), 1..30),
        ) {
            let blocks = Blocks { width_bits: width };
            let mask = blocks.mask();
            let mut bytes = vec![0xa5; 3 * blocks.bytes()];
            let mut model: Vec<(u64, bool)> =
                seed.iter().map(|(value, end)| (value & mask, *end)).collect();
            for (slot, &(remainder, end)) in (0..).zip(&model) {
                blocks.set_remainder(&mut bytes, slot, remainder);
                blocks.set_end(&mut bytes, slot, end);
            }
            for (inserts, a, b, (remainder, end)) in changes {
                let (low, high) = (a.min(b), a.max(b));
                let changed = &mut model[low as usize..=high as usize];
                if inserts {
                    changed.rotate_right(1);
                    changed[0] = (remainder & mask, end);
                    blocks.insert(&mut bytes, low, high, remainder & mask, end);
                } else {
                    changed.rotate_left(1);
                    changed[(high - low) as usize] = (0, false);
                    blocks.remove(&mut bytes, low, high);
                }
            }
            for (slot, &expected) in (0..).zip(&model) {
                let found = (blocks.remainder(&bytes, slot), blocks.is_end(&bytes, slot));
                prop_assert_eq!(found, expected, "slot {}", slot);
            }
            for block in 0..3 {
                prop_assert_eq!(bytes[blocks.offset_at(block)], 0xa5);
                prop_assert_eq!(blocks.occupied(&bytes, block), 0xa5a5_a5a5_a5a5_a5a5);
            }
        }
    }
}
