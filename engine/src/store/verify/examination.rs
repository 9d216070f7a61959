//! Reading every byte of a store and reporting what is wrong.

use std::ops::ControlFlow;

use super::finding::{Finding, Findings, Severity};
use crate::bytes::read_u64;
use crate::store::error::{Damage, StoreError};
use crate::store::file_access::FileAccess;
use crate::store::format::checksum::StoreId;
use crate::store::format::frame::check_log_header;
use crate::store::format::image::check_blocks;
use crate::store::format::layout::{LOG_START, Layout, SUPERBLOCK_BYTES};
use crate::store::format::mark::{Mark, SLOT_BYTES, SLOT_OFFSETS};
use crate::store::format::superblock::{Superblock, offset};
use crate::store::medium::{Medium, StoreFile};
use crate::store::replay::{Replayed, replay};
use crate::store::snapshot::Snapshot;
use crate::store::zero_extended::ZeroExtended;

/// The number of bad blocks in an image after which the rest is not checked: the image is useless,
/// and a file may claim to have millions of blocks.
const MAX_BAD_BLOCKS: usize = 1000;

/// Checks every byte of a store: sizes, superblocks, tables, blocks, log headers, the chain of
/// frames from each image to the end, the mark, and whether both images lead to the same state.
/// Reads only. Nobody may write to the store meanwhile.
pub fn verify_on<M: Medium>(medium: M) -> Result<Vec<Finding>, StoreError> {
    Ok(examine(medium)?.findings)
}

/// What is intact in a store, and what is not.
pub struct Examination<M> {
    pub medium: ZeroExtended<M>,
    /// Images with a valid superblock, the newest first.
    pub images: Vec<Superblock>,
    /// Whether every file that exists has the right size.
    pub sizes_are_right: bool,
    pub findings: Vec<Finding>,
}

/// Does what [`verify`] does, and returns what a repair needs.
pub fn examine<M: Medium>(medium: M) -> Result<Examination<M>, StoreError> {
    let mut findings = Findings::default();
    let images = superblocks(&medium, &mut findings)?;
    let layout = images.first().map(|newest| newest.layout);
    let sizes_are_right = match &layout {
        Some(layout) => check_sizes(&medium, layout, &mut findings)?,
        None => false,
    };
    let medium = ZeroExtended::new(medium, layout);
    if let Some(newest) = images.first() {
        let mark = check_mark(&medium, &newest.store_id, &mut findings)?;
        let mut ends = Vec::new();
        for image in &images {
            // An older image matters only if the newest one is damaged.
            let severity = match image == newest || findings.prevent_opening() {
                true => Severity::Refused,
                false => Severity::Covered,
            };
            ends.push(check_image(&medium, image, mark, severity, &mut findings)?);
        }
        compare(&images, &ends, &mut findings);
        let epochs = images.iter().map(|image| image.log.epoch);
        let reached = ends.iter().flatten().map(|end| end.epoch);
        let needed: Vec<StoreFile> = epochs.chain(reached).map(StoreFile::log).collect();
        check_spare_logs(&medium, &newest.store_id, &needed, &mut findings)?;
    }
    Ok(Examination {
        medium,
        images,
        sizes_are_right,
        findings: findings.into_sorted(),
    })
}

fn superblocks(
    medium: &impl Medium,
    findings: &mut Findings,
) -> Result<Vec<Superblock>, StoreError> {
    let (mut valid, mut bad) = (Vec::new(), Vec::new());
    for file in [StoreFile::Image0, StoreFile::Image1] {
        match Superblock::read_alone(medium, file) {
            Ok(superblock) => valid.push(superblock),
            Err(StoreError::Corrupt(damage)) => bad.push(damage),
            Err(error) => return Err(error),
        }
    }
    valid.sort_by_key(|superblock| std::cmp::Reverse(superblock.generation));
    for damage in bad {
        // If there is another image, its layout tells which files are missing.
        if !medium.exists(damage.file) && !valid.is_empty() {
            continue;
        }
        let unfinished = is_zero(medium, damage.file, 0, SUPERBLOCK_BYTES as usize)?;
        match valid.first() {
            None => findings.add(Severity::Refused, damage),
            // No checkpoint was taken yet.
            Some(other) if unfinished && other.generation == 0 => {}
            Some(_) if unfinished => findings.add(Severity::Information, damage),
            Some(_) => findings.add(Severity::Covered, damage),
        }
    }
    if let [newer, older] = &valid[..]
        && (newer.store_id != older.store_id || newer.generation != older.generation + 1)
    {
        for image in [newer, older] {
            findings.add(
                Severity::Refused,
                Damage {
                    file: image.file(),
                    offset: offset::GENERATION as u64,
                    expected: "images of one store and of successive generations".to_owned(),
                    found: format!("generations {} and {}", older.generation, newer.generation),
                },
            );
        }
    }
    Ok(valid)
}

fn check_sizes(
    medium: &impl Medium,
    layout: &Layout,
    findings: &mut Findings,
) -> Result<bool, StoreError> {
    let mut right = true;
    for file in StoreFile::ALL {
        let expected = layout.file_bytes(file);
        let exists = medium.exists(file);
        let found = medium.file_bytes(file)?;
        if found != expected || !exists {
            right &= !exists;
            findings.add(
                Severity::Refused,
                Damage {
                    file,
                    offset: found.min(expected),
                    expected: format!("a file of {expected} bytes"),
                    found: match exists {
                        true => format!("{found} bytes"),
                        false => "no file".to_owned(),
                    },
                },
            );
        }
    }
    Ok(right)
}

fn check_mark(
    medium: &impl Medium,
    store_id: &StoreId,
    findings: &mut Findings,
) -> Result<Option<Mark>, StoreError> {
    let slots = Mark::slots(medium, store_id)?;
    let newest = slots.into_iter().flatten().max_by_key(|mark| mark.turn);
    let severity = match newest {
        Some(_) => Severity::Covered,
        None => Severity::Refused,
    };
    for (slot, place) in slots.iter().zip(SLOT_OFFSETS) {
        // A store that was created and never opened has written one slot.
        let never_written = newest.is_some_and(|mark| mark.turn == 0)
            && is_zero(medium, StoreFile::Mark, place, SLOT_BYTES)?;
        if slot.is_none() && !never_written && medium.exists(StoreFile::Mark) {
            findings.add(
                severity,
                Damage {
                    file: StoreFile::Mark,
                    offset: place,
                    expected: "a valid slot of the mark".to_owned(),
                    found: "a slot with a wrong checksum".to_owned(),
                },
            );
        }
    }
    Ok(newest)
}

/// The state that an image and the log after it lead to.
struct End {
    epoch: u64,
    sequence: u64,
    digest: u64,
}

fn check_image(
    medium: &impl Medium,
    image: &Superblock,
    mark: Option<Mark>,
    severity: Severity,
    findings: &mut Findings,
) -> Result<Option<End>, StoreError> {
    let mark = mark.unwrap_or_default();
    let (followed, state) = match Snapshot::load(medium, image.clone()) {
        Ok(mut snapshot) => {
            let followed = snapshot.follow(medium, &mark);
            (followed, Some((snapshot.sequence(), snapshot.digest())))
        }
        Err(error @ (StoreError::Corrupt(_) | StoreError::OutOfMemory { .. })) => {
            let before = findings.count();
            if let StoreError::Corrupt(first) = &error {
                findings.add(severity, first.clone());
            }
            check_all_blocks(medium, image, severity, findings)?;
            // Without enough memory, damage is found, but nothing else can be checked.
            if findings.count() == before && matches!(error, StoreError::OutOfMemory { .. }) {
                return Err(error);
            }
            let Superblock {
                store_id,
                layout,
                log,
                ..
            } = image;
            let followed = replay(medium, store_id, layout, *log, &mark, |_| {});
            (followed, None)
        }
        Err(error) => return Err(error),
    };
    let Some(Replayed { end, torn, .. }) = note(followed, severity, findings)? else {
        return Ok(None);
    };
    if let Some(torn) = torn {
        findings.add(
            Severity::Information,
            Damage {
                file: torn.file,
                offset: torn.offset,
                expected: "a frame or the end of the log".to_owned(),
                found: "a frame torn by a crash; nothing acknowledged is lost".to_owned(),
            },
        );
    }
    Ok(state.map(|(sequence, digest)| End {
        epoch: end.epoch,
        sequence,
        digest,
    }))
}

/// Adds a finding per bad block of an image, up to [`MAX_BAD_BLOCKS`].
fn check_all_blocks(
    medium: &impl Medium,
    image: &Superblock,
    severity: Severity,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut bad = 0;
    let checked = check_blocks(medium, image, |mut damage| {
        bad += 1;
        if bad == MAX_BAD_BLOCKS {
            damage.found += "; the blocks after this one were not checked";
        }
        findings.add(severity, damage);
        match bad < MAX_BAD_BLOCKS {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    note(checked, severity, findings).map(|_| ())
}

/// Turns damage into a finding. Returns other errors.
fn note<T>(
    result: Result<T, StoreError>,
    severity: Severity,
    findings: &mut Findings,
) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(StoreError::Corrupt(damage)) => {
            findings.add(severity, damage);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Both images, each with the log after it, must lead to the same state.
fn compare(images: &[Superblock], ends: &[Option<End>], findings: &mut Findings) {
    if let ([_, older_image], [Some(newer), Some(older)]) = (images, ends)
        && (newer.sequence, newer.digest) != (older.sequence, older.digest)
    {
        findings.add(
            Severity::Covered,
            Damage {
                file: older_image.file(),
                offset: 0,
                expected: format!(
                    "an image that leads to {} observations and state {:016x}",
                    newer.sequence, newer.digest
                ),
                found: format!(
                    "one that leads to {} observations and state {:016x}",
                    older.sequence, older.digest
                ),
            },
        );
    }
}

/// Checks the headers of logs that no image needs. They are rewritten before they are used.
fn check_spare_logs(
    medium: &impl Medium,
    store_id: &StoreId,
    needed: &[StoreFile],
    findings: &mut Findings,
) -> Result<(), StoreError> {
    for file in [StoreFile::Log0, StoreFile::Log1] {
        let mut header = vec![0; LOG_START as usize];
        medium.read_at(file, 0, &mut header)?;
        let epoch = read_u64(&header, 8);
        let valid =
            StoreFile::log(epoch) == file && check_log_header(store_id, epoch, &header).is_some();
        let never_written = header.iter().all(|&byte| byte == 0);
        if !needed.contains(&file) && !valid && !never_written {
            findings.add(
                Severity::Covered,
                Damage {
                    file,
                    offset: 0,
                    expected: "a valid log header".to_owned(),
                    found: "a bad header, in a log that is not needed now".to_owned(),
                },
            );
        }
    }
    Ok(())
}

/// Returns whether part of a file is all zeros. False if the file ends before.
pub fn is_zero(
    medium: &impl Medium,
    file: StoreFile,
    offset: u64,
    length: usize,
) -> Result<bool, StoreError> {
    let there = medium.file_bytes(file)?.saturating_sub(offset);
    if there < length as u64 {
        return Ok(false);
    }
    let mut bytes = vec![0; length];
    medium.read_at(file, offset, &mut bytes)?;
    Ok(bytes.iter().all(|&byte| byte == 0))
}
