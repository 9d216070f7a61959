//! A quotient table of one size: finds the runs and slots of keys.
//!
//! Each key has a **quotient** and a **slot value** (`slot_key.rs`). The values of one quotient are a
//! *run*: sorted, in adjacent slots, not before the first slot of the quotient's block. Runs are in
//! the order of their quotients, and each starts as early as the runs before it allow. So the bytes
//! of a table follow from the set of its fingerprints, whatever the order in which they came.
//!
//! Which run belongs to a quotient is found by counting: the n-th occupied quotient has the n-th
//! run end. The offset of a block says where the runs of its own quotients begin, so the count
//! starts there. This is the rank-and-select quotient filter of Pandey, Bender, Johnson, Patro, "A
//! General-Purpose Counting Filter: Making Every Bit Count", 2017, except that a run need not begin
//! at its quotient's own slot. So the slots in use are the first ones of each block, and an insertion
//! moves the rest of one block, unless that is full. Most runs are in the cache line of their block.
//!
//! **Invariant:** whatever the bytes are, no function panics or loops forever. A damaged table
//! gives wrong answers.

use std::ops::Range;

use super::quotient_block::{Blocks, LONG_OFFSET};
use super::quotient_metadata::Metadata;
use super::slot_key::{SlotCut, SlotKey, WHOLE};
use crate::fingerprint::Fingerprint;
use crate::simd::Vectors;

/// The share of quotients, in percent, that a table holds keys for. Beyond it most blocks are full.
const FULL_PERCENT: u64 = 98;
/// Slots behind the last quotient for runs that are pushed there. At the load above, runs reach
/// further with a probability of e^(−20).
const SPARE_SLOTS: u64 = 512;
/// A small table has one spare slot in so many.
const SPARE_SHARE: u64 = 12;

/// The width with which most tables are made, without growth.
const USUAL_CUT: SlotCut = SlotCut {
    scale: WHOLE,
    width_bits: 13,
    ages: 0,
    is_marked: false,
};
const USUAL_LAYOUT: Blocks = Blocks::new(USUAL_CUT.slot_bits());

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
fn quotients_in(slots: u64) -> u64 {
    slots - SPARE_SLOTS.min(slots / SPARE_SHARE)
}

/// Returns for how many quotients a table has room in so many bytes. The number does not jump from
/// block to block, so that a table with exactly twice as many quotients can be asked for.
pub(super) fn quotients_in_bytes(bytes: u64, layout: Blocks) -> u64 {
    let (block_slots, block_bytes) = (u64::from(layout.slots()), layout.bytes() as u64);
    let slots = u128::from(bytes) * u128::from(block_slots) / u128::from(block_bytes);
    // The table takes whole blocks.
    quotients_in((slots as u64).saturating_sub(block_slots - 1))
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
        layout: Blocks::new(1),
    };

    /// Returns a table with scale·2^level/16 times as many quotients as the first one has.
    pub fn new(first_quotients: u64, level: u32, cut: SlotCut) -> Self {
        let quotients = SlotCut::scaled(first_quotients << level, cut.scale);
        let layout = Blocks::new(cut.slot_bits());
        let mut blocks = layout.block_of(quotients - 1) + 1;
        while quotients_in(layout.first_of(blocks)) < quotients {
            blocks += 1;
        }
        QuotientTable {
            cut,
            parts: first_quotients,
            depth: level + cut.width_bits,
            quotients,
            blocks,
            capacity: quotients * FULL_PERCENT / 100,
            layout,
        }
    }

    /// Whether it is a table of the default width that does not grow.
    pub fn is_usual(&self) -> bool {
        self.cut == USUAL_CUT && self.level() == 0
    }

    /// Returns the same table, if it is a [usual](QuotientTable::is_usual) one, with constants
    /// instead of variables.
    #[inline(always)]
    pub fn with_constants(&self) -> Self {
        QuotientTable {
            cut: USUAL_CUT,
            depth: USUAL_CUT.width_bits,
            layout: USUAL_LAYOUT,
            ..*self
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

    /// Returns the fewest bytes in which there is [room](quotients_in_bytes) for its quotients.
    pub fn needed_bytes(&self) -> u64 {
        let (block_slots, block_bytes) =
            (u64::from(self.layout.slots()), self.layout.bytes() as u64);
        let mut slots = self.quotients;
        while quotients_in(slots) < self.quotients {
            slots += 1;
        }
        ((slots + block_slots - 1) * block_bytes).div_ceil(block_slots)
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
        self.layout.first_of(self.blocks)
    }

    /// Returns the number of blocks.
    #[inline(always)]
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
        SlotKey {
            fingerprint: self.number(fingerprint),
            cut: self.cut,
        }
    }

    /// Returns the quotient and the slot's value with which a key is stored.
    #[inline(always)]
    pub fn place(&self, fingerprint: Fingerprint) -> (u64, u64) {
        self.cut.place(self.number(fingerprint), 0)
    }

    #[inline(always)]
    fn number(&self, fingerprint: Fingerprint) -> u64 {
        let product = u128::from(fingerprint.0) * u128::from(self.parts);
        // The product without its last 64 − depth bits. The depth is from 1 to 61.
        let (high, low) = ((product >> u64::BITS) as u64, product as u64);
        let depth = self.depth % u64::BITS;
        high << depth | low >> ((u64::BITS - depth) % u64::BITS)
    }

    /// Returns the slot that holds a key.
    pub fn find(&self, bytes: &[u8], fingerprint: Fingerprint) -> Option<Holder> {
        let key = self.locate(fingerprint);
        self.holder(bytes, key, self.run(bytes, key.place().0))
    }

    /// Returns the slot that holds a key, given the run of its quotient.
    pub fn holder(&self, bytes: &[u8], key: SlotKey, run: Option<QuotientRun>) -> Option<Holder> {
        let quotients = key.quotients();
        let (first, last) = (*quotients.start(), *quotients.end());
        let own = self.holder_in(bytes, key, last, run);
        own.or_else(|| self.earlier_holder(bytes, key, first..last))
    }

    /// Looks for a shortened fingerprint that begins in an earlier quotient.
    // The table is passed by value: a reference would keep the caller's constants in memory.
    #[cold]
    #[inline(never)]
    pub fn earlier_holder(
        self,
        bytes: &[u8],
        key: SlotKey,
        quotients: Range<u64>,
    ) -> Option<Holder> {
        let mut quotients = quotients.rev();
        quotients.find_map(|it| self.holder_in(bytes, key, it, self.run(bytes, it)))
    }

    /// Returns the slot in the run of a quotient that holds a key. All of the run is compared: it is
    /// short, and the answer must not depend on the order in a damaged run.
    fn holder_in(
        &self,
        bytes: &[u8],
        key: SlotKey,
        quotient: u64,
        run: Option<QuotientRun>,
    ) -> Option<Holder> {
        let run = run?;
        let is_held = |slot: &u64| key.is_in(quotient, self.layout.remainder(bytes, *slot));
        let slot = run.slots().find(is_held)?;
        Some(Holder {
            quotient,
            run,
            slot,
        })
    }

    /// Whether a larger table surely has a slot for each fingerprint of this one. In a larger table
    /// runs reach no further behind the last quotient than in this one, except by rounding and
    /// because blocks begin elsewhere; but fingerprints that must be divided are more than before.
    pub fn surely_fits_into(&self, bytes: &[u8], larger: &QuotientTable) -> bool {
        const ROUNDING: u64 = 4;
        let block = u64::from(self.layout.slots());
        let oldest = self.cut.ages + larger.depth - self.depth;
        let last = self.run(bytes, self.quotients - 1);
        let spare = larger.slots() - larger.quotients;
        oldest <= larger.cut.ages
            && last.is_some_and(|run| run.end + 2 * block + ROUNDING <= self.quotients + spare)
    }

    /// Returns the slots of a quotient; an empty range, at the place for its first remainder, if it
    /// has none. None if the table is damaged.
    pub fn run(&self, bytes: &[u8], quotient: u64) -> Option<QuotientRun> {
        let (block, bit) = self.layout.split(quotient);
        let occupied = self.metadata(bytes, block).occupied;
        let runs_before = (occupied & ((1 << bit) - 1)).count_ones();
        let mut start = self.layout.first_of(block) + self.offset(bytes, block)?;
        if runs_before > 0 {
            start = self.end_number(bytes, start, runs_before)? + 1;
        }
        let end = match occupied >> bit & 1 {
            0 => start,
            _ => self.end_number(bytes, start, 1)? + 1,
        };
        Some(QuotientRun { start, end })
    }

    /// Returns the metadata of a block.
    #[inline(always)]
    pub fn metadata(&self, bytes: &[u8], block: u64) -> Metadata {
        self.layout.metadata(self.layout.block(bytes, block))
    }

    /// Returns the slot of the run end number `count`, counted from 1, at or after a slot.
    fn end_number(&self, bytes: &[u8], from: u64, count: u32) -> Option<u64> {
        let ((mut block, bit), mut left) = (self.layout.split(from), count);
        if block >= self.blocks {
            return None;
        }
        let mut ends = self.metadata(bytes, block).ends & (u64::MAX << bit);
        loop {
            let here = ends.count_ones();
            if left <= here {
                return Some(
                    self.layout.first_of(block)
                        + u64::from(Vectors::Portable.select(ends, left - 1)),
                );
            }
            left -= here;
            block += 1;
            if block == self.blocks {
                return None;
            }
            ends = self.metadata(bytes, block).ends;
        }
    }

    /// Returns the number of slots, from the first of a block, that runs of earlier blocks use.
    pub fn offset(&self, bytes: &[u8], block: u64) -> Option<u64> {
        match bytes[self.layout.byte_of(block)] {
            LONG_OFFSET => self.long_offset(bytes, block),
            offset => Some(offset.into()),
        }
    }

    /// Counts from the last block before with an offset that is not long.
    #[cold]
    fn long_offset(&self, bytes: &[u8], block: u64) -> Option<u64> {
        let first = self.last_short_offset(bytes, block)?;
        let offset = bytes[self.layout.byte_of(first)];
        let mut end = self.layout.first_of(first) + u64::from(offset);
        for block in first..block {
            let runs = self.metadata(bytes, block).occupied.count_ones();
            if runs > 0 {
                end = self.end_number(bytes, end, runs)? + 1;
            }
            end = end.max(self.layout.first_of(block + 1));
        }
        Some(end - self.layout.first_of(block))
    }

    /// Returns the last block, up to the given one, whose offset is not long.
    pub fn last_short_offset(&self, bytes: &[u8], block: u64) -> Option<u64> {
        let is_short = |&it: &u64| bytes[self.layout.byte_of(it)] != LONG_OFFSET;
        (0..=block).rev().find(is_short)
    }

    /// Returns the number of slots of a block that are in use.
    #[inline(always)]
    pub fn used(&self, bytes: &[u8], block: u64) -> u32 {
        self.metadata(bytes, block).used(self.layout.slots())
    }

    /// Whether a slot is in use.
    pub fn is_used(&self, bytes: &[u8], slot: u64) -> bool {
        let (block, bit) = self.layout.split(slot);
        bit < self.used(bytes, block)
    }
}
