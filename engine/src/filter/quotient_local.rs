//! Looks up and inserts keys whose run is in the block of their quotient: nearly all keys.
//!
//! Only one block is read and written, most often one cache line, and few branches depend on what
//! it holds.

use super::quotient_block::{LocalRun, Metadata};
use super::quotient_table::QuotientTable;
use super::slot_key::SlotKey;
use crate::region::Region;
use crate::simd::Vectors;

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

impl QuotientTable {
    /// Looks for a key in the block of its quotient.
    #[inline(always)]
    pub fn look_up(&self, bytes: &[u8], key: SlotKey, vectors: Vectors) -> Local {
        let layout = self.layout();
        let (quotient, value) = key.place();
        let (block, bit) = layout.split(quotient);
        let block_bytes = layout.block(bytes, block);
        let metadata = layout.metadata(block_bytes);
        let Some(run) = metadata.local_run(bit, layout.slots(), vectors) else {
            return Local::Unknown;
        };
        let (less, is_held) = layout.compare(block_bytes, run, value);
        if is_held || (key.cut.is_marked && self.holds_shortened(bytes, key, block, run)) {
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
        let mut slots = run.start..run.start + run.length;
        slots.any(|slot| key.is_in(last, layout.remainder_in(block_bytes, slot)))
            || (first != last && self.earlier_holder(bytes, key, first..last).is_some())
    }

    /// Inserts a key. Returns false, and changes nothing, if its block is full.
    #[inline(always)]
    pub fn insert_local<R: Region + ?Sized>(&self, region: &mut R, place: LocalPlace) -> bool {
        let layout = self.layout();
        let LocalPlace { run, less, .. } = place;
        let mut metadata = place.metadata;
        if metadata.used(layout.slots()) >= layout.slots() {
            return false;
        }
        let slot = run.start + less;
        let is_end = less == run.length;
        // The slot before was the last of the run.
        let ended = u64::from(is_end & (less > 0)) << slot >> 1;
        metadata.occupied |= 1 << place.bit;
        metadata.ends &= !ended;
        metadata.insert_end(slot, is_end);
        let changed = region.bytes_mut(self.range_of(place.block, place.block));
        layout.insert(changed, slot, place.value, metadata);
        true
    }
}
