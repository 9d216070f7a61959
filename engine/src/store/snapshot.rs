//! A state read from files that a writer may be changing.
//!
//! A writer makes an image invalid before it changes it, and never changes the newest one.
//! So a reader that comes upon a bad block looks at the superblocks again: if they are the
//! same, the block is damaged; if not, the writer has overtaken it, and it starts anew.

use std::time::Duration;

use super::error::StoreError;
use super::image::read_region;
use super::mark::Mark;
use super::medium::Medium;
use super::origin::{filter_of, newest_superblock};
use super::replay::{Replayed, replay};
use super::superblock::Superblock;
use crate::audit::AuditedFilter;
use crate::filter::{FilterSpec, Registers, state_digest};
use crate::region::Memory;

/// How often a writer may overtake a reader before the reader gives up.
pub const ATTEMPTS: u32 = 8;

/// An image in memory, every block checked; and, once followed, what the log adds to it.
pub struct Snapshot {
    pub superblock: Superblock,
    pub spec: FilterSpec,
    pub filter: AuditedFilter,
    pub region: Memory,
    pub registers: Registers,
}

impl Snapshot {
    /// A chosen image, without the log.
    pub fn load(medium: &impl Medium, superblock: Superblock) -> Result<Self, StoreError> {
        let (spec, filter) = filter_of(&superblock)?;
        // A map of a file that a writer may change would change with it.
        let region = read_region(medium, &superblock, true)?;
        Ok(Snapshot {
            registers: superblock.registers.clone(),
            superblock,
            spec,
            filter,
            region,
        })
    }

    /// The newest image, without the log.
    pub fn newest(medium: &impl Medium) -> Result<Self, StoreError> {
        let mut attempt = 0;
        loop {
            let superblock = newest_superblock_soon(medium)?;
            let error = match Self::load(medium, superblock.clone()) {
                Ok(snapshot) => return Ok(snapshot),
                Err(error) => error,
            };
            attempt += 1;
            let overtaken = matches!(error, StoreError::Corrupt(_))
                && newest_superblock_soon(medium)? != superblock;
            if !overtaken || attempt == ATTEMPTS {
                return Err(error);
            }
        }
    }

    /// The newest image and the log, as far as it is whole: at least everything that was
    /// durable when this was called.
    pub fn current(medium: &impl Medium) -> Result<Self, StoreError> {
        let mut before = None;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let mut snapshot = Self::newest(medium)?;
            let mark = Mark::read(medium, &snapshot.superblock.store_id)?;
            let damage = match snapshot.follow(medium, &mark) {
                Ok(_) => return Ok(snapshot),
                // The tail is being written this moment.
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

    /// Replays the log behind the image. After damage, the state is that of the
    /// observations before it.
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
            filter.observe_recorded(region, registers, recorded, &mut verdicts);
        })
    }

    /// Observations in it.
    pub fn sequence(&self) -> u64 {
        self.registers.observations()
    }

    /// One number for the whole state.
    pub fn digest(&self) -> u64 {
        state_digest(&self.region, &self.registers)
    }
}

/// The newest whole superblock. Beside a writer both can look unfinished for a moment.
pub fn newest_superblock_soon(medium: &impl Medium) -> Result<Superblock, StoreError> {
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
