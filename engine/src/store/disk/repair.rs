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
use super::loading::Backing;
use super::open_options::OpenOptions;
use super::path_context::PathContext;
use super::quarantine::{quarantine_copies, replace, with_appended_name};
use super::read_only::verify;
use super::recovery::recover_from;
use crate::store::create::create_from_snapshot;
use crate::store::error::StoreError;
use crate::store::file_access::FileAccess;
use crate::store::format::mark::Mark;
use crate::store::medium::{Medium, StoreFile};
use crate::store::repair_error::{Loss, RepairError};
use crate::store::snapshot::Snapshot;
use crate::store::verify::{Examination, Finding, examine};

/// The result of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// What was found.
    pub findings: Vec<Finding>,
    /// The directory that holds the damaged files; None if there was no damage.
    pub kept: Option<PathBuf>,
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
    let mut examination = examine(Directory::open(path)?)?;
    let findings = std::mem::take(&mut examination.findings);
    let mut report = RepairReport {
        findings,
        kept: None,
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
    report.kept = Some(match best.loss.is_none() && examination.sizes_are_right {
        true => repair_in_place(path, examination, best, &report.findings)?,
        false => rebuild(path, examination, best)?,
    });
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
    let followed = match snapshot.follow(medium, &mark.unwrap_or_default()) {
        Ok(replayed) => Some(replayed),
        Err(StoreError::Corrupt(_)) => None,
        Err(error) => return Err(error),
    };
    let same_store = examination
        .images
        .iter()
        .filter(|image| image.store_id == store_id);
    let in_images = same_store.map(|image| image.log.sequence).max();
    let durable = in_images.max(mark.map(|mark| mark.sequence)).unwrap_or(0);
    let reached = snapshot.sequence();
    // Without the mark, a torn tail cannot be distinguished from corruption of durable frames.
    let may_be_lost = match &followed {
        Some(replayed) => mark.is_none() && replayed.torn.is_some(),
        None => true,
    };
    let loss = (may_be_lost || reached < durable).then(|| Loss {
        first: reached + 1,
        last: (reached < durable && mark.is_some()).then_some(durable),
    });
    Ok(Candidate {
        snapshot,
        loss,
        incarnation: followed.map_or(0, |replayed| replayed.incarnation),
        mark_matches: mark.is_some(),
    })
}

/// Repairs in place: recovers from the best image and replaces the other by a checkpoint.
fn repair_in_place(
    path: &Path,
    examination: Examination<Directory>,
    best: Candidate,
    findings: &[Finding],
) -> Result<PathBuf, StoreError> {
    let damaged = |file: &StoreFile| {
        let of_file = |finding: &Finding| finding.damage.file == *file;
        findings
            .iter()
            .any(|finding| finding.is_damage() && of_file(finding))
    };
    let files: Vec<StoreFile> = StoreFile::ALL.into_iter().filter(damaged).collect();
    let kept = quarantine_copies(path, &files)?;
    let sequence = best.snapshot.sequence();
    let superblock = best.snapshot.superblock.clone();
    // Regions can be large: keep only one in memory.
    drop(best.snapshot);
    let medium = examination.medium.into_inner();
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
    let rebuilt = with_appended_name(path, &format!(".rebuilt-{}", std::process::id()));
    let created = Directory::create(&rebuilt, &layout, |directory| {
        create_from_snapshot(directory, store_id, best.snapshot)
    })?;
    let kept = replace(path, &rebuilt);
    // Both stores stay locked until here.
    drop((created, examination));
    kept
}
