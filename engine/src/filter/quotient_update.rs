//! Inserts fingerprints into a quotient table and takes them out.
//!
//! A run starts as early as the runs before it allow. So an insertion moves all slots up to the next
//! free one, and a removal moves back what had been pushed away from its own slot.

use std::ops::Range;

use super::quotient_block::{LONG_OFFSET, SLOTS, select, span};
use super::quotient_table::{Holder, QuotientRun, QuotientTable};
use crate::region::Region;

impl QuotientTable {
    /// Inserts a remainder that the run of its quotient does not hold. Returns false, and changes
    /// nothing, if no slot is free behind it.
    #[inline(always)]
    pub fn insert<R: Region + ?Sized>(
        &self,
        region: &mut R,
        (quotient, remainder): (u64, u64),
        run: QuotientRun,
    ) -> bool {
        let (layout, bytes) = (self.layout(), region.bytes());
        // A quotient without a run whose own slot is reached by none.
        let is_home_free = run.end == quotient && quotient < self.slots();
        let free = match is_home_free {
            true => Some(quotient),
            false => self.free_slot(bytes, quotient, run),
        };
        let Some(free) = free else {
            return false;
        };
        let smaller = run.slots();
        let smaller = smaller.take_while(|&slot| layout.remainder(bytes, slot) < remainder);
        let place = run.start + smaller.count() as u64;
        let first = quotient / SLOTS;
        let changed = region.bytes_mut(self.range_of(first, free / SLOTS));
        let base = first * SLOTS;
        let is_end = place == run.end;
        layout.set_occupied(changed, quotient - base, true);
        if is_end && !run.slots().is_empty() {
            layout.set_end(changed, place - 1 - base, false);
        }
        layout.insert(changed, place - base, free - base, remainder, is_end);
        for block in 1..=free / SLOTS - first {
            let offset = &mut changed[layout.offset_at(block)];
            *offset = offset.saturating_add(1);
        }
        true
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
        let end = self.end_of_pushed(bytes, quotient, run)?;
        let (first, last) = (quotient / SLOTS, (end - 1) / SLOTS);
        let changed = region.bytes_mut(self.range_of(first, last));
        let base = first * SLOTS;
        match run.end - run.start {
            1 => layout.set_occupied(changed, quotient - base, false),
            _ if slot + 1 == run.end => layout.set_end(changed, slot - 1 - base, true),
            _ => {}
        }
        layout.remove(changed, slot - base, end - 1 - base);
        for block in first + 1..=last {
            let offset = match region.bytes()[layout.offset_at(block)] {
                LONG_OFFSET => self.long_offset(region.bytes(), block).unwrap_or(0),
                offset => u64::from(offset.saturating_sub(1)),
            };
            self.set_offset(region.bytes_mut(self.range_of(block, block)), 0, offset);
        }
        Some(removed.age)
    }

    /// Returns the first free slot at or after the end of a quotient's run. None if there is none.
    #[inline(always)]
    fn free_slot(&self, bytes: &[u8], quotient: u64, run: QuotientRun) -> Option<u64> {
        let layout = self.layout();
        // Quotients whose run ends before the slot are taken out of `occupied`, and ends before the
        // slot out of `ends`. So many runs before the slot have not ended.
        let mut unfinished = self.count_occupied(bytes, quotient + 1..run.end / SLOTS * SLOTS);
        let mut block = run.end / SLOTS;
        let mut bit = run.end % SLOTS;
        while block < self.blocks() {
            let first_quotient = (quotient + 1).saturating_sub(block * SLOTS).min(SLOTS);
            let mut occupied = layout.occupied(bytes, block) & !span(0, first_quotient);
            let mut ends = layout.ends(bytes, block) & (u64::MAX << bit);
            loop {
                let passed = occupied & (u64::MAX >> (SLOTS - 1 - bit));
                occupied ^= passed;
                unfinished += passed.count_ones();
                if unfinished == 0 {
                    return Some(block * SLOTS + bit);
                }
                let here = ends.count_ones();
                if unfinished > here {
                    unfinished = unfinished - here + occupied.count_ones();
                    break;
                }
                let end = u64::from(select(ends, unfinished - 1));
                unfinished = 0;
                if end == SLOTS - 1 {
                    unfinished = occupied.count_ones();
                    break;
                }
                bit = end + 1;
                ends &= u64::MAX << bit;
            }
            (block, bit) = (block + 1, 0);
        }
        None
    }

    /// Returns the slot after the run of a quotient and all runs that it has pushed away from their
    /// own slots.
    fn end_of_pushed(&self, bytes: &[u8], quotient: u64, run: QuotientRun) -> Option<u64> {
        let (mut finished, mut slot) = (quotient, run.end);
        loop {
            let runs = self.count_occupied(bytes, finished + 1..slot);
            if runs == 0 {
                return Some(slot);
            }
            finished = slot - 1;
            slot = self.end_number(bytes, slot, runs)? + 1;
        }
    }

    /// Returns the bytes of the blocks `first..=last`.
    #[inline(always)]
    fn range_of(&self, first: u64, last: u64) -> Range<usize> {
        self.layout().offset_at(first)..self.layout().offset_at(last + 1)
    }
}
