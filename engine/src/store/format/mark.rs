//! What is known to be durable: two slots, written in turn.
//!
//! After a sync the mark says how far the log is safe. It is what tells rot in a frame
//! that was acknowledged from a tail that a crash tore.

use super::checksum::{StoreId, placed};
use super::error::{Damage, StoreError};
use super::medium::{Medium, StoreFile};
use crate::bytes::{read_u32, read_u64, write_u32, write_u64};

/// The slots lie in different pages.
pub const SLOT_OFFSETS: [u64; 2] = [0, 4096];
/// One sector: written whole or not at all.
pub const SLOT_BYTES: usize = 512;
const MAGIC: &[u8; 8] = b"dedupsmk";

/// The last state of the mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Counts writes; the slot is its last bit.
    pub turn: u64,
    /// Observations known to be durable.
    pub sequence: u64,
    /// How often the store has been opened for writing.
    pub incarnation: u32,
}

impl Mark {
    /// Writes the mark that follows this one.
    pub fn advance(
        &mut self,
        medium: &impl Medium,
        store: &StoreId,
        sequence: u64,
    ) -> Result<(), StoreError> {
        self.turn += 1;
        self.sequence = self.sequence.max(sequence);
        medium
            .write(StoreFile::Mark, self.offset(), &self.encode(store))
            .map_err(|error| StoreError::on_file("write", StoreFile::Mark, error))
    }

    /// Where this mark's slot is.
    pub fn offset(&self) -> u64 {
        SLOT_OFFSETS[(self.turn % 2) as usize]
    }

    /// The slot as bytes: magic, turn, sequence, incarnation, checksum.
    pub fn encode(&self, store: &StoreId) -> [u8; SLOT_BYTES] {
        let mut slot = [0; SLOT_BYTES];
        slot[..8].copy_from_slice(MAGIC);
        write_u64(&mut slot, 8, self.turn);
        write_u64(&mut slot, 16, self.sequence);
        write_u32(&mut slot, 24, self.incarnation);
        let checksum = placed(store, self.turn, self.offset(), &slot[..SLOT_BYTES - 4]);
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

    /// Both slots, as far as they are whole.
    pub fn slots(medium: &impl Medium, store: &StoreId) -> Result<[Option<Mark>; 2], StoreError> {
        let mut slots = [None; 2];
        for (slot, place) in slots.iter_mut().zip(SLOT_OFFSETS) {
            let mut bytes = [0; SLOT_BYTES];
            medium
                .read(StoreFile::Mark, place, &mut bytes)
                .map_err(|error| StoreError::on_file("read", StoreFile::Mark, error))?;
            *slot = Mark::decode(store, place, &bytes);
        }
        Ok(slots)
    }

    /// The newer of the two slots. A crash can tear one, never both.
    pub fn read(medium: &impl Medium, store: &StoreId) -> Result<Self, StoreError> {
        let slots = Mark::slots(medium, store)?;
        let newest = slots.into_iter().flatten().max_by_key(|mark| mark.turn);
        newest.ok_or_else(|| {
            StoreError::Corrupt(Damage {
                file: StoreFile::Mark,
                offset: 0,
                expected: "at least one whole slot".to_owned(),
                found: "none".to_owned(),
            })
        })
    }
}
