//! Looks up and inserts keys whose run is in the block of their quotient: nearly all keys.
//!
//! Only one block is read and written, most often one cache line, and few branches depend on what
//! it holds.

use super::cache_lines::CACHE_LINE_BYTES;
use super::quotient_metadata::{LocalRun, Metadata};
use super::quotient_table::QuotientTable;
use super::slot_key::SlotKey;
use crate::fingerprint::Fingerprint;
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::simd::{AnyVectorWork, Vectors};

/// What the block of a key's quotient says about the key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Local {
    /// The table holds the key.
    Held,
    /// The table does not hold the key, which belongs here.
    Absent(LocalPlace),
    /// Other blocks must be read.
    Unknown,
}

/// The place of a key that the table does not hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalPlace {
    block: u64,
    /// The number of the quotient in the block.
    bit: u32,
    metadata: Metadata,
    run: LocalRun,
    /// How many values of the run are less than that of the key.
    less: u32,
    value: u64,
}

/// If one of so many last slots is in use, an insertion probably needs the next block too.
const LAST_SLOTS: u32 = 3;
/// How many blocks ahead memory is prefetched while slots are pushed from block to block.
const LATER_BLOCKS: u64 = 4;

impl QuotientTable {
    /// Prefetches the block of a key, in a region in which block 0 begins at `first_byte`.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], first_byte: usize, fingerprint: Fingerprint) {
        let layout = self.layout();
        let (quotient, _) = self.place(fingerprint);
        let block = first_byte + layout.byte_of(layout.block_of(quotient));
        for line in (0..layout.bytes()).step_by(CACHE_LINE_BYTES) {
            prefetch(region, block + line);
        }
    }

    /// Prefetches the block after that of a key, if that is nearly full.
    #[inline(always)]
    pub fn prefetch_next(&self, bytes: &[u8], fingerprint: Fingerprint) {
        let layout = self.layout();
        let (quotient, _) = self.place(fingerprint);
        let block = layout.block_of(quotient);
        let ends = self.metadata(bytes, block).ends;
        let is_full = ends >> (layout.slots() - LAST_SLOTS) != 0;
        // Without a branch, which would be mispredicted.
        prefetch(bytes, layout.byte_of(block + u64::from(is_full)));
    }

    /// Looks for a key in the block of its quotient.
    #[inline(always)]
    pub fn look_up(&self, bytes: &[u8], fingerprint: Fingerprint, vectors: Vectors) -> Local {
        let layout = self.layout();
        let (quotient, value) = self.place(fingerprint);
        let (block, bit) = layout.split(quotient);
        let block_bytes = layout.block(bytes, block);
        let metadata = layout.metadata(block_bytes);
        let Some(run) = metadata.local_run(bit, layout.slots(), vectors) else {
            return Local::Unknown;
        };
        let (less, is_held) = layout.compare(block_bytes, run, value);
        if is_held {
            return Local::Held;
        }
        if self.cut().is_marked && self.holds_shortened(bytes, self.locate(fingerprint), block, run)
        {
            return Local::Held;
        }
        Local::Absent(LocalPlace {
            block,
            bit,
            metadata,
            run,
            less,
            value,
        })
    }

    /// Whether a run or an earlier one holds a shortened fingerprint of a key.
    #[inline(always)]
    fn holds_shortened(&self, bytes: &[u8], key: SlotKey, block: u64, run: LocalRun) -> bool {
        let layout = self.layout();
        let block_bytes = layout.block(bytes, block);
        let quotients = key.quotients();
        let (first, last) = (*quotients.start(), *quotients.end());
        for slot in run.start..run.start + run.length {
            if key.is_in(last, layout.remainder_in(block_bytes, slot)) {
                return true;
            }
        }
        first != last && self.earlier_holder(bytes, key, first..last).is_some()
    }

    /// Inserts a key. Returns false, and changes nothing, if it does not belong into this block or
    /// no slot is free behind it. `stored` is the same table, to which a reference may be given.
    #[inline(always)]
    pub fn insert_local<R: Region + ?Sized>(
        &self,
        stored: &Self,
        region: &mut R,
        place: LocalPlace,
        vectors: Vectors,
    ) -> bool {
        let layout = self.layout();
        let LocalPlace {
            block, run, less, ..
        } = place;
        let mut metadata = place.metadata;
        let is_full = metadata.used(layout.slots()) >= layout.slots();
        let slot = run.start + less;
        let is_end = less == run.length;
        // The slot before was the last of the run.
        let ended = u64::from(is_end & (less > 0)) << slot >> 1;
        metadata.occupied |= 1 << place.bit;
        metadata.ends &= !ended;
        if is_full {
            return stored.insert_and_push(
                region,
                block,
                metadata,
                (slot, place.value, is_end),
                vectors,
            );
        }
        metadata.insert_end(slot, is_end);
        let changed = region.bytes_mut(self.range_of(block, block));
        layout.insert(changed, slot, place.value, metadata, vectors);
        true
    }

    /// Inserts a key into a block that is full.
    #[cold]
    #[inline(never)]
    fn insert_and_push<R: Region + ?Sized>(
        &self,
        region: &mut R,
        block: u64,
        metadata: Metadata,
        inserted: (u32, u64, bool),
        vectors: Vectors,
    ) -> bool {
        let mut is_done = false;
        let push = Push {
            table: *self,
            region,
            block,
            metadata,
            inserted,
            is_done: &mut is_done,
        };
        vectors.run(push);
        is_done
    }
}

/// The insertion of a key into a block that is full, compiled for vector instructions.
struct Push<'a, R: ?Sized> {
    table: QuotientTable,
    region: &'a mut R,
    block: u64,
    metadata: Metadata,
    inserted: (u32, u64, bool),
    is_done: &'a mut bool,
}

impl<R: Region + ?Sized> AnyVectorWork for Push<'_, R> {
    #[inline(always)]
    fn run(self, vectors: Vectors) {
        let table = self.table;
        match table.is_usual() {
            true => self.run_in(table.with_constants(), vectors),
            false => self.run_in(table, vectors),
        }
    }
}

impl<R: Region + ?Sized> Push<'_, R> {
    #[inline(always)]
    fn run_in(self, table: QuotientTable, vectors: Vectors) {
        let (layout, block, bytes) = (table.layout(), self.block, self.region.bytes());
        // The next block has been prefetched.
        for later in block + 2..block + LATER_BLOCKS {
            prefetch(bytes, layout.byte_of(later));
        }
        let mut last = block + 1;
        loop {
            if last >= table.blocks() {
                return;
            }
            prefetch(bytes, layout.byte_of(last + LATER_BLOCKS - 1));
            if table.used(bytes, last) < layout.slots() {
                break;
            }
            last += 1;
        }
        if self.inserted.0 < layout.slots() {
            let changed = self.region.bytes_mut(table.range_of(block, last));
            table.insert_into_blocks(changed, self.metadata, self.inserted, vectors);
            *self.is_done = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::observe_one;
    use super::super::quotient::Quotient;
    use super::super::{Filter, FilterSpec, Observation, Registers, Verdict};
    use super::*;
    use crate::fingerprint::KeyHasher;

    /// All forms give the same bytes, verdicts and registers, until the table is full and beyond, and
    /// so do tables with constants and without.
    #[test]
    fn all_vectors_compute_the_same() {
        let hasher = KeyHasher::new(8);
        let keys: Vec<Observation> = (0..6000u64)
            .map(|i| hasher.fingerprint(&(i * i % 7919).to_le_bytes()).into())
            .collect();
        for text in [
            "bits=13",
            "bits=4",
            "bits=18",
            "bits=20",
            "bits=13,doublings=4",
            "bits=12,doublings=5,longest=14",
        ] {
            let spec: FilterSpec = format!("quotient:{text}").parse().expect("a filter");
            let filter = Quotient::build(&spec, 40_000).expect("enough memory");
            assert_eq!(filter.is_usual, text == "bits=13");
            let run = |filter: Quotient| {
                let mut region = vec![0; filter.region_bytes() as usize];
                let mut registers = Registers::new(1);
                let verdicts: Vec<Verdict> = keys
                    .iter()
                    .map(|&key| observe_one(&filter, &mut region[..], &mut registers, key))
                    .collect();
                assert_eq!(registers.occupied(), filter.recount(&region), "{text}");
                (verdicts, region, registers)
            };
            let mut portable = filter.with_vectors(Vectors::Portable);
            portable.is_usual = false;
            let expected = run(portable);
            for vectors in Vectors::all_detected() {
                assert!(
                    run(filter.with_vectors(vectors)) == expected,
                    "{text}, {vectors:?}"
                );
            }
        }
    }
}
