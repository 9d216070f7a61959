//! One block of a quotient table: slots with their metadata, in one to three cache lines, or in half a
//! one.
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
//! There are as many slots as fit into the cache lines of a block, but at most 59, so that all
//! metadata are in 128 bits. With remainders of 13 bits, 33 slots are in one cache line.

use super::quotient_metadata::{LocalRun, Metadata};
use crate::bytes::{read_u64, write_u64};
use crate::simd::{Field, Vectors, from_bit, read_words, write_words};

/// An offset of at least this is stored as this.
pub(super) const LONG_OFFSET: u8 = u8::MAX;
/// The largest width of a remainder: one that starts at any bit of a byte fits into eight bytes.
pub(super) const MAX_WIDTH_BITS: u32 = 57;

const OFFSET_BITS: u32 = 8;
const WORD_BITS: u32 = u64::BITS;
const MAX_SLOTS: u32 = 59;
/// The sizes of a block in bytes, and the fewest slots with which they are used. With fewer slots,
/// more blocks would be full.
const SIZES: [(u32, u32); 4] = [(32, 33), (64, 24), (128, 24), (192, 24)];
/// Few runs are longer.
const USUAL_RUN: u32 = 4;

/// Where the parts of a block are, for remainders of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    width_bits: u32,
    slots: u32,
    bytes: u32,
    /// 2^64 divided by the number of slots, rounded up.
    reciprocal: u64,
    /// How many adjacent remainders eight bytes contain in any case, but at most so many as runs
    /// usually have.
    together: u32,
    /// The lowest bit of each of those.
    ones: u64,
}

impl Blocks {
    /// Returns the smallest blocks with enough slots of so many bits, from 1 to
    /// [`MAX_WIDTH_BITS`].
    pub const fn new(width_bits: u32) -> Self {
        let (mut slots, mut bytes, mut size) = (0, 0, 0);
        while size < SIZES.len() && (size == 0 || slots < SIZES[size - 1].1) {
            bytes = SIZES[size].0;
            slots = (8 * bytes - OFFSET_BITS) / (width_bits + 2);
            size += 1;
        }
        if slots > MAX_SLOTS {
            slots = MAX_SLOTS;
        }
        let (mut together, mut ones) = (0, 0);
        while together < USUAL_RUN && (together + 1) * width_bits <= MAX_WIDTH_BITS {
            ones |= 1 << (together * width_bits);
            together += 1;
        }
        Blocks {
            width_bits,
            slots,
            bytes,
            reciprocal: u64::MAX / slots as u64 + 1,
            together,
            ones,
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
        window(self.bit_in_block(slot), self.bytes)
    }

    /// Returns the remainder in a slot of a block, given its bytes.
    #[inline(always)]
    pub fn remainder_in(self, block: &[u8], slot: u32) -> u64 {
        let (at, shift) = self.window(slot);
        read_u64(block, at) >> shift & self.mask()
    }

    /// Returns how many remainders of a run are less than a value, and whether one is equal. All of
    /// the run is compared: it is short, and the answer must not depend on the order in a damaged
    /// run. The common lengths need no loop.
    #[inline(always)]
    pub fn compare(self, block: &[u8], run: LocalRun, value: u64) -> (u32, bool) {
        if run.length <= self.together {
            return self.compare_together(block, run, value);
        }
        compare_each(
            block,
            self.bit_in_block(run.start),
            self.width_bits,
            run.length,
            value,
        )
    }

    /// Does the same for a run of which eight bytes contain all remainders.
    #[inline(always)]
    fn compare_together(self, block: &[u8], run: LocalRun, value: u64) -> (u32, bool) {
        let (at, shift) = self.window(run.start);
        // Behind the run it has other bits, which do not matter.
        let remainders = read_u64(block, at) >> shift;
        let values = value * self.ones;
        let tops = self.ones << (self.width_bits - 1);
        let tops_of_run = tops & ((1 << (run.length * self.width_bits)) - 1);
        // Subtracting 1 from a 0 sets its top bit. It also borrows from the next remainder, but then
        // one that is equal has been found.
        let differences = remainders ^ values;
        let equal = differences.wrapping_sub(self.ones) & !differences & tops_of_run;
        // Whether a remainder without its top bit is at least the value without: with the top bit
        // set, the subtraction does not borrow from the next remainder.
        let low_at_least = (remainders | tops) - (values & !tops);
        let at_least = remainders & !values | !differences & low_at_least;
        ((!at_least & tops_of_run).count_ones(), equal != 0)
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
    /// replaces the metadata. The remainder in the last slot is lost.
    #[inline(always)]
    pub fn insert(
        self,
        block: &mut [u8],
        slot: u32,
        remainder: u64,
        metadata: Metadata,
        vectors: Vectors,
    ) {
        let field = Field {
            at: self.bit_in_block(slot),
            end: self.bit_in_block(self.slots),
            width: self.width_bits,
            value: remainder,
            low_mask: self.packed_mask(),
            low_bits: self.packed(metadata),
        };
        vectors.insert_field(block, field);
    }

    /// Inserts a remainder and its run end into a slot, and replaces the other metadata. Returns what
    /// was in the last slot.
    #[inline(always)]
    pub fn insert_pushing(
        self,
        block: &mut [u8],
        slot: u32,
        (remainder, is_end): (u64, bool),
        mut metadata: Metadata,
        vectors: Vectors,
    ) -> (u64, bool) {
        let last = self.slots - 1;
        let pushed = (
            self.remainder_in(block, last),
            metadata.ends >> last & 1 == 1,
        );
        metadata.ends &= !(1 << last);
        metadata.insert_end(slot, is_end);
        self.insert(block, slot, remainder, metadata, vectors);
        pushed
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

/// Returns the first of eight bytes of a block that contain a remainder, and its first bit in them.
#[inline(always)]
fn window(first_bit: u32, block_bytes: u32) -> (usize, u32) {
    // At the end of the block the window is moved back to stay inside.
    let at = (first_bit / 8).min(block_bytes - 8);
    (at as usize, first_bit - 8 * at)
}

/// Does what [`Blocks::compare`] does, for a run of any length. Inlined into a loop over keys, it
/// would be vectorized, and slow down the usual case; so would a reference to the geometry.
#[inline(never)]
fn compare_each(block: &[u8], first_bit: u32, width: u32, length: u32, value: u64) -> (u32, bool) {
    let (mut less, mut equals) = (0, false);
    for slot in 0..length {
        let (at, shift) = window(first_bit + slot * width, block.len() as u32);
        let remainder = read_u64(block, at) >> shift & ((1 << width) - 1);
        less += u32::from(remainder < value);
        equals |= remainder == value;
    }
    (less, equals)
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
            assert!((24..=MAX_SLOTS).contains(&blocks.slots), "{width}");
            if width >= 2 {
                assert!(
                    100 * used >= 88 * 8 * blocks.bytes,
                    "{width}: {used} of {blocks:?}"
                );
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
                if kind > 0 {
                    let at = at % (count + 1).min(blocks.slots);
                    model.insert(at as usize, value);
                    model.truncate(blocks.slots as usize);
                    let before = bytes.clone();
                    for vectors in Vectors::all_detected() {
                        let mut copy = before.clone();
                        blocks.insert(&mut copy, at, value, metadata, vectors);
                        prop_assert!(vectors == Vectors::Portable || copy == bytes);
                        bytes = copy;
                    }
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

        /// In any block, also a damaged one.
        #[test]
        fn all_remainders_of_a_run_are_compared(
            width in 1..=MAX_WIDTH_BITS, seed: [u8; 32], start: u32, length: u32, value: u64, which: u32,
        ) {
            let blocks = Blocks::new(width);
            let block: Vec<u8> = seed.into_iter().cycle().take(blocks.bytes()).collect();
            let start = start % blocks.slots;
            let length = length % (blocks.slots - start + 1);
            let run = LocalRun { start, length };
            let remainders: Vec<u64> =
                (start..start + length).map(|slot| blocks.remainder_in(&block, slot)).collect();
            let in_run = remainders.get(which as usize % remainders.len().max(1));
            for value in [value & blocks.mask(), in_run.copied().unwrap_or(0)] {
                let less = remainders.iter().filter(|&&it| it < value).count() as u32;
                let expected = (less, remainders.contains(&value));
                prop_assert_eq!(blocks.compare(&block, run, value), expected);
            }
        }
    }
}
