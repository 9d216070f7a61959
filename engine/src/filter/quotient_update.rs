//! Inserts fingerprints into a quotient table and takes them out.
//!
//! Runs start as early as the runs before them allow. So an insertion moves all later slots of its
//! block; if the block is full, its last slot moves to the start of the next block, and so on. A
//! removal moves back what had been pushed out of its own block.

use std::ops::Range;

use super::quotient_block::LONG_OFFSET;
use super::quotient_table::{Holder, QuotientRun, QuotientTable};
use crate::region::Region;

impl QuotientTable {
    /// Inserts a remainder that the run of its quotient does not hold. Returns false, and changes
    /// nothing, if no slot is free behind it.
    pub fn insert<R: Region + ?Sized>(
        &self,
        region: &mut R,
        (quotient, remainder): (u64, u64),
        run: QuotientRun,
    ) -> bool {
        let (layout, slots) = (self.layout(), self.layout().slots());
        let less = run.slots();
        let less = less.take_while(|&it| layout.remainder(region.bytes(), it) < remainder);
        let place = run.start + less.count() as u64;
        let ((first, bit), (lowest, slot)) = (layout.split(quotient), layout.split(place));
        let has_room = |&block: &u64| self.used(region.bytes(), block) < slots;
        let Some(last) = (lowest..self.blocks()).find(has_room) else {
            return false;
        };
        let changed = region.bytes_mut(self.range_of(first, last));
        // From here on, blocks are counted from that of the quotient.
        layout.change(changed, 0, |it| it.occupied |= 1 << bit);
        let is_end = place == run.end;
        if is_end && place > run.start {
            let (block, slot) = layout.split(place - 1 - layout.first_of(first));
            layout.change(changed, block, |it| it.ends &= !(1 << slot));
        }
        for block in (lowest - first..=last - first).rev() {
            let (to, (remainder, is_end)) = match block == lowest - first {
                true => (slot, (remainder, is_end)),
                false => (0, self.last_slot(changed, block - 1)),
            };
            let bytes = layout.block_mut(changed, block);
            let mut metadata = layout.metadata(bytes);
            metadata.ends &= !(1 << (slots - 1));
            metadata.insert_end(to, is_end);
            // It has moved to the next block, or is free.
            layout.set_remainder(bytes, slots - 1, 0);
            layout.insert(bytes, to, remainder, metadata);
        }
        for block in 1..=last - first {
            let offset = &mut changed[layout.byte_of(block)];
            *offset = offset.saturating_add(1);
        }
        true
    }

    /// Returns the remainder in the last slot of a block, and whether a run ends there.
    fn last_slot(&self, bytes: &[u8], block: u64) -> (u64, bool) {
        let (layout, last) = (self.layout(), self.layout().slots() - 1);
        let bytes = layout.block(bytes, block);
        let is_end = layout.metadata(bytes).ends >> last & 1 == 1;
        (layout.remainder_in(bytes, last), is_end)
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
                layout.change(changed, block, |it| it.ends |= is_end << (layout.slots() - 1));
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
