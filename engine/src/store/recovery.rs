//! From files to a state: the newest whole image, and the log behind it.

use super::error::{Damage, StoreError};
use super::frame::FRAME_HEADER_BYTES;
use super::image::{self, Backing};
use super::live::LiveRegion;
use super::mark::Mark;
use super::medium::{Medium, StoreFile};
use super::mutant::{Mutant, planted};
use super::replay::{Replayed, TornTail, replay};
use super::superblock::{LogPosition, Superblock};
use crate::filter::{AnyFilter, FilterSpec, Registers};

/// What opening a store found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The generation of the image it started from.
    pub generation: u64,
    /// Observations in that image.
    pub checkpointed: u64,
    /// Observations replayed from the log.
    pub replayed: u64,
    /// Where a crash tore the log, if it did; nothing acknowledged lies behind it.
    pub torn: Option<TornTail>,
}

/// A state taken from files.
pub struct Recovered {
    pub active: Superblock,
    pub spec: FilterSpec,
    pub filter: AnyFilter,
    pub live: LiveRegion,
    pub registers: Registers,
    pub end: LogPosition,
    pub mark: Mark,
    pub report: RecoveryReport,
    replayed: Replayed,
}

/// The superblock to start from: the newest whole one.
pub fn newest_superblock(medium: &impl Medium) -> Result<Superblock, StoreError> {
    let read = [StoreFile::Image0, StoreFile::Image1].map(|file| Superblock::read(medium, file));
    match read {
        [Ok(a), Ok(b)] => {
            let (older, newer) = if a.generation < b.generation {
                (a, b)
            } else {
                (b, a)
            };
            if older.store_id != newer.store_id || older.generation + 1 != newer.generation {
                return Err(StoreError::Corrupt(Damage {
                    file: newer.file(),
                    offset: super::superblock::offset::GENERATION as u64,
                    expected: "images of one store and of successive generations".to_owned(),
                    found: format!("generations {} and {}", older.generation, newer.generation),
                }));
            }
            match planted(Mutant::OldestImageChosen) {
                true => Ok(older),
                false => Ok(newer),
            }
        }
        // An image of a newer format may be the newer one: nothing is safe to assume.
        [Err(error), _] | [_, Err(error)] if !matches!(error, StoreError::Corrupt(_)) => Err(error),
        [Ok(only), Err(_)] | [Err(_), Ok(only)] => Ok(only),
        [Err(error), Err(_)] => Err(error),
    }
}

/// The filter that a superblock describes, if it fits the sizes it claims.
pub fn filter_of(superblock: &Superblock) -> Result<(FilterSpec, AnyFilter), StoreError> {
    let parameters = &superblock.parameters;
    let spec: FilterSpec = parameters.filter.parse().map_err(|error| {
        StoreError::Parameters(format!("the store's filter is not known here: {error}"))
    })?;
    let filter = crate::seen_set::build_for_keys(&spec, parameters.memory_bits)?;
    if filter.region_bytes() as u64 != superblock.layout.region_bytes {
        return Err(StoreError::Corrupt(Damage {
            file: superblock.file(),
            offset: super::superblock::offset::REGION_BYTES as u64,
            expected: format!("a region of {} bytes", filter.region_bytes()),
            found: superblock.layout.region_bytes.to_string(),
        }));
    }
    if superblock.registers.observations() != superblock.log.sequence {
        return Err(StoreError::Corrupt(Damage {
            file: superblock.file(),
            offset: super::superblock::offset::SEQUENCE as u64,
            expected: format!("{} observations", superblock.registers.observations()),
            found: superblock.log.sequence.to_string(),
        }));
    }
    Ok((spec, filter))
}

/// Reads the state; writes nothing.
pub fn recover(
    medium: &impl Medium,
    backing: Backing,
    verify: bool,
) -> Result<Recovered, StoreError> {
    recover_from(medium, newest_superblock(medium)?, backing, verify)
}

/// Reads the state from a chosen image on; writes nothing.
pub fn recover_from(
    medium: &impl Medium,
    active: Superblock,
    backing: Backing,
    verify: bool,
) -> Result<Recovered, StoreError> {
    let (spec, filter) = filter_of(&active)?;
    let mark = Mark::read(medium, &active.store_id)?;
    let mut live = image::load(medium, &active, backing, verify)?;
    let mut registers = active.registers.clone();
    let Some(region) = live.unfrozen() else {
        return Err(StoreError::Parameters(
            "a region just loaded is not frozen".to_owned(),
        ));
    };
    let replayed = replay(
        medium,
        &active.store_id,
        &active.layout,
        active.log,
        &mark,
        |recorded| filter.observe_recorded(region, &mut registers, recorded),
    )?;
    let report = RecoveryReport {
        generation: active.generation,
        checkpointed: active.log.sequence,
        replayed: replayed.observations,
        torn: replayed.torn,
    };
    Ok(Recovered {
        end: replayed.end,
        active,
        spec,
        filter,
        live,
        registers,
        mark,
        report,
        replayed,
    })
}

impl Recovered {
    /// Makes durable what was read. A sync that failed in an earlier life may have left
    /// bytes that the operating system shows but the disk does not have, and a second sync
    /// would not write them; so they are written again first.
    pub fn settle(&mut self, medium: &impl Medium) -> Result<(), StoreError> {
        for (file, range) in &self.replayed.doubtful {
            if !planted(Mutant::NoRewriteOfLog) {
                rewrite(medium, *file, range.clone())?;
            }
        }
        if !planted(Mutant::GhostNotBuried) {
            self.bury_what_follows(medium)?;
        }
        for epoch in self.active.log.epoch..=self.end.epoch {
            if planted(Mutant::NoSyncOfRecoveredLog) {
                break;
            }
            let file = StoreFile::log(epoch);
            medium
                .sync(file)
                .map_err(|error| StoreError::on_file("sync", file, error))?;
        }
        let file = self.active.file();
        if !planted(Mutant::NoRewriteOfSuperblock) {
            medium
                .write(file, 0, &self.active.encode()?)
                .map_err(|error| StoreError::on_file("write", file, error))?;
        }
        medium
            .sync(file)
            .map_err(|error| StoreError::on_file("sync", file, error))?;
        if !planted(Mutant::IncarnationNotCounted) {
            self.mark.incarnation = self.mark.incarnation.max(self.replayed.incarnation) + 1;
        }
        self.mark
            .advance(medium, &self.active.store_id, self.end.sequence)?;
        medium
            .sync(StoreFile::Mark)
            .map_err(|error| StoreError::on_file("sync", StoreFile::Mark, error))
    }
}

impl Recovered {
    /// Destroys the header of a frame that was torn at the end of the log. If the same
    /// observations come again, a write that tears just so could make the old frame whole,
    /// and with it frames behind it that nobody appended a second time.
    fn bury_what_follows(&self, medium: &impl Medium) -> Result<(), StoreError> {
        let file = StoreFile::log(self.end.epoch);
        let room = self.active.layout.log_bytes.saturating_sub(self.end.offset);
        let mut header = vec![0; room.min(FRAME_HEADER_BYTES as u64) as usize];
        medium
            .read(file, self.end.offset, &mut header)
            .map_err(|error| StoreError::on_file("read", file, error))?;
        if header.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        header.fill(0);
        medium
            .write(file, self.end.offset, &header)
            .map_err(|error| StoreError::on_file("write", file, error))
    }
}

fn rewrite(
    medium: &impl Medium,
    file: StoreFile,
    range: std::ops::Range<u64>,
) -> Result<(), StoreError> {
    const CHUNK: u64 = 1 << 20;
    let mut bytes = Vec::new();
    let mut at = range.start;
    while at < range.end {
        bytes.resize(CHUNK.min(range.end - at) as usize, 0);
        medium
            .read(file, at, &mut bytes)
            .map_err(|error| StoreError::on_file("read", file, error))?;
        medium
            .write(file, at, &bytes)
            .map_err(|error| StoreError::on_file("write", file, error))?;
        at += bytes.len() as u64;
    }
    Ok(())
}
