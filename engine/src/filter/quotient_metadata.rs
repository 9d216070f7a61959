//! The metadata of one block of a quotient table: where its runs are, and how many slots are in use.

use crate::simd::Vectors;

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

    /// Counts one more slot that runs of earlier blocks use.
    #[inline(always)]
    pub fn lengthen_offset(&mut self) {
        self.offset = self.offset.saturating_add(1);
    }

    /// Returns the number of slots in use; all if a run goes on in the next block.
    #[inline(always)]
    pub fn used(&self, slots: u32) -> u32 {
        let offset = u32::from(self.offset);
        let own_ends = self.ends.wrapping_shr(offset).count_ones();
        match offset >= slots || own_ends < self.occupied.count_ones() {
            true => slots,
            false => (u64::BITS - self.ends.leading_zeros()).max(offset),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A run is where a search bit by bit finds it.
        #[test]
        fn runs_are_found_as_bit_by_bit(
            slots in 24u32..=59, offset in 0u8..70, occupied: u64, ends: u64, sparse: u64,
            bit: u32,
        ) {
            let mask = (1 << slots) - 1;
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
