//! Mending a damaged store without losing anything; or, if asked, with a loss that is named.
//!
//! Two images and the logs hold everything twice. From each image that is whole the log is
//! followed as far as it goes, and the one that leads farthest is the best. If it leads to
//! everything known to be durable, the store is mended in place: recovered from that image,
//! and a fresh checkpoint takes the place of the other. Otherwise, or if a file has lost
//! its size, what is left is written as a new store that takes the damaged one's place.
//!
//! **Invariant:** nothing is changed before what it was is safe beside it.

use std::fs;
use std::path::{Path, PathBuf};

use super::directory::Directory;
use super::durable::Durability;
use super::handle::{OpenOptions, Store};
use super::keep::{beside, keep_copies, replace};
use super::loading::Backing;
use super::recovery::recover_from;
use crate::store::error::{Loss, StoreError};
use crate::store::examination::{Examination, examine, verify};
use crate::store::finding::Finding;
use crate::store::mark::Mark;
use crate::store::medium::{Medium, StoreFile};
use crate::store::plant::plant;
use crate::store::snapshot::Snapshot;

/// What a repair did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// What was found.
    pub findings: Vec<Finding>,
    /// Where the damaged files are; nothing if there was no damage, and nothing was done.
    pub kept: Option<PathBuf>,
    /// Observations in the store now; nothing if nothing was done.
    pub observations: Option<u64>,
    /// What was dropped.
    pub lost: Option<Loss>,
    /// What is still to be found afterwards: nothing, if the disk does its duty.
    pub remaining: Vec<Finding>,
}

/// Mends a store. A loss is refused, and named, unless it is accepted. The damaged files
/// are kept in a new directory beside the store, which needs room on the disk.
pub fn repair(path: impl AsRef<Path>, accept_loss: bool) -> Result<RepairReport, StoreError> {
    let path = path.as_ref();
    let path = &fs::canonicalize(path).map_err(|error| StoreError::on_path("open", path, error))?;
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
        return Err(StoreError::NothingLeft {
            path: path.clone(),
            damage: first.damage.clone(),
        });
    };
    let sequence = best.snapshot.sequence();
    if let Some(lost) = best.loss
        && !accept_loss
    {
        return Err(StoreError::WouldLose {
            path: path.clone(),
            kept: sequence,
            lost,
        });
    }
    report.observations = Some(sequence);
    report.lost = best.loss;
    report.kept = Some(match best.loss.is_none() && examination.sizes_are_right {
        true => mend(path, examination, best, &report.findings)?,
        false => rebuild(path, examination, best)?,
    });
    report.remaining = verify(Directory::open_undisturbed(path)?)?;
    report.remaining.retain(Finding::is_damage);
    Ok(report)
}

/// A state that the files lead to.
struct Candidate {
    snapshot: Snapshot,
    loss: Option<Loss>,
    /// The highest incarnation in the log.
    incarnation: u32,
    /// Whether the mark is of the same store; an image that strayed in from another is not.
    vouched: bool,
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
        let rank = |candidate: &Candidate| (candidate.vouched, candidate.snapshot.sequence());
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
    let slots = Mark::slots(medium, &store_id)?;
    let mark = slots.into_iter().flatten().max_by_key(|mark| mark.turn);
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
    // Without the mark, nothing tells a torn tail from rot in what was durable.
    let doubtful = match &followed {
        Some(replayed) => mark.is_none() && replayed.torn.is_some(),
        None => true,
    };
    let loss = (doubtful || reached < durable).then(|| Loss {
        first: reached + 1,
        last: (reached < durable && mark.is_some()).then_some(durable),
    });
    Ok(Candidate {
        snapshot,
        loss,
        incarnation: followed.map_or(0, |replayed| replayed.incarnation),
        vouched: mark.is_some(),
    })
}

/// Recovers in place from the best image; a checkpoint replaces the other.
fn mend(
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
    let kept = keep_copies(path, &files)?;
    let sequence = best.snapshot.sequence();
    let superblock = best.snapshot.superblock.clone();
    // One region in memory at a time.
    drop(best.snapshot);
    let medium = examination.medium.into_inner();
    if !best.vouched {
        let mut mark = Mark {
            incarnation: best.incarnation,
            ..Mark::default()
        };
        for _slot in 0..2 {
            mark.advance(&medium, &superblock.store_id, sequence)?;
        }
        medium
            .sync(StoreFile::Mark)
            .map_err(|error| StoreError::on_file("sync", StoreFile::Mark, error))?;
    }
    let mut recovered = recover_from(&medium, superblock, Backing::Anonymous, true)?;
    recovered.settle(&medium)?;
    let options = OpenOptions {
        durability: Durability::None,
        threads: false,
        ..OpenOptions::default()
    };
    let mut store = Store::go_on(medium, recovered, options)?;
    store.checkpoint()?;
    store.close()?;
    Ok(kept)
}

/// Writes what is left as a new store, in the place of the damaged one.
fn rebuild(
    path: &Path,
    examination: Examination<Directory>,
    best: Candidate,
) -> Result<PathBuf, StoreError> {
    let superblock = &best.snapshot.superblock;
    let (layout, store_id) = (superblock.layout, superblock.store_id);
    let rebuilt = beside(path, &format!(".rebuilt-{}", std::process::id()));
    let made = Directory::create(&rebuilt, &layout, |directory| {
        plant(directory, store_id, best.snapshot)
    })?;
    let kept = replace(path, &rebuilt);
    // Both locks were held until here.
    drop((made, examination));
    kept
}
