//! Repairing a damaged store: without any loss or, if the caller accepts it, with a known loss.
//!
//! Two images and the logs hold everything twice. A repair replays the log from each intact
//! image and chooses the image that leads to the most observations. If these are all that is
//! known to be durable, the store is repaired in place: it is recovered from that image, and a
//! new checkpoint replaces the other. Otherwise, or if a file has the wrong size, the rest is
//! written as a new store that replaces the damaged one.
//!
//! **Invariant:** nothing is changed before the damaged files are in quarantine.

use std::fs;
use std::path::{Path, PathBuf};

use super::directory::{Directory, metadata};
use super::durability::Durability;
use super::handle::Store;
use super::leftovers::rebuilding_name;
use super::loading::Backing;
use super::new_directory::NewDirectory;
use super::open_options::OpenOptions;
use super::path_context::PathContext;
use super::quarantine::{quarantine_copies, replace};
use super::read_only::{missing_lock, verify};
use super::recovery::recover_from;
use super::unfinished::Unfinished;
use crate::store::create::create_from_snapshot;
use crate::store::error::StoreError;
use crate::store::file_access::FileAccess;
use crate::store::format::mark::Mark;
use crate::store::format::superblock::Superblock;
use crate::store::medium::{Medium, StoreFile};
use crate::store::repair_error::{Loss, RepairError};
use crate::store::replay::holds_frames_without_header;
use crate::store::snapshot::Snapshot;
use crate::store::verify::{Examination, Finding, examine};

/// The result of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// What was found.
    pub findings: Vec<Finding>,
    /// The directory that holds the damaged files; None if no file was damaged.
    pub kept: Option<PathBuf>,
    /// The missing files that were created again.
    pub restored: Vec<StoreFile>,
    /// The number of observations in the repaired store; None if there was no damage.
    pub observations: Option<u64>,
    /// The observations that were lost, if any.
    pub lost: Option<Loss>,
    /// Damage that is left after the repair: none, unless the disk fails.
    pub remaining: Vec<Finding>,
}

/// Repairs a store. If that would lose observations, fails with an error that names them,
/// unless `accept_loss` is set. The damaged files are kept in a new directory next to the
/// store, which needs space on the disk.
pub fn repair(path: impl AsRef<Path>, accept_loss: bool) -> Result<RepairReport, RepairError> {
    let path = path.as_ref();
    metadata(path)?;
    // The store's directory is replaced, not a symbolic link to it.
    let canonical = fs::canonicalize(path).on_path("open", path)?;
    repair_at(&canonical, accept_loss).map_err(|error| match error {
        RepairError::Store(error) => RepairError::Store(error.relocated(&canonical, path)),
        error => error,
    })
}

fn repair_at(path: &Path, accept_loss: bool) -> Result<RepairReport, RepairError> {
    let (directory, missing) = Directory::open_incomplete(path)?;
    let mut examination = examine(directory)?;
    let mut findings = std::mem::take(&mut examination.findings);
    findings.extend(missing_lock(&missing));
    let mut report = RepairReport {
        findings,
        kept: None,
        restored: Vec::new(),
        observations: None,
        lost: None,
        remaining: Vec::new(),
    };
    let Some(first) = report.findings.iter().find(|finding| finding.is_damage()) else {
        return Ok(report);
    };
    let Some(best) = best_candidate(&examination)? else {
        return Err(RepairError::NothingLeft {
            damage: first.damage.clone(),
        });
    };
    let sequence = best.snapshot.sequence();
    if let Some(lost) = best.loss
        && !accept_loss
    {
        return Err(RepairError::WouldLose {
            kept: sequence,
            lost,
        });
    }
    report.observations = Some(sequence);
    report.lost = best.loss;
    let in_place = best.log_is_intact && best.loss.is_none() && examination.sizes_are_right;
    report.kept = match in_place {
        true => repair_in_place(path, examination, best, &report.findings, &missing)?,
        false => Some(rebuild(path, examination, best)?),
    };
    report.restored = missing;
    report.remaining = verify(path)?;
    report.remaining.retain(Finding::is_damage);
    Ok(report)
}

/// A state that the files lead to.
struct Candidate {
    snapshot: Snapshot,
    loss: Option<Loss>,
    /// The highest incarnation in the log.
    incarnation: u32,
    /// Whether the mark belongs to the same store as the image. It does not if the image is
    /// that of another store.
    mark_matches: bool,
    /// Whether the log could be replayed to its end.
    log_is_intact: bool,
}

fn best_candidate<M: Medium>(
    examination: &Examination<M>,
) -> Result<Option<Candidate>, StoreError> {
    let mut best: Option<Candidate> = None;
    for image in &examination.images {
        let snapshot = match Snapshot::load(&examination.medium, image.clone()) {
            Ok(snapshot) => snapshot,
            Err(StoreError::Corrupt(_)) => continue,
            Err(error) => return Err(error),
        };
        let candidate = follow(examination, snapshot)?;
        let rank = |candidate: &Candidate| (candidate.mark_matches, candidate.snapshot.sequence());
        if best
            .as_ref()
            .is_none_or(|best| rank(&candidate) > rank(best))
        {
            best = Some(candidate);
        }
    }
    Ok(best)
}

fn follow<M: Medium>(
    examination: &Examination<M>,
    mut snapshot: Snapshot,
) -> Result<Candidate, StoreError> {
    let medium = &examination.medium;
    let store_id = snapshot.superblock.store_id;
    let mark = Mark::newest(medium, &store_id)?;
    let (followed, damage) = match snapshot.follow(medium, &mark.unwrap_or_default()) {
        Ok(replayed) => (Some(replayed), None),
        Err(StoreError::Corrupt(damage)) => (None, Some(damage)),
        Err(error) => return Err(error),
    };
    let same_store = examination
        .images
        .iter()
        .filter(|image| image.store_id == store_id);
    let in_images = same_store.map(|image| image.log.sequence).max();
    let durable = in_images.max(mark.map(|mark| mark.sequence)).unwrap_or(0);
    let reached = snapshot.sequence();
    let may_be_lost = match (&followed, &damage) {
        // Without the mark, a torn tail cannot be distinguished from corruption of durable
        // frames.
        (Some(replayed), _) => mark.is_none() && replayed.torn.is_some(),
        // A log without a header, or no log: nothing is lost if the image holds everything that
        // the mark says is durable, and no frame is left.
        (None, Some(damage)) if damage.offset == 0 && mark.is_some() => {
            let Superblock { layout, log, .. } = &snapshot.superblock;
            holds_frames_without_header(medium, &store_id, layout, log, damage.file)?
        }
        (None, _) => true,
    };
    let loss = (may_be_lost || reached < durable).then(|| Loss {
        first: reached + 1,
        last: (reached < durable && mark.is_some()).then_some(durable),
    });
    Ok(Candidate {
        snapshot,
        loss,
        log_is_intact: followed.is_some(),
        incarnation: followed.map_or(0, |replayed| replayed.incarnation),
        mark_matches: mark.is_some(),
    })
}

/// Repairs in place: creates the missing files again, recovers from the best image and replaces
/// the other by a checkpoint. Returns where the damaged files are kept, if any file was damaged.
fn repair_in_place(
    path: &Path,
    examination: Examination<Directory>,
    best: Candidate,
    findings: &[Finding],
    missing: &[StoreFile],
) -> Result<Option<PathBuf>, StoreError> {
    let damaged = |file: &StoreFile| {
        let of_file = |finding: &Finding| finding.damage.file == *file;
        findings
            .iter()
            .any(|finding| finding.is_damage() && of_file(finding))
    };
    let there = StoreFile::ALL
        .into_iter()
        .filter(|file| !missing.contains(file));
    let files: Vec<StoreFile> = there.filter(damaged).collect();
    let kept = match files.is_empty() {
        true => None,
        false => Some(quarantine_copies(path, &files)?),
    };
    let sequence = best.snapshot.sequence();
    let superblock = best.snapshot.superblock.clone();
    // Regions can be large: keep only one in memory.
    drop(best.snapshot);
    let mut medium = examination.medium.into_inner();
    medium.restore_files(&superblock.layout, missing)?;
    if missing == [StoreFile::Lock] && files.is_empty() {
        return Ok(None);
    }
    if !best.mark_matches {
        let mut mark = Mark {
            incarnation: best.incarnation,
            ..Mark::default()
        };
        for _slot in 0..2 {
            mark.advance(&medium, &superblock.store_id, sequence)?;
        }
        medium.sync_file(StoreFile::Mark)?;
    }
    let mut recovered = recover_from(&medium, superblock, Backing::Anonymous, true)?;
    recovered.make_durable(&medium)?;
    let options = OpenOptions::new()
        .durability(Durability::None)
        .threads(false);
    let mut store = Store::start(medium, recovered, options)?;
    store.checkpoint()?;
    store.close()?;
    Ok(kept)
}

/// Writes the rest as a new store, which replaces the damaged one.
fn rebuild(
    path: &Path,
    examination: Examination<Directory>,
    best: Candidate,
) -> Result<PathBuf, StoreError> {
    let superblock = &best.snapshot.superblock;
    let (layout, store_id) = (superblock.layout, superblock.store_id);
    let rebuilt = rebuilding_name(path);
    let unfinished = Unfinished::create_named(rebuilt.clone()).on_path("create", &rebuilt)?;
    let fill = |directory: &Directory| create_from_snapshot(directory, store_id, best.snapshot);
    let created = NewDirectory::create_in(unfinished, path, &layout, fill)?;
    let (created, unfinished) = created.into_parts();
    let kept = unfinished.finish(|rebuilt| replace(path, rebuilt));
    // Both stores stay locked until here.
    drop((created, examination));
    kept
}
