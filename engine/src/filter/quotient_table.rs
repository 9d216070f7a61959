//! A quotient table of one size: finds runs, inserts remainders and takes them out.
//!
//! A fingerprint times the number of quotients is a number with a whole part, the **quotient**, and
//! a fraction, whose highest bits are the **remainder**. The remainders of one quotient are a *run*:
//! sorted, in adjacent slots, not before the slot with the quotient's number. Runs are in the order
//! of their quotients, and each starts as early as the runs before it allow. So the bytes of a table
//! follow from the set of its fingerprints, whatever the order in which they came.
//!
//! Which run belongs to a quotient is found by counting: the n-th occupied quotient has the n-th
//! run end. The offset of a block says where the runs of its own quotients begin, so the count
//! starts there. The layout is that of the rank-and-select quotient filter: Pandey, Bender, Johnson,
//! Patro, "A General-Purpose Counting Filter: Making Every Bit Count", 2017.
//!
//! **Invariant:** whatever the bytes are, no function panics or loops forever. A damaged table
//! gives wrong answers.

use std::ops::Range;

use super::quotient_block::{Blocks, LONG_OFFSET, SLOTS, select};
use crate::fingerprint::Fingerprint;
use crate::region::Region;

/// The share of quotients, in percent, that a table holds keys for. Beyond it clusters become long.
const FULL_PERCENT: u64 = 95;
/// Slots behind the last quotient for runs that are pushed there. At the load above, runs reach
/// further with a probability of e^(−26).
const SPARE_SLOTS: u64 = 256;
/// A small table has one spare slot in so many.
const SPARE_SHARE: u64 = 8;

/// The geometry of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuotientTable {
    quotients: u64,
    blocks: u64,
    layout: Blocks,
}

/// The slots of a quotient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QuotientRun {
    /// The first slot, or where it would be.
    pub start: u64,
    /// The slot after the last.
    pub end: u64,
}

impl QuotientRun {
    /// Returns the slots.
    #[inline(always)]
    pub fn slots(self) -> Range<u64> {
        self.start..self.end
    }
}

/// Returns how many of so many slots have a quotient of their own.
pub(super) fn quotients_in(slots: u64) -> u64 {
    slots - SPARE_SLOTS.min(slots / SPARE_SHARE)
}

impl QuotientTable {
    /// Returns a table with so many quotients and with remainders of so many bits.
    pub fn new(quotients: u64, width_bits: u32) -> Self {
        let mut blocks = quotients.div_ceil(SLOTS);
        while quotients_in(SLOTS * blocks) < quotients {
            blocks += 1;
        }
        QuotientTable {
            quotients,
            blocks,
            layout: Blocks { width_bits },
        }
    }

    /// Returns the number of quotients.
    pub fn quotients(&self) -> u64 {
        self.quotients
    }

    /// Returns the number of slots.
    #[inline(always)]
    pub fn slots(&self) -> u64 {
        self.blocks * SLOTS
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Returns where the parts of a block are.
    #[inline(always)]
    pub fn layout(&self) -> Blocks {
        self.layout
    }

    /// Returns the number of keys that the table is made for.
    #[inline(always)]
    pub fn capacity(&self) -> u64 {
        self.quotients * FULL_PERCENT / 100
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.blocks as usize * self.layout.bytes()
    }

    /// Returns the quotient and the remainder of a key.
    #[inline(always)]
    pub fn locate(&self, fingerprint: Fingerprint) -> (u64, u64) {
        let product = u128::from(fingerprint.0) * u128::from(self.quotients);
        let remainder = product as u64 >> (u64::BITS - self.layout.width_bits);
        ((product >> u64::BITS) as u64, remainder)
    }

    /// Returns the slots of a quotient; an empty range, at the place for its first remainder, if it
    /// has none. None if the table is damaged.
    #[inline(always)]
    pub fn run(&self, bytes: &[u8], quotient: u64) -> Option<QuotientRun> {
        let (block, bit) = (quotient / SLOTS, quotient % SLOTS);
        let occupied = self.layout.occupied(bytes, block);
        // The runs of this block up to that of the quotient.
        let runs = (occupied & (u64::MAX >> (63 - bit))).count_ones();
        let first = block * SLOTS + self.offset(bytes, block)?;
        let end = match runs {
            0 => first,
            _ => self.end_number(bytes, first, runs)? + 1,
        };
        Some(match occupied >> bit & 1 {
            0 => {
                let place = end.max(quotient);
                QuotientRun {
                    start: place,
                    end: place,
                }
            }
            _ => QuotientRun {
                start: self.start_of_run(bytes, quotient, end - 1),
                end,
            },
        })
    }

    /// Returns the first slot of a quotient's run, given its last: the slot after the run end before
    /// it, but not before the quotient's own slot.
    #[inline(always)]
    fn start_of_run(&self, bytes: &[u8], quotient: u64, last: u64) -> u64 {
        let mut block = last / SLOTS;
        let mut ends = self.layout.ends(bytes, block) & ((1 << (last % SLOTS)) - 1);
        while ends == 0 && block > quotient / SLOTS {
            block -= 1;
            ends = self.layout.ends(bytes, block);
        }
        let after_end = (block + 1) * SLOTS - u64::from(ends.leading_zeros());
        after_end.max(quotient)
    }

    /// Returns the slot of the run end number `count`, counted from 1, at or after a slot.
    #[inline(always)]
    fn end_number(&self, bytes: &[u8], from: u64, count: u32) -> Option<u64> {
        let (mut block, mut left) = (from / SLOTS, count);
        if block >= self.blocks {
            return None;
        }
        let mut ends = self.layout.ends(bytes, block) & (u64::MAX << (from % SLOTS));
        loop {
            let here = ends.count_ones();
            if left <= here {
                return Some(block * SLOTS + u64::from(select(ends, left - 1)));
            }
            left -= here;
            block += 1;
            if block == self.blocks {
                return None;
            }
            ends = self.layout.ends(bytes, block);
        }
    }

    /// Returns the number of slots, from the first of a block, that runs of earlier quotients use.
    #[inline(always)]
    pub fn offset(&self, bytes: &[u8], block: u64) -> Option<u64> {
        match bytes[self.layout.offset_at(block)] {
            LONG_OFFSET => self.long_offset(bytes, block),
            offset => Some(offset.into()),
        }
    }

    /// Counts from the last block before with an offset that is not long.
    #[cold]
    fn long_offset(&self, bytes: &[u8], block: u64) -> Option<u64> {
        let first = self.last_short_offset(bytes, block)?;
        let mut end = first * SLOTS + u64::from(bytes[self.layout.offset_at(first)]);
        for block in first..block {
            let runs = self.layout.occupied(bytes, block).count_ones();
            if runs > 0 {
                end = self.end_number(bytes, end, runs)? + 1;
            }
            end = end.max((block + 1) * SLOTS);
        }
        Some(end - block * SLOTS)
    }

    /// Returns the last block, up to the given one, whose offset is not long.
    pub fn last_short_offset(&self, bytes: &[u8], block: u64) -> Option<u64> {
        let is_short = |&it: &u64| bytes[self.layout.offset_at(it)] != LONG_OFFSET;
        (0..=block).rev().find(is_short)
    }

    /// Whether a run holds a remainder. All of the run is compared: it is short, and the answer
    /// must not depend on the order in a damaged run.
    #[inline(always)]
    pub fn holds(&self, bytes: &[u8], run: QuotientRun, remainder: u64) -> bool {
        run.slots()
            .any(|slot| self.layout.remainder(bytes, slot) == remainder)
    }

    /// Whether a slot is in use.
    pub fn is_used(&self, bytes: &[u8], slot: u64) -> bool {
        let (block, bit) = (slot / SLOTS, slot % SLOTS);
        let runs = (self.layout.occupied(bytes, block) & (u64::MAX >> (63 - bit))).count_ones();
        let end = self.offset(bytes, block).and_then(|offset| {
            let first = block * SLOTS + offset;
            match runs {
                0 => Some(first),
                _ => Some(self.end_number(bytes, first, runs)? + 1),
            }
        });
        end.is_some_and(|end| end > slot)
    }

    /// Counts the occupied quotients of a range.
    #[inline(always)]
    fn count_occupied(&self, bytes: &[u8], range: Range<u64>) -> u32 {
        if range.is_empty() {
            return 0;
        }
        let last = (range.end - 1).min(self.slots() - 1);
        let (first_block, last_block) = (range.start / SLOTS, last / SLOTS);
        let mut count = 0;
        for block in first_block..=last_block {
            let mut occupied = self.layout.occupied(bytes, block);
            if block == first_block {
                occupied &= u64::MAX << (range.start % SLOTS);
            }
            if block == last_block {
                occupied &= u64::MAX >> (63 - last % SLOTS);
            }
            count += occupied.count_ones();
        }
        count
    }

    /// Returns the first free slot at or after the end of a quotient's run. None if there is none.
    #[inline(always)]
    fn free_slot(&self, bytes: &[u8], quotient: u64, run: QuotientRun) -> Option<u64> {
        let (mut finished, mut slot) = (quotient, run.end);
        while slot < self.slots() {
            // The runs of these quotients come next, without a gap.
            let runs = self.count_occupied(bytes, finished + 1..slot + 1);
            if runs == 0 {
                return Some(slot);
            }
            finished = slot;
            slot = self.end_number(bytes, slot, runs)? + 1;
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

    /// Inserts a remainder that the run of its quotient does not hold. Returns false, and changes
    /// nothing, if no slot is free behind it.
    #[inline(always)]
    pub fn insert<R: Region + ?Sized>(
        &self,
        region: &mut R,
        (quotient, remainder): (u64, u64),
        run: QuotientRun,
    ) -> bool {
        let (layout, bytes) = (self.layout, region.bytes());
        let Some(free) = self.free_slot(bytes, quotient, run) else {
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

    /// Takes a remainder out. Returns false, and changes nothing, if it is not there.
    pub fn remove<R: Region + ?Sized>(
        &self,
        region: &mut R,
        (quotient, remainder): (u64, u64),
    ) -> bool {
        let (layout, bytes) = (self.layout, region.bytes());
        let Some(run) = self.run(bytes, quotient) else {
            return false;
        };
        let mut slots = run.slots();
        let (Some(slot), Some(end)) = (
            slots.find(|&slot| layout.remainder(bytes, slot) == remainder),
            self.end_of_pushed(bytes, quotient, run),
        ) else {
            return false;
        };
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
        true
    }

    /// Writes the offset of a block.
    pub fn set_offset(&self, bytes: &mut [u8], block: u64, offset: u64) {
        bytes[self.layout.offset_at(block)] = offset.min(LONG_OFFSET.into()) as u8;
    }

    /// Returns the bytes of the blocks `first..=last`.
    #[inline(always)]
    fn range_of(&self, first: u64, last: u64) -> Range<usize> {
        self.layout.offset_at(first)..self.layout.offset_at(last + 1)
    }
}
