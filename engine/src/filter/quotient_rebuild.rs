//! Reads a quotient table in order, and writes one in order: for doubling and for merging.
//!
//! All sizes of a table hold the same fingerprints: quotient and remainder are the high and the low
//! bits of one number, and a table with twice the quotients has remainders that are one bit
//! shorter. So the fingerprints of a table come out sorted, and can be written into a table of
//! another size in the same order, in one pass.
//!
//! The new table is written over the old one. The old bytes are first moved to the end of the new
//! table, then read from there while the new table is written from its start. Near the end the
//! writer would overtake the reader; fingerprints wait in a queue until the reader has left the
//! bytes that they need. The queue stays short, because a fingerprint has nearly the same place,
//! relative to the size, in both tables.

use std::collections::VecDeque;

use super::quotient_block::SLOTS;
use super::quotient_table::QuotientTable;

/// A quotient and a remainder as one number, the same in tables of all sizes.
pub(super) type StoredFingerprint = u128;

/// Reads the fingerprints of a table in rising order. The bytes of the table are given with each
/// call, because others may be written meanwhile.
#[derive(Clone, Debug)]
pub(super) struct TableReader {
    table: QuotientTable,
    /// The block of the present quotient, and its occupied bits after that quotient.
    block: u64,
    occupied: Option<u64>,
    quotient: u64,
    /// The slot to read next, and whether it belongs to the present quotient.
    slot: u64,
    is_within_run: bool,
}

impl TableReader {
    pub fn new(table: QuotientTable) -> Self {
        TableReader {
            table,
            block: 0,
            occupied: None,
            quotient: 0,
            slot: 0,
            is_within_run: false,
        }
    }

    /// Returns the next fingerprint; None at the end.
    pub fn next(&mut self, bytes: &[u8]) -> Option<StoredFingerprint> {
        let layout = self.table.layout();
        if !self.is_within_run {
            self.quotient = self.next_quotient(bytes)?;
            self.slot = self.slot.max(self.quotient);
        }
        // Only a damaged table has a run without an end.
        if self.slot >= self.table.slots() {
            return None;
        }
        let remainder = layout.remainder(bytes, self.slot);
        self.is_within_run = !layout.is_end(bytes, self.slot);
        self.slot += 1;
        Some(u128::from(self.quotient) << layout.width_bits | u128::from(remainder))
    }

    fn next_quotient(&mut self, bytes: &[u8]) -> Option<u64> {
        let layout = self.table.layout();
        loop {
            let occupied = match self.occupied {
                Some(occupied) => occupied,
                None if self.block < self.table.blocks() => layout.occupied(bytes, self.block),
                None => return None,
            };
            if occupied != 0 {
                self.occupied = Some(occupied & (occupied - 1));
                return Some(self.block * SLOTS + u64::from(occupied.trailing_zeros()));
            }
            self.block += 1;
            self.occupied = None;
        }
    }

    /// Returns the first byte that is still needed.
    fn needed_from(&self) -> usize {
        self.table.layout().offset_at(self.block)
    }
}

/// Reads the fingerprints of two tables in rising order. One that is in both comes once.
#[derive(Clone, Debug)]
struct Union {
    readers: [TableReader; 2],
    heads: [Option<StoredFingerprint>; 2],
}

impl Union {
    fn new(tables: [QuotientTable; 2], bytes: [&[u8]; 2]) -> Self {
        let mut readers = tables.map(TableReader::new);
        let heads = [readers[0].next(bytes[0]), readers[1].next(bytes[1])];
        Union { readers, heads }
    }

    fn next(&mut self, bytes: [&[u8]; 2]) -> Option<StoredFingerprint> {
        let least = self.heads.iter().flatten().min().copied()?;
        for (index, head) in self.heads.iter_mut().enumerate() {
            if *head == Some(least) {
                *head = self.readers[index].next(bytes[index]);
            }
        }
        Some(least)
    }
}

/// Writes fingerprints in rising order into a table.
#[derive(Debug)]
struct TableWriter {
    table: QuotientTable,
    /// The number of blocks that have been cleared.
    cleared: u64,
    /// The number of blocks whose offset is written.
    offsets: u64,
    quotient: Option<u64>,
    /// The slot after the last one written.
    slot: u64,
}

impl TableWriter {
    fn new(table: QuotientTable) -> Self {
        TableWriter {
            table,
            cleared: 0,
            offsets: 0,
            quotient: None,
            slot: 0,
        }
    }

    fn quotient_of(&self, fingerprint: StoredFingerprint) -> u64 {
        (fingerprint >> self.table.layout().width_bits) as u64
    }

    /// Returns the slot of a fingerprint that comes next.
    fn slot_of(&self, fingerprint: StoredFingerprint) -> u64 {
        self.slot.max(self.quotient_of(fingerprint))
    }

    /// Returns the byte after the block with a slot.
    fn end_of_block(&self, slot: u64) -> usize {
        self.table.layout().offset_at(slot / SLOTS + 1)
    }

    fn push(&mut self, bytes: &mut [u8], fingerprint: StoredFingerprint) {
        let layout = self.table.layout();
        let (quotient, slot) = (self.quotient_of(fingerprint), self.slot_of(fingerprint));
        self.clear_to(bytes, slot / SLOTS + 1);
        if self.quotient == Some(quotient) {
            layout.set_end(bytes, slot - 1, false);
        } else {
            self.write_offsets(bytes, quotient / SLOTS + 1);
            layout.set_occupied(bytes, quotient, true);
        }
        let mask = (1u128 << layout.width_bits) - 1;
        layout.set_remainder(bytes, slot, (fingerprint & mask) as u64);
        layout.set_end(bytes, slot, true);
        (self.quotient, self.slot) = (Some(quotient), slot + 1);
    }

    fn finish(&mut self, bytes: &mut [u8]) {
        self.clear_to(bytes, self.table.blocks());
        self.write_offsets(bytes, self.table.blocks());
    }

    fn clear_to(&mut self, bytes: &mut [u8], blocks: u64) {
        if self.cleared < blocks {
            let layout = self.table.layout();
            bytes[layout.offset_at(self.cleared)..layout.offset_at(blocks)].fill(0);
            self.cleared = blocks;
        }
    }

    /// Writes the offsets of blocks before whose quotients everything is written.
    fn write_offsets(&mut self, bytes: &mut [u8], blocks: u64) {
        for block in self.offsets..blocks {
            let offset = self.slot.saturating_sub(block * SLOTS);
            self.table.set_offset(bytes, block, offset);
        }
        self.offsets = self.offsets.max(blocks);
    }
}

/// Turns the table `from`, at the start of the bytes, into the table `to`, which has the same
/// fingerprints and those of another table. The result has room for all of them.
pub(super) fn rebuild(
    bytes: &mut [u8],
    from: QuotientTable,
    to: QuotientTable,
    (other, other_bytes): (QuotientTable, &[u8]),
) {
    let moved_by = to.bytes() - from.bytes();
    bytes.copy_within(..from.bytes(), moved_by);
    let mut union = Union::new([from, other], [&bytes[moved_by..], other_bytes]);
    let mut writer = TableWriter::new(to);
    let mut waiting: VecDeque<StoredFingerprint> = VecDeque::new();
    loop {
        let next = union.next([&bytes[moved_by..], other_bytes]);
        waiting.extend(next);
        let needed_from = match next {
            Some(_) => moved_by + union.readers[0].needed_from(),
            None => usize::MAX,
        };
        while let Some(&first) = waiting.front() {
            if writer.end_of_block(writer.slot_of(first)) > needed_from {
                break;
            }
            writer.push(bytes, first);
            waiting.pop_front();
        }
        if next.is_none() {
            break;
        }
    }
    writer.finish(bytes);
}

/// Doubles a table in place.
pub(super) fn double(bytes: &mut [u8], from: QuotientTable, to: QuotientTable) {
    rebuild(bytes, from, to, (QuotientTable::new(0, 1), &[]));
}

/// Counts the fingerprints of two tables, and those of them for which each table of `sizes` has no
/// slot.
pub(super) fn count_union(
    tables: [QuotientTable; 2],
    bytes: [&[u8]; 2],
    sizes: &[QuotientTable],
) -> (u64, Vec<bool>) {
    let mut union = Union::new(tables, bytes);
    let mut writers: Vec<TableWriter> =
        sizes.iter().map(|&table| TableWriter::new(table)).collect();
    let mut count = 0;
    while let Some(fingerprint) = union.next(bytes) {
        count += 1;
        for writer in &mut writers {
            writer.slot = writer.slot_of(fingerprint) + 1;
        }
    }
    let fits = writers.iter().map(|it| it.slot <= it.table.slots());
    (count, fits.collect())
}
