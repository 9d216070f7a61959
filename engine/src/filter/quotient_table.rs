//! A quotient table of one size: finds the runs and slots of keys.
//!
//! Each key has a **quotient** and a **slot value** (`slot_key.rs`). The values of one quotient are a
//! *run*: sorted, in adjacent slots, not before the slot with the quotient's number. Runs are in the
//! order of their quotients, and each starts as early as the runs before it allow. So the bytes of a
//! table follow from the set of its fingerprints, whatever the order in which they came.
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
use super::slot_key::{SlotCut, SlotKey, WHOLE};
use crate::fingerprint::Fingerprint;

/// The share of quotients, in percent, that a table holds keys for. Beyond it clusters become long.
const FULL_PERCENT: u64 = 95;
/// Slots behind the last quotient for runs that are pushed there. At the load above, runs reach
/// further with a probability of e^(−26).
const SPARE_SLOTS: u64 = 256;
/// A small table has one spare slot in so many.
const SPARE_SHARE: u64 = 8;

/// The geometry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QuotientTable {
    cut: SlotCut,
    /// A key times this number is the fingerprint, `depth` bits of which are behind the point.
    parts: u64,
    depth: u32,
    quotients: u64,
    blocks: u64,
    capacity: u64,
    layout: Blocks,
}

/// The slot that holds a key's fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub quotient: u64,
    pub run: QuotientRun,
    pub slot: u64,
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
    /// A table that holds nothing, in no bytes.
    pub const NONE: QuotientTable = QuotientTable {
        cut: SlotCut {
            scale: WHOLE,
            width_bits: 1,
            ages: 0,
            is_marked: false,
        },
        parts: 0,
        depth: 0,
        quotients: 0,
        blocks: 0,
        capacity: 0,
        layout: Blocks { width_bits: 1 },
    };

    /// Returns a table with scale·2^level/16 times as many quotients as the first one has.
    pub fn new(first_quotients: u64, level: u32, cut: SlotCut) -> Self {
        let quotients = SlotCut::scaled(first_quotients << level, cut.scale);
        let mut blocks = quotients.div_ceil(SLOTS);
        while quotients_in(SLOTS * blocks) < quotients {
            blocks += 1;
        }
        QuotientTable {
            cut,
            parts: first_quotients,
            depth: level + cut.width_bits,
            quotients,
            blocks,
            capacity: quotients * FULL_PERCENT / 100,
            layout: Blocks {
                width_bits: cut.slot_bits(),
            },
        }
    }

    /// Returns how often the first table was doubled.
    pub fn level(&self) -> u32 {
        self.depth - self.cut.width_bits
    }

    /// Returns a table with 2^times as many quotients and the same fingerprints.
    pub fn doubled(&self, times: u32) -> Self {
        let cut = SlotCut {
            width_bits: self.cut.width_bits - times,
            ..self.cut
        };
        QuotientTable::new(self.parts, self.level() + times, cut)
    }

    /// Returns how fingerprints are cut.
    #[inline(always)]
    pub fn cut(&self) -> SlotCut {
        self.cut
    }

    /// Returns the number of bits by which the fingerprints of new keys divide the parts of the
    /// first table.
    #[inline(always)]
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns the number of possible fingerprints of new keys.
    pub fn fingerprints(&self) -> u64 {
        self.parts << self.depth
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
        self.capacity
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.blocks as usize * self.layout.bytes()
    }

    /// Returns the fingerprint of a key, which knows its quotient and slot value.
    #[inline(always)]
    pub fn locate(&self, fingerprint: Fingerprint) -> SlotKey {
        let product = u128::from(fingerprint.0) * u128::from(self.parts);
        SlotKey {
            fingerprint: (product >> (u64::BITS - self.depth)) as u64,
            cut: self.cut,
        }
    }

    /// Returns the slot that holds a key, given the run of its quotient.
    #[inline(always)]
    pub fn holder(&self, bytes: &[u8], key: SlotKey, run: Option<QuotientRun>) -> Option<Holder> {
        let quotients = key.quotients();
        let (first, quotient) = (*quotients.start(), *quotients.end());
        if let Some(run) = run
            && let Some(slot) = self.slot_with(bytes, run, quotient, key)
        {
            return Some(Holder {
                quotient,
                run,
                slot,
            });
        }
        match first == quotient {
            true => None,
            false => self.earlier_holder(bytes, key, first..quotient),
        }
    }

    /// Looks for a shortened fingerprint that begins in an earlier quotient.
    #[cold]
    fn earlier_holder(&self, bytes: &[u8], key: SlotKey, quotients: Range<u64>) -> Option<Holder> {
        quotients.rev().find_map(|quotient| {
            let run = self.run(bytes, quotient)?;
            let slot = self.slot_with(bytes, run, quotient, key)?;
            Some(Holder {
                quotient,
                run,
                slot,
            })
        })
    }

    /// Returns the slot of a run that holds a key. All of the run is compared: it is short, and the
    /// answer must not depend on the order in a damaged run.
    #[inline(always)]
    fn slot_with(
        &self,
        bytes: &[u8],
        run: QuotientRun,
        quotient: u64,
        key: SlotKey,
    ) -> Option<u64> {
        let mut slots = run.slots();
        let value_in = |slot| self.layout.remainder(bytes, slot);
        match self.cut.is_marked {
            true => slots.find(|&slot| key.is_in(quotient, value_in(slot))),
            false => slots.find(|&slot| value_in(slot) == key.place().1),
        }
    }

    /// Whether a larger table surely has a slot for each fingerprint of this one. In a larger table
    /// runs reach no further behind the last quotient than in this one, except by rounding; but
    /// fingerprints that must be divided are more than before.
    pub fn surely_fits_into(&self, bytes: &[u8], larger: &QuotientTable) -> bool {
        const ROUNDING: u64 = 4;
        let oldest = self.cut.ages + larger.depth - self.depth;
        let last = self.run(bytes, self.quotients - 1);
        let spare = larger.slots() - larger.quotients;
        oldest <= larger.cut.ages
            && last.is_some_and(|run| run.end + ROUNDING <= self.quotients + spare)
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
    pub fn end_number(&self, bytes: &[u8], from: u64, count: u32) -> Option<u64> {
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
    pub fn long_offset(&self, bytes: &[u8], block: u64) -> Option<u64> {
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
    pub fn count_occupied(&self, bytes: &[u8], range: Range<u64>) -> u32 {
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

    /// Writes the offset of a block.
    pub fn set_offset(&self, bytes: &mut [u8], block: u64, offset: u64) {
        bytes[self.layout.offset_at(block)] = offset.min(LONG_OFFSET.into()) as u8;
    }
}
