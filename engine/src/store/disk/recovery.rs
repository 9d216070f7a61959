//! Recovering the state from the files: the newest valid image and the log after it.

use super::live_region::LiveRegion;
use super::loading::{self, Backing};
use crate::audit::AuditedFilter;
use crate::filter::{FilterSpec, Registers};
use crate::store::error::StoreError;
use crate::store::file_access::FileAccess;
use crate::store::format::frame::FRAME_HEADER_BYTES;
use crate::store::format::mark::Mark;
use crate::store::format::superblock::{LogPosition, Superblock};
use crate::store::medium::{Medium, StoreFile};
use crate::store::mutant::{Mutant, planted};
use crate::store::newest_image::{filter_of, newest_superblock};
use crate::store::replay::{Replayed, TornTail, replay};

/// What opening a store found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The generation of the image it started from.
    pub generation: u64,
    /// The number of observations in that image.
    pub checkpointed: u64,
    /// The number of observations replayed from the log, and of keys taken out.
    pub replayed: u64,
    /// Where a crash tore the log, if it did. No acknowledged observation was lost there.
    pub torn: Option<TornTail>,
}

/// A state read from files.
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

/// Reads the state from the newest image. Writes nothing.
pub fn recover(
    medium: &impl Medium,
    backing: Backing,
    verify: bool,
) -> Result<Recovered, StoreError> {
    recover_from(medium, newest_superblock(medium)?, backing, verify)
}

/// Reads the state from a chosen image. Writes nothing.
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
        return Err(StoreError::Poisoned {
            cause: "the region that was just loaded is frozen".to_owned(),
        });
    };
    let replayed = replay(
        medium,
        &active.store_id,
        &active.layout,
        active.log,
        &mark,
        |recorded| filter.replay(region, &mut registers, recorded, &mut verdicts),
    )?;
    let report = RecoveryReport {
        generation: active.generation,
        checkpointed: active.log.sequence,
        replayed: replayed.entries,
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
    /// Makes durable what was read. After a sync that failed before the store was opened, the
    /// operating system may show bytes that are not on the disk, and another sync would not
    /// write them. So they are rewritten before the sync.
    pub fn make_durable(&mut self, medium: &impl Medium) -> Result<(), StoreError> {
        for (file, range) in &self.replayed.maybe_unsynced {
            if !planted(Mutant::NoRewriteOfLog) {
                rewrite(medium, *file, range.clone())?;
            }
        }
        if !planted(Mutant::StaleFrameNotErased) {
            self.erase_torn_header(medium)?;
        }
        for epoch in self.active.log.epoch..=self.end.epoch {
            if planted(Mutant::NoSyncOfRecoveredLog) {
                break;
            }
            let file = StoreFile::log(epoch);
            medium.sync_file(file)?;
        }
        let file = self.active.file();
        if !planted(Mutant::NoRewriteOfSuperblock) {
            medium.write_at(file, 0, &self.active.encode()?)?;
        }
        medium.sync_file(file)?;
        if !planted(Mutant::IncarnationNotCounted) {
            self.mark.incarnation = self.mark.incarnation.max(self.replayed.incarnation) + 1;
        }
        self.mark
            .advance(medium, &self.active.store_id, self.end.sequence)?;
        medium.sync_file(StoreFile::Mark)
    }
}

impl Recovered {
    /// Erases the header of a torn frame at the end of the log. Otherwise, if the same
    /// observations are appended again and that write is torn too, the two halves could form
    /// an intact frame, and stale frames after it would be replayed.
    fn erase_torn_header(&self, medium: &impl Medium) -> Result<(), StoreError> {
        let file = StoreFile::log(self.end.epoch);
        let room = self.active.layout.log_bytes.saturating_sub(self.end.offset);
        let mut header = vec![0; room.min(FRAME_HEADER_BYTES as u64) as usize];
        medium.read_at(file, self.end.offset, &mut header)?;
        if header.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        header.fill(0);
        medium.write_at(file, self.end.offset, &header)
    }
}

/// Writes a range of a file again with the bytes it holds.
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
        medium.read_at(file, at, &mut bytes)?;
        medium.write_at(file, at, &bytes)?;
        at += bytes.len() as u64;
    }
    Ok(())
}
