//! One block of a quotient table: slots with their metadata, in whole cache lines.
//!
//! ```text
//! bit 0        8             8 + s         8 + 2s
//!     offset   s occupied    s run ends    s remainders of `width` bits, packed
//! ```
//!
//! *Occupied* bit i says that some key has the quotient s·block + i. *Run end* bit i says that slot
//! i of this block holds the last remainder of a run. The *offset* is the number of slots, counted
//! from the first slot of the block, that the runs of the quotients of all earlier blocks use in it
//! and beyond it; 255 stands for 255 and more. The slots in use are the first ones of the block;
//! all bits of the others are 0.
//!
//! There are as many slots as fit into the cache lines of a block, but at most 56, so that all
//! metadata are in 128 bits. With remainders of 13 bits, 33 slots are in one cache line.

use crate::bytes::{read_u64, write_u64};
use crate::simd::Vectors;

/// An offset of at least this is stored as this.
pub(super) const LONG_OFFSET: u8 = u8::MAX;
/// The largest width of a remainder: one that starts at any bit of a byte fits into eight bytes.
pub(super) const MAX_WIDTH_BITS: u32 = 57;

const OFFSET_BITS: u32 = 8;
const WORD_BITS: u32 = u64::BITS;
const MAX_SLOTS: u32 = 56;
/// The sizes of a block in bytes. With fewer slots, more blocks would be full.
const SIZES: [u32; 4] = [32, 64, 128, 192];
const FEWEST_SLOTS: u32 = 24;

/// Where the parts of a block are, for remainders of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    width_bits: u32,
    slots: u32,
    bytes: u32,
    /// 2^64 divided by the number of slots, rounded up.
    reciprocal: u64,
}

/// The metadata of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Metadata {
    /// The offset as it is stored.
    pub offset: u8,
    /// The occupied bits.
    pub occupied: u64,
    /// The run ends.
    pub ends: u64,
}

/// The slots of a run that begins and ends in the block of its quotient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalRun {
    /// The first slot, or where it would be.
    pub start: u32,
    /// The number of slots; 0 if the quotient has no run.
    pub length: u32,
}

impl Metadata {
    /// Returns the run of a quotient, given its number in the block. None if some of it is, or would
    /// be, in a later block.
    #[inline(always)]
    pub fn local_run(&self, bit: u32, slots: u32, vectors: Vectors) -> Option<LocalRun> {
        let offset = u32::from(self.offset);
        let runs_before = (self.occupied & ((1 << bit) - 1)).count_ones();
        // Shifts by 64 or more do not matter: such an offset is behind all slots.
        let ends = self.ends.wrapping_shr(offset);
        // A bit for the first slot of each run, and for the slot behind the last run.
        let starts = ends << 1 | 1;
        if offset >= slots || starts.count_ones() <= runs_before {
            return None;
        }
        let start = vectors.select(starts, runs_before);
        let is_occupied = (self.occupied >> bit & 1) as u32;
        let length = is_occupied * ((ends >> start).trailing_zeros() + 1);
        let is_inside = offset + start + length.max(1) <= slots;
        is_inside.then_some(LocalRun {
            start: offset + start,
            length,
        })
    }

    /// Moves the run ends from a slot on up by one.
    #[inline(always)]
    pub fn insert_end(&mut self, slot: u32, is_end: bool) {
        let below = self.ends & ((1 << slot) - 1);
        self.ends = below | (self.ends ^ below) << 1 | u64::from(is_end) << slot;
    }

    /// Returns the number of slots in use; all if a run goes on in the next block.
    #[inline(always)]
    pub fn used(&self, slots: u32) -> u32 {
        let offset = u32::from(self.offset);
        let own_ends = self.ends.wrapping_shr(offset).count_ones();
        match offset >= slots || own_ends < self.occupied.count_ones() {
            true => slots,
            false => (WORD_BITS - self.ends.leading_zeros()).max(offset),
        }
    }
}

impl Blocks {
    /// Returns the smallest blocks with enough slots of so many bits, from 1 to
    /// [`MAX_WIDTH_BITS`].
    pub const fn new(width_bits: u32) -> Self {
        let (mut slots, mut size) = (0, 0);
        while slots < FEWEST_SLOTS && size < SIZES.len() {
            slots = (8 * SIZES[size] - OFFSET_BITS) / (width_bits + 2);
            size += 1;
        }
        if slots > MAX_SLOTS {
            slots = MAX_SLOTS;
        }
        Blocks {
            width_bits,
            slots,
            bytes: SIZES[size - 1],
            reciprocal: u64::MAX / slots as u64 + 1,
        }
    }

    /// Returns the number of bits of a remainder.
    #[inline(always)]
    pub fn width_bits(self) -> u32 {
        self.width_bits
    }

    /// Returns the number of slots of a block, which is also its number of quotients.
    #[inline(always)]
    pub fn slots(self) -> u32 {
        self.slots
    }

    /// Returns the size of a block.
    #[inline(always)]
    pub fn bytes(self) -> usize {
        self.bytes as usize
    }

    /// Returns the block of a slot or quotient, and its number there. Exact below 2^58.
    #[inline(always)]
    pub fn split(self, slot: u64) -> (u64, u32) {
        let block = ((u128::from(slot) * u128::from(self.reciprocal)) >> WORD_BITS) as u64;
        (block, (slot - self.first_of(block)) as u32)
    }

    /// Returns the block of a slot or quotient.
    #[inline(always)]
    pub fn block_of(self, slot: u64) -> u64 {
        self.split(slot).0
    }

    /// Returns the first slot or quotient of a block.
    #[inline(always)]
    pub fn first_of(self, block: u64) -> u64 {
        block * u64::from(self.slots)
    }

    /// Returns the first byte of a block, which is its offset.
    #[inline(always)]
    pub fn byte_of(self, block: u64) -> usize {
        block as usize * self.bytes()
    }

    /// Returns the first of the occupied bits.
    pub fn occupied_bit(self, block: u64) -> u64 {
        8 * self.byte_of(block) as u64 + u64::from(OFFSET_BITS)
    }

    /// Returns the first of the run ends.
    pub fn ends_bit(self, block: u64) -> u64 {
        self.occupied_bit(block) + u64::from(self.slots)
    }

    /// Returns the first bit of a slot.
    pub fn slot_bit(self, slot: u64) -> u64 {
        let (block, slot) = self.split(slot);
        8 * self.byte_of(block) as u64 + u64::from(self.bit_in_block(slot))
    }

    /// Returns the first bit of a slot, counted in its block.
    #[inline(always)]
    fn bit_in_block(self, slot: u32) -> u32 {
        OFFSET_BITS + 2 * self.slots + slot * self.width_bits
    }

    /// Returns the bytes of a block.
    #[inline(always)]
    pub fn block(self, bytes: &[u8], block: u64) -> &[u8] {
        let at = self.byte_of(block);
        &bytes[at..at + self.bytes()]
    }

    /// Returns the bytes of a block.
    #[inline(always)]
    pub fn block_mut(self, bytes: &mut [u8], block: u64) -> &mut [u8] {
        let at = self.byte_of(block);
        &mut bytes[at..at + self.bytes()]
    }

    #[inline(always)]
    fn slots_mask(self) -> u64 {
        (1 << self.slots) - 1
    }

    /// Returns the metadata of a block, given its bytes.
    #[inline(always)]
    pub fn metadata(self, block: &[u8]) -> Metadata {
        let ends_bit = OFFSET_BITS + self.slots;
        let at = ends_bit / 8;
        let occupied = read_u64(block, 1);
        Metadata {
            offset: block[0],
            occupied: occupied & self.slots_mask(),
            ends: read_u64(block, at as usize) >> (ends_bit - 8 * at) & self.slots_mask(),
        }
    }

    /// Returns the metadata as they are in the first bits of a block.
    #[inline(always)]
    fn packed(self, metadata: Metadata) -> u128 {
        u128::from(metadata.offset)
            | u128::from(metadata.occupied) << OFFSET_BITS
            | u128::from(metadata.ends) << (OFFSET_BITS + self.slots)
    }

    #[inline(always)]
    fn packed_mask(self) -> u128 {
        (1 << self.bit_in_block(0)) - 1
    }

    /// Writes the metadata of a block, given its bytes.
    pub fn set_metadata(self, block: &mut [u8], metadata: Metadata) {
        let mut words = [read_u64(block, 0), read_u64(block, 8)];
        self.replace_metadata(&mut words, metadata);
        write_u64(block, 0, words[0]);
        write_u64(block, 8, words[1]);
    }

    /// Changes the metadata of a block.
    pub fn change(self, bytes: &mut [u8], block: u64, how: impl FnOnce(&mut Metadata)) {
        let bytes = self.block_mut(bytes, block);
        let mut metadata = self.metadata(bytes);
        how(&mut metadata);
        self.set_metadata(bytes, metadata);
    }

    #[inline(always)]
    fn replace_metadata(self, words: &mut [u64], metadata: Metadata) {
        let old = u128::from(words[0]) | u128::from(words[1]) << WORD_BITS;
        let new = old & !self.packed_mask() | self.packed(metadata);
        (words[0], words[1]) = (new as u64, (new >> WORD_BITS) as u64);
    }

    #[inline(always)]
    fn mask(self) -> u64 {
        (1 << self.width_bits) - 1
    }

    /// Returns eight bytes of a block that contain a slot, and its first bit in them.
    #[inline(always)]
    fn window(self, slot: u32) -> (usize, u32) {
        let bit = self.bit_in_block(slot);
        // At the end of the block the window is moved back to stay inside.
        let at = (bit / 8).min(self.bytes - 8);
        (at as usize, bit - 8 * at)
    }

    /// Returns the remainder in a slot of a block, given its bytes.
    #[inline(always)]
    pub fn remainder_in(self, block: &[u8], slot: u32) -> u64 {
        let (at, shift) = self.window(slot);
        read_u64(block, at) >> shift & self.mask()
    }

    /// Returns how many remainders of a run are less than a value, and whether one is equal. All of
    /// the run is compared: it is short, and the answer must not depend on the order in a damaged
    /// run. The common lengths need no branch.
    #[inline(always)]
    pub fn compare(self, block: &[u8], run: LocalRun, value: u64) -> (u32, bool) {
        const PAIR: u32 = 2;
        let (mut less, mut equals) = (0, 0);
        if PAIR * self.width_bits > MAX_WIDTH_BITS || run.length > 2 * PAIR {
            for slot in run.start..run.start + run.length {
                let remainder = self.remainder_in(block, slot);
                less += u32::from(remainder < value);
                equals += u32::from(remainder == value);
            }
        } else {
            for first in [0, PAIR] {
                let (at, shift) = self.window(run.start + first);
                // Behind the last slot anything is read, and not used.
                let pair = read_u64(block, at).wrapping_shr(shift);
                for (number, remainder) in [(first, pair), (first + 1, pair >> self.width_bits)] {
                    let remainder = remainder & self.mask();
                    let counts = number < run.length;
                    less += u32::from(counts & (remainder < value));
                    equals += u32::from(counts & (remainder == value));
                }
            }
        }
        (less, equals > 0)
    }

    /// Returns the remainder in a slot.
    #[inline(always)]
    pub fn remainder(self, bytes: &[u8], slot: u64) -> u64 {
        let (block, slot) = self.split(slot);
        self.remainder_in(self.block(bytes, block), slot)
    }

    /// Writes the remainder of a slot of a block, given its bytes.
    #[inline(always)]
    pub fn set_remainder(self, block: &mut [u8], slot: u32, remainder: u64) {
        let (at, shift) = self.window(slot);
        let others = read_u64(block, at) & !(self.mask() << shift);
        write_u64(block, at, others | remainder << shift);
    }

    /// Moves the remainders of a block from a slot on up by one, puts one into the slot, and
    /// replaces the metadata. The last slot must hold 0.
    #[inline(always)]
    pub fn insert(self, block: &mut [u8], slot: u32, remainder: u64, metadata: Metadata) {
        match block.len() {
            32 => self.insert_words::<4>(block, slot, remainder, metadata),
            64 => self.insert_words::<8>(block, slot, remainder, metadata),
            128 => self.insert_words::<16>(block, slot, remainder, metadata),
            _ => self.insert_words::<24>(block, slot, remainder, metadata),
        }
    }

    #[inline(always)]
    fn insert_words<const WORDS: usize>(
        self,
        block: &mut [u8],
        slot: u32,
        remainder: u64,
        metadata: Metadata,
    ) {
        let (bit, width) = (self.bit_in_block(slot), self.width_bits);
        let mut words: [u64; WORDS] = read_words(block);
        self.replace_metadata(&mut words, metadata);
        let inserted = u128::from(remainder) << (bit % WORD_BITS);
        let first = (bit / WORD_BITS) as usize;
        // Plain loops over all words: the compiler makes vector instructions of them.
        let (mut result, mut below) = ([0; WORDS], 0);
        for i in 0..WORDS {
            let moves = from_bit(bit, i);
            let moved = words[i] & moves;
            let carried = below >> (WORD_BITS - width);
            let low = if i == first { inserted as u64 } else { 0 };
            let high = if i == first + 1 { (inserted >> WORD_BITS) as u64 } else { 0 };
            result[i] = words[i] & !moves | moved << width | carried | low | high;
            below = moved;
        }
        write_words(block, &result);
    }

    /// Moves the remainders of a block after a slot down by one, puts 0 into the last slot, and
    /// replaces the metadata.
    pub fn remove(self, block: &mut [u8], slot: u32, metadata: Metadata) {
        match block.len() {
            32 => self.remove_words::<4>(block, slot, metadata),
            64 => self.remove_words::<8>(block, slot, metadata),
            128 => self.remove_words::<16>(block, slot, metadata),
            _ => self.remove_words::<24>(block, slot, metadata),
        }
    }

    fn remove_words<const WORDS: usize>(self, block: &mut [u8], slot: u32, metadata: Metadata) {
        let (bit, width) = (self.bit_in_block(slot), self.width_bits);
        let mut words: [u64; WORDS] = read_words(block);
        self.replace_metadata(&mut words, metadata);
        let mut above = 0;
        for i in (0..WORDS).rev() {
            let moved = words[i] & from_bit(bit + width, i);
            words[i] = words[i] & !from_bit(bit, i) | moved >> width | above;
            above = moved << (WORD_BITS - width);
        }
        write_words(block, &words);
        // Behind the last slot all bits are 0, unless the block is damaged.
        self.set_remainder(block, self.slots - 1, 0);
    }
}

/// Returns the bits of word number `index` that are at or after a bit of all words.
#[inline(always)]
fn from_bit(bit: u32, index: usize) -> u64 {
    let inside = bit.saturating_sub(WORD_BITS * index as u32);
    match inside < WORD_BITS {
        true => u64::MAX << inside,
        false => 0,
    }
}

#[inline(always)]
fn read_words<const WORDS: usize>(block: &[u8]) -> [u64; WORDS] {
    let (block, mut words) = (&block[..8 * WORDS], [0; WORDS]);
    for (i, word) in words.iter_mut().enumerate() {
        *word = read_u64(block, 8 * i);
    }
    words
}

#[inline(always)]
fn write_words<const WORDS: usize>(block: &mut [u8], words: &[u64; WORDS]) {
    let block = &mut block[..8 * WORDS];
    for (i, &word) in words.iter().enumerate() {
        write_u64(block, 8 * i, word);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_block_holds_its_parts_and_wastes_little() {
        for width in 1..=MAX_WIDTH_BITS {
            let blocks = Blocks::new(width);
            let used = blocks.bit_in_block(blocks.slots);
            assert!(used <= 8 * blocks.bytes, "{width}");
            assert!((FEWEST_SLOTS..=MAX_SLOTS).contains(&blocks.slots), "{width}");
            if width >= 3 {
                assert!(100 * used >= 88 * 8 * blocks.bytes, "{width}: {used} of {blocks:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_slot_is_in_one_block(width in 1..=MAX_WIDTH_BITS, slot in 0u64..1 << 58) {
            let blocks = Blocks::new(width);
            let (block, rest) = blocks.split(slot);
            prop_assert_eq!(block, slot / u64::from(blocks.slots));
            prop_assert_eq!(u64::from(rest), slot % u64::from(blocks.slots));
        }

        /// Slots are inserted and removed as in a vector.
        #[test]
        fn slots_move_like_the_elements_of_a_vector(
            width in 1..=MAX_WIDTH_BITS,
            changes in proptest::collection::vec(
                (0..3, any::<u32>(), any::<u64>(), any::<u8>(), any::<u64>(), any::<u64>()), 1..100),
        ) {
            let blocks = Blocks::new(width);
            let mut bytes = vec![0; blocks.bytes()];
            let mut model: Vec<u64> = Vec::new();
            for (kind, at, value, offset, occupied, ends) in changes {
                let (value, mask) = (value & blocks.mask(), blocks.slots_mask());
                let (occupied, ends) = (occupied & mask, ends & mask);
                let metadata = Metadata { offset, occupied, ends };
                let count = model.len() as u32;
                if kind > 0 && count < blocks.slots {
                    let at = at % (count + 1);
                    model.insert(at as usize, value);
                    blocks.insert(&mut bytes, at, value, metadata);
                } else if count > 0 {
                    model.remove((at % count) as usize);
                    blocks.remove(&mut bytes, at % count, metadata);
                } else {
                    blocks.set_metadata(&mut bytes, metadata);
                }
                prop_assert_eq!(blocks.metadata(&bytes), metadata);
                for slot in 0..blocks.slots {
                    let expected = model.get(slot as usize).copied().unwrap_or(0);
                    prop_assert_eq!(blocks.remainder_in(&bytes, slot), expected, "slot {}", slot);
                }
            }
        }

        /// A run is where a search bit by bit finds it.
        #[test]
        fn runs_are_found_as_bit_by_bit(
            width in 1..=MAX_WIDTH_BITS, offset in 0u8..70, occupied: u64, ends: u64, sparse: u64,
            bit: u32,
        ) {
            let blocks = Blocks::new(width);
            let (slots, mask) = (blocks.slots, blocks.slots_mask());
            let metadata = Metadata { offset, occupied: occupied & sparse & mask, ends: ends & mask };
            let bit = bit % slots;
            let runs = (0..bit).filter(|i| metadata.occupied >> i & 1 == 1).count();
            let mut slot = u32::from(offset);
            let mut left = runs;
            while left > 0 && slot < slots {
                left -= (metadata.ends >> slot & 1) as usize;
                slot += 1;
            }
            let mut end = slot;
            let is_occupied = metadata.occupied >> bit & 1 == 1;
            let mut is_whole = left == 0 && slot < slots;
            if is_occupied && is_whole {
                while end < slots && metadata.ends >> end & 1 == 0 {
                    end += 1;
                }
                is_whole = end < slots;
                end += 1;
            }
            let expected = is_whole.then_some(LocalRun { start: slot, length: end - slot });
            for vectors in Vectors::all_detected() {
                prop_assert_eq!(metadata.local_run(bit, slots, vectors), expected);
            }
        }
    }
}
