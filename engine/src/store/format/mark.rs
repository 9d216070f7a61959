//! The mark: how many observations are known to be durable. Two slots, written alternately.
//!
//! It is written after every sync of the log. If a frame below the mark is bad, an
//! acknowledged frame is corrupt; if a frame above it is bad, a crash tore the log's tail.

use super::checksum::{StoreId, checksum_at};
use crate::bytes::{read_u32, read_u64, write_u32, write_u64};
use crate::store::error::{Damage, StoreError};
use crate::store::file_access::FileAccess;
use crate::store::medium::{Medium, StoreFile};

/// The offsets of the slots, in different pages.
pub const SLOT_OFFSETS: [u64; 2] = [0, 4096];
/// One sector, which a disk writes completely or not at all.
pub const SLOT_BYTES: usize = 512;
const MAGIC: &[u8; 8] = b"dedupsmk";

/// What a slot holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Counts the writes of the mark. Its lowest bit is the slot.
    pub turn: u64,
    /// Observations known to be durable.
    pub sequence: u64,
    /// How often the store has been opened for writing.
    pub incarnation: u32,
}

impl Mark {
    /// Writes the next mark into the other slot.
    pub fn advance(
        &mut self,
        medium: &impl Medium,
        store: &StoreId,
        sequence: u64,
    ) -> Result<(), StoreError> {
        self.turn += 1;
        self.sequence = self.sequence.max(sequence);
        medium.write_at(StoreFile::Mark, self.offset(), &self.encode(store))
    }

    /// Returns the offset of this mark's slot.
    pub fn offset(&self) -> u64 {
        SLOT_OFFSETS[(self.turn % 2) as usize]
    }

    /// Encodes the slot: magic, turn, sequence, incarnation, checksum.
    pub fn encode(&self, store: &StoreId) -> [u8; SLOT_BYTES] {
        let mut slot = [0; SLOT_BYTES];
        slot[..8].copy_from_slice(MAGIC);
        write_u64(&mut slot, 8, self.turn);
        write_u64(&mut slot, 16, self.sequence);
        write_u32(&mut slot, 24, self.incarnation);
        let checksum = checksum_at(store, self.turn, self.offset(), &slot[..SLOT_BYTES - 4]);
        write_u32(&mut slot, SLOT_BYTES - 4, checksum);
        slot
    }

    fn decode(store: &StoreId, place: u64, slot: &[u8]) -> Option<Self> {
        let mark = Mark {
            turn: read_u64(slot, 8),
            sequence: read_u64(slot, 16),
            incarnation: read_u32(slot, 24),
        };
        (mark.offset() == place && mark.encode(store)[..] == *slot).then_some(mark)
    }

    /// Reads both slots. A slot is None if it is not intact.
    pub fn slots(medium: &impl Medium, store: &StoreId) -> Result<[Option<Mark>; 2], StoreError> {
        let mut slots = [None; 2];
        for (slot, place) in slots.iter_mut().zip(SLOT_OFFSETS) {
            let mut bytes = [0; SLOT_BYTES];
            medium.read_at(StoreFile::Mark, place, &mut bytes)?;
            *slot = Mark::decode(store, place, &bytes);
        }
        Ok(slots)
    }

    /// Reads the newest mark, or None if neither slot is intact.
    pub fn newest(medium: &impl Medium, store: &StoreId) -> Result<Option<Self>, StoreError> {
        let slots = Mark::slots(medium, store)?;
        Ok(slots.into_iter().flatten().max_by_key(|mark| mark.turn))
    }

    /// Reads the newest mark. Fails if neither slot is intact: a crash can tear one slot, but
    /// never both.
    pub fn read(medium: &impl Medium, store: &StoreId) -> Result<Self, StoreError> {
        Mark::newest(medium, store)?.ok_or_else(|| {
            StoreError::Corrupt(Damage {
                file: StoreFile::Mark,
                offset: 0,
                expected: "at least one intact slot".to_owned(),
                found: "none".to_owned(),
            })
        })
    }
}
