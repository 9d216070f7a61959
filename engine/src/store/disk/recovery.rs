//! From files to a state: the newest whole image, and the log behind it.

use super::loading::{self, Backing};
use crate::audit::AuditedFilter;
use crate::filter::{FilterSpec, Registers};
use crate::store::error::StoreError;
use crate::store::frame::FRAME_HEADER_BYTES;
use crate::store::live::LiveRegion;
use crate::store::mark::Mark;
use crate::store::medium::{Medium, StoreFile};
use crate::store::mutant::{Mutant, planted};
use crate::store::origin::{filter_of, newest_superblock};
use crate::store::replay::{Replayed, TornTail, replay};
use crate::store::superblock::{LogPosition, Superblock};

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
    pub filter: AuditedFilter,
    pub live: LiveRegion,
    pub registers: Registers,
    pub end: LogPosition,
    pub mark: Mark,
    pub report: RecoveryReport,
    replayed: Replayed,
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
    let mut live = loading::load(medium, &active, backing, verify)?;
    let mut registers = active.registers.clone();
    let mut verdicts = Vec::new();
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
        |recorded| filter.observe_recorded(region, &mut registers, recorded, &mut verdicts),
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
