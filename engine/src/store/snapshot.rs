//! The state of a store, read from files that a writer may be changing.
//!
//! A writer invalidates an image before it changes it, and never changes the newest one. So a
//! reader that finds a bad block reads the superblocks again. If they are the same, the block
//! is corrupt. If not, the writer has replaced the image, and the reader starts again.

use std::time::Duration;

use super::error::StoreError;
use super::format::image::read_region;
use super::format::mark::Mark;
use super::format::superblock::Superblock;
use super::medium::Medium;
use super::newest_image::{filter_of, newest_superblock};
use super::replay::{Replayed, replay};
use crate::audit::AuditedFilter;
use crate::filter::{FilterSpec, Registers};
use crate::region::Memory;

/// How often a reader starts again before it gives up.
pub const ATTEMPTS: u32 = 8;

/// An image in memory with every block checked, and the log applied once
/// [`follow`](Snapshot::follow) was called.
pub struct Snapshot {
    pub superblock: Superblock,
    pub spec: FilterSpec,
    pub filter: AuditedFilter,
    pub region: Memory,
    pub registers: Registers,
}

impl Snapshot {
    /// Loads an image, without the log.
    pub fn load(medium: &impl Medium, superblock: Superblock) -> Result<Self, StoreError> {
        let (spec, filter) = filter_of(&superblock)?;
        // Not a map: a map of a file changes when a writer changes the file.
        let region = read_region(medium, &superblock, true)?;
        Ok(Snapshot {
            registers: superblock.registers.clone(),
            superblock,
            spec,
            filter,
            region,
        })
    }

    /// Loads the newest image, without the log.
    pub fn newest(medium: &impl Medium) -> Result<Self, StoreError> {
        let mut attempt = 0;
        loop {
            let superblock = newest_superblock_with_retries(medium)?;
            let error = match Self::load(medium, superblock.clone()) {
                Ok(snapshot) => return Ok(snapshot),
                Err(error) => error,
            };
            attempt += 1;
            let replaced = matches!(error, StoreError::Corrupt(_))
                && newest_superblock_with_retries(medium)? != superblock;
            if !replaced || attempt == ATTEMPTS {
                return Err(error);
            }
        }
    }

    /// Loads the newest image and replays the intact part of the log: at least everything that
    /// was durable when this was called.
    pub fn current(medium: &impl Medium) -> Result<Self, StoreError> {
        let mut before = None;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let mut snapshot = Self::newest(medium)?;
            let mark = Mark::read(medium, &snapshot.superblock.store_id)?;
            let damage = match snapshot.follow(medium, &mark) {
                Ok(_) => return Ok(snapshot),
                // A writer is writing the tail right now.
                Err(StoreError::Corrupt(_)) if snapshot.sequence() >= mark.sequence => {
                    return Ok(snapshot);
                }
                Err(StoreError::Corrupt(damage)) => damage,
                Err(error) => return Err(error),
            };
            let found = Some((snapshot.superblock.generation, damage.clone()));
            if found == before || attempt == ATTEMPTS {
                return Err(StoreError::Corrupt(damage));
            }
            before = found;
        }
    }

    /// Replays the log after the image. If it fails at damage, the snapshot holds the
    /// observations before the damage.
    pub fn follow(&mut self, medium: &impl Medium, mark: &Mark) -> Result<Replayed, StoreError> {
        let (filter, registers) = (&self.filter, &mut self.registers);
        let region = &mut *self.region;
        let Superblock {
            store_id,
            layout,
            log,
            ..
        } = &self.superblock;
        let mut verdicts = Vec::new();
        replay(medium, store_id, layout, *log, mark, |recorded| {
            filter.replay(region, registers, recorded, &mut verdicts);
        })
    }

    /// Returns the sequence number: that of observations, and of keys taken out.
    pub fn sequence(&self) -> u64 {
        self.registers.sequence()
    }

    /// Returns a digest of the whole state. Parts of the region that the filter never used are left
    /// out.
    pub fn digest(&self) -> u64 {
        self.filter.state_digest(&self.region, &self.registers)
    }
}

/// Reads the newest valid superblock. Tries again for a short time if there is none: while a
/// writer finishes a checkpoint, both can look invalid to a reader.
pub fn newest_superblock_with_retries(medium: &impl Medium) -> Result<Superblock, StoreError> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        match newest_superblock(medium) {
            Err(StoreError::Corrupt(_)) if attempt < ATTEMPTS => {
                medium.pause(Duration::from_millis(1) * attempt);
            }
            result => return result,
        }
    }
}
