//! Reads a quotient table in order, and writes one in order: for growth and for merging.
//!
//! Tables of all sizes hold the same fingerprints, and each keeps them in the same order. So the
//! fingerprints of a table come out sorted, and can be written into a table of another size in one
//! pass. Fingerprints that would become too short in the new table are divided: one that stands for
//! 2^a parts becomes two that stand for 2^(a−1) each.
//!
//! The new table is written over the old one. The old bytes are first moved to the end of the new
//! table, then read from there while the new table is written from its start. Near the end the
//! writer would overtake the reader; fingerprints wait until the reader has left the bytes that they
//! need. Few wait, because a fingerprint has nearly the same place, relative to the size, in both
//! tables.

use super::quotient_block::LONG_OFFSET;
use super::quotient_table::QuotientTable;
use super::slot_key::Interval;

/// Reads the fingerprints of a table in rising order, block by block. The bytes of the table are
/// given with each call, because others may be written meanwhile.
#[derive(Clone, Debug)]
struct TableReader {
    table: QuotientTable,
    /// How many bits longer the fingerprints are to be.
    longer_bits: u32,
    /// The block whose quotients come next.
    block: u64,
    /// The first slot that was not read.
    slot: u64,
}

impl TableReader {
    /// Returns a reader that gives fingerprints of so many bits behind the point.
    fn new(table: QuotientTable, depth: u32) -> Self {
        TableReader {
            table,
            longer_bits: depth - table.depth(),
            block: 0,
            slot: 0,
        }
    }

    /// Appends the fingerprints of the quotients of the next block. Returns false at the end.
    fn read_block(&mut self, bytes: &[u8], intervals: &mut Vec<Interval>) -> bool {
        if self.block >= self.table.blocks() {
            return false;
        }
        let (layout, cut, slots) = (self.table.layout(), self.table.cut(), self.table.slots());
        let first_quotient = layout.first_of(self.block);
        let mut occupied = self.table.metadata(bytes, self.block).occupied;
        let (mut slot, longer) = (self.slot.max(first_quotient), self.longer_bits);
        while occupied != 0 {
            let quotient = first_quotient + u64::from(occupied.trailing_zeros());
            occupied &= occupied - 1;
            let first = intervals.len();
            loop {
                // Only a damaged table has a run without an end.
                if slot >= slots {
                    self.block = self.table.blocks();
                    return true;
                }
                if let Some(it) = cut.interval(quotient, layout.remainder(bytes, slot)) {
                    intervals.push(Interval {
                        start: it.start << longer,
                        age: it.age + longer,
                    });
                }
                let (block, bit) = layout.split(slot);
                slot += 1;
                if self.table.metadata(bytes, block).ends >> bit & 1 == 1 {
                    break;
                }
            }
            // Slots are in the order of their values; if fingerprints are of several lengths, that
            // is not always the order of what they stand for.
            if cut.ages > 0 && intervals.len() > first + 1 {
                intervals[first..].sort_unstable_by_key(|it| it.start);
            }
        }
        self.block += 1;
        self.slot = slot;
        true
    }

    /// Returns the first byte that is still needed.
    fn needed_from(&self) -> usize {
        match self.block < self.table.blocks() {
            true => self.table.layout().byte_of(self.block),
            false => usize::MAX,
        }
    }
}

/// Reads the fingerprints of two tables in rising order. One that is also in the other table comes
/// once, and of a fingerprint and a shortened form of it only the shortened one.
#[derive(Clone, Debug)]
struct Union {
    readers: [TableReader; 2],
    /// What was read and has not been returned, from `next` on.
    read: [Vec<Interval>; 2],
    next: [usize; 2],
    /// The end of the last interval.
    covered: u64,
}

impl Union {
    fn new(tables: [QuotientTable; 2], depth: u32) -> Self {
        Union {
            readers: tables.map(|table| TableReader::new(table, depth)),
            read: [Vec::new(), Vec::new()],
            next: [0; 2],
            covered: 0,
        }
    }

    /// Returns the next fingerprint of one table.
    fn head(&mut self, which: usize, bytes: &[u8]) -> Option<Interval> {
        while self.next[which] == self.read[which].len() {
            self.read[which].clear();
            self.next[which] = 0;
            if !self.readers[which].read_block(bytes, &mut self.read[which]) {
                return None;
            }
        }
        self.read[which].get(self.next[which]).copied()
    }

    /// Appends at least one fingerprint. Returns false at the end.
    fn read(&mut self, bytes: [&[u8]; 2], intervals: &mut Vec<Interval>) -> bool {
        // Nothing is in both.
        if self.readers[1].table.blocks() == 0 {
            return self.readers[0].read_block(bytes[0], intervals);
        }
        loop {
            let heads = [self.head(0, bytes[0]), self.head(1, bytes[1])];
            // The longer one of two that start together comes first, and covers the other.
            let which = match heads {
                [Some(own), Some(other)] => {
                    usize::from((other.start, own.age) < (own.start, other.age))
                }
                [own, _] => usize::from(own.is_none()),
            };
            let Some(next) = heads[which] else {
                return false;
            };
            self.next[which] += 1;
            if next.start >= self.covered {
                self.covered = next.end();
                intervals.push(next);
                return true;
            }
        }
    }
}

/// Divides fingerprints, from one on, so that none is older than `ages`.
fn divide(intervals: &mut Vec<Interval>, first: usize, ages: u32) {
    if intervals[first..].iter().all(|it| it.age <= ages) {
        return;
    }
    let whole = intervals.split_off(first);
    for it in whole {
        let age = it.age.min(ages);
        let parts = 0..1u64 << (it.age - age);
        intervals.extend(parts.map(|part| Interval {
            start: it.start.saturating_add(part << age),
            age,
        }));
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
    /// The slot after the last one written.
    slot: u64,
    /// The values of one run.
    values: Vec<u64>,
}

impl TableWriter {
    fn new(table: QuotientTable) -> Self {
        TableWriter {
            table,
            cleared: 0,
            offsets: 0,
            slot: 0,
            values: Vec::new(),
        }
    }

    /// Writes whole runs, and returns of how many fingerprints. Bytes from `limit` on are still
    /// needed. The last run is not whole, unless the fingerprints are the last of all.
    fn write(
        &mut self,
        bytes: &mut [u8],
        intervals: &[Interval],
        limit: usize,
        are_last: bool,
    ) -> usize {
        let cut = self.table.cut();
        let place = |at: usize| {
            let it = intervals.get(at)?;
            Some(cut.place(it.start >> it.age, it.age))
        };
        let (mut written, mut next) = (0, place(0));
        while let Some((quotient, value)) = next {
            self.values.clear();
            self.values.push(value);
            let mut end = written;
            next = loop {
                end += 1;
                match place(end) {
                    Some((same, value)) if same == quotient => self.values.push(value),
                    other => break other,
                }
            };
            if (next.is_none() && !are_last) || !self.write_run(bytes, quotient, limit) {
                break;
            }
            written = end;
        }
        written
    }

    /// Writes the values as a run. Returns false, and changes nothing, if bytes from `limit` on would
    /// be overwritten.
    #[inline]
    fn write_run(&mut self, bytes: &mut [u8], quotient: u64, limit: usize) -> bool {
        let layout = self.table.layout();
        let (own, bit) = layout.split(quotient);
        let first = self.slot.max(layout.first_of(own));
        let end = first + self.values.len() as u64;
        // A run behind the last slot occurs only if the old table was damaged.
        if end > self.table.slots() {
            return true;
        }
        let blocks = layout.block_of(end - 1) + 1;
        if layout.byte_of(blocks) > limit {
            return false;
        }
        self.clear_to(bytes, blocks);
        self.write_offsets(bytes, own + 1);
        layout.change(bytes, own, |it| it.occupied |= 1 << bit);
        if self.values.len() > 1 {
            self.values.sort_unstable();
        }
        for (slot, &value) in (first..).zip(&self.values) {
            let (block, slot) = layout.split(slot);
            layout.set_remainder(layout.block_mut(bytes, block), slot, value);
        }
        let (block, last) = layout.split(end - 1);
        layout.change(bytes, block, |it| it.ends |= 1 << last);
        self.slot = end;
        true
    }

    fn finish(&mut self, bytes: &mut [u8]) {
        self.clear_to(bytes, self.table.blocks());
        self.write_offsets(bytes, self.table.blocks());
    }

    #[inline]
    fn clear_to(&mut self, bytes: &mut [u8], blocks: u64) {
        if self.cleared < blocks {
            let layout = self.table.layout();
            bytes[layout.byte_of(self.cleared)..layout.byte_of(blocks)].fill(0);
            self.cleared = blocks;
        }
    }

    /// Writes the offsets of blocks before whose quotients everything is written.
    #[inline]
    fn write_offsets(&mut self, bytes: &mut [u8], blocks: u64) {
        let layout = self.table.layout();
        for block in self.offsets..blocks {
            let offset = self.slot.saturating_sub(layout.first_of(block));
            bytes[layout.byte_of(block)] = offset.min(LONG_OFFSET.into()) as u8;
        }
        self.offsets = self.offsets.max(blocks);
    }
}

/// Turns the table `from`, at the start of the bytes, into the table `to`, which is not smaller and
/// has the same fingerprints and those of another table. The result has [room](count_union) for
/// all of them.
pub(super) fn rebuild(
    bytes: &mut [u8],
    from: QuotientTable,
    to: QuotientTable,
    (other, other_bytes): (QuotientTable, &[u8]),
) {
    let moved_by = to.bytes().saturating_sub(from.bytes());
    bytes.copy_within(..from.bytes(), moved_by);
    let mut union = Union::new([from, other], to.depth());
    let mut writer = TableWriter::new(to);
    let mut waiting: Vec<Interval> = Vec::new();
    loop {
        let first = waiting.len();
        let is_at_end = !union.read([&bytes[moved_by..], other_bytes], &mut waiting);
        divide(&mut waiting, first, to.cut().ages);
        let limit = moved_by.saturating_add(union.readers[0].needed_from());
        let written = writer.write(bytes, &waiting, limit, is_at_end);
        waiting.drain(..written);
        if is_at_end {
            break;
        }
    }
    writer.finish(bytes);
}

/// What a table of some size would hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    /// The number of fingerprints.
    pub count: u64,
    /// The number of parts, as small as for new keys, that they stand for.
    pub parts: u64,
    /// Whether there is a slot for each.
    pub fits: bool,
}

/// Returns what a table of a size would hold with the fingerprints of two tables.
pub(super) fn count_union(
    tables: [QuotientTable; 2],
    bytes: [&[u8]; 2],
    size: QuotientTable,
) -> Content {
    let mut union = Union::new(tables, size.depth());
    let (mut count, mut parts, mut slot) = (0, 0, 0);
    let mut intervals = Vec::new();
    while union.read(bytes, &mut intervals) {
        divide(&mut intervals, 0, size.cut().ages);
        for it in intervals.drain(..) {
            count += 1;
            parts += it.end() - it.start;
            let quotient = size.cut().place(it.start >> it.age, it.age).0;
            let block = size.layout().block_of(quotient);
            slot = size.layout().first_of(block).max(slot) + 1;
        }
    }
    Content {
        count,
        parts,
        fits: slot <= size.slots(),
    }
}
