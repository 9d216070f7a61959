//! Inserts fingerprints into a quotient table and takes them out.
//!
//! Runs start as early as the runs before them allow. So an insertion moves all later slots of its
//! block; if the block is full, its last slot moves to the start of the next block, and so on. A
//! removal moves back what had been pushed out of its own block.

use std::ops::Range;

use super::quotient_block::LONG_OFFSET;
use super::quotient_metadata::Metadata;
use super::quotient_table::{Holder, QuotientRun, QuotientTable};
use crate::region::Region;
use crate::simd::Vectors;

impl QuotientTable {
    /// Inserts a value that the run of its quotient does not hold. Returns false, and changes
    /// nothing, if no slot is free behind it.
    pub fn insert<R: Region + ?Sized>(
        &self,
        region: &mut R,
        (quotient, value): (u64, u64),
        run: QuotientRun,
        vectors: Vectors,
    ) -> bool {
        let layout = self.layout();
        let less = run.slots();
        let less = less.take_while(|&it| layout.remainder(region.bytes(), it) < value);
        let place = run.start + less.count() as u64;
        let ((own, bit), (first, slot)) = (layout.split(quotient), layout.split(place));
        let Some(last) = self.block_with_room(region.bytes(), first) else {
            return false;
        };
        let changed = region.bytes_mut(self.range_of(own, last));
        // From here on, blocks are counted from that of the quotient.
        layout.change(changed, 0, |it| it.occupied |= 1 << bit);
        let is_end = place == run.end;
        if is_end && place > run.start {
            let (block, slot) = layout.split(place - 1 - layout.first_of(own));
            layout.change(changed, block, |it| it.ends &= !(1 << slot));
        }
        for block in 1..=first - own {
            layout.change(changed, block, Metadata::lengthen_offset);
        }
        let changed = &mut changed[layout.byte_of(first - own)..];
        let metadata = layout.metadata(layout.block(changed, 0));
        self.insert_into_blocks(changed, metadata, (slot, value, is_end), vectors);
        true
    }

    /// Returns the first block, from one on, that has a free slot.
    #[inline(always)]
    pub fn block_with_room(&self, bytes: &[u8], first: u64) -> Option<u64> {
        let slots = self.layout().slots();
        (first..self.blocks()).find(|&block| self.used(bytes, block) < slots)
    }

    /// Inserts a value into the first of some blocks, which then has these metadata and a run end
    /// more. All but the last block are full: their last slots move to the blocks after them.
    #[inline(always)]
    pub fn insert_into_blocks(
        &self,
        blocks: &mut [u8],
        metadata: Metadata,
        (slot, value, is_end): (u32, u64, bool),
        vectors: Vectors,
    ) {
        let layout = self.layout();
        let (first, mut left) = blocks.split_at_mut(layout.bytes());
        let mut pushed = layout.insert_pushing(first, slot, (value, is_end), metadata, vectors);
        while let Some((block, after)) = left.split_at_mut_checked(layout.bytes()) {
            let mut metadata = layout.metadata(block);
            metadata.lengthen_offset();
            pushed = layout.insert_pushing(block, 0, pushed, metadata, vectors);
            left = after;
        }
    }

    /// Takes a fingerprint out. Returns its age, or None, and changes nothing, if the table is
    /// damaged.
    pub fn remove<R: Region + ?Sized>(&self, region: &mut R, holder: Holder) -> Option<u32> {
        let (layout, bytes) = (self.layout(), region.bytes());
        let Holder {
            quotient,
            run,
            slot,
        } = holder;
        let removed = self
            .cut()
            .interval(quotient, layout.remainder(bytes, slot))?;
        let (first, bit) = layout.split(quotient);
        let lowest = layout.block_of(slot);
        let is_pushed = |block: &u64| bytes[layout.byte_of(*block)] > 0;
        let pushed = (lowest + 1..self.blocks()).take_while(is_pushed);
        let last = lowest + pushed.count() as u64;
        let changed = region.bytes_mut(self.range_of(first, last));
        let base = layout.first_of(first);
        match run.end - run.start {
            1 => layout.change(changed, 0, |it| it.occupied &= !(1 << bit)),
            _ if slot + 1 == run.end => {
                let (block, before) = layout.split(slot - 1 - base);
                layout.change(changed, block, |it| it.ends |= 1 << before);
            }
            _ => {}
        }
        for block in lowest - first..=last - first {
            let from = match block == lowest - first {
                true => layout.split(slot).1,
                false => 0,
            };
            let bytes = layout.block_mut(changed, block);
            let mut metadata = layout.metadata(bytes);
            let below = metadata.ends & ((1 << from) - 1);
            metadata.ends = below | metadata.ends >> from >> 1 << from;
            layout.remove(bytes, from, metadata);
            if block < last - first {
                let next = layout.block(changed, block + 1);
                let moved = layout.remainder_in(next, 0);
                let is_end = layout.metadata(next).ends & 1;
                let bytes = layout.block_mut(changed, block);
                layout.set_remainder(bytes, layout.slots() - 1, moved);
                layout.change(changed, block, |it| {
                    it.ends |= is_end << (layout.slots() - 1)
                });
            }
        }
        for block in first + 1..=last {
            let offset = match region.bytes()[layout.byte_of(block)] {
                LONG_OFFSET => {
                    let offset = self.offset(region.bytes(), block).unwrap_or(0);
                    offset.min(LONG_OFFSET.into()) as u8
                }
                offset => offset.saturating_sub(1),
            };
            region.bytes_mut(self.range_of(block, block))[0] = offset;
        }
        Some(removed.age)
    }

    /// Returns the bytes of the blocks `first..=last`.
    #[inline(always)]
    pub fn range_of(&self, first: u64, last: u64) -> Range<usize> {
        self.layout().byte_of(first)..self.layout().byte_of(last + 1)
    }
}
