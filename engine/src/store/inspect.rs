//! Inspecting a store.

use super::error::{Damage, StoreError};
use super::format::image::read_part;
use super::format::layout::SUPERBLOCK_BYTES;
use super::format::superblock::Superblock;
use super::inspection::{Inspected, Inspection};
use super::log_extent::{LogExtent, read_extent_until_stable};
use super::medium::{Medium, StoreFile};
use super::newest_image::filter_of;
use super::snapshot::{Snapshot, newest_superblock_with_retries};
use super::verify::is_zero;
use crate::audit::{AuditReport, AuditedFilter};

/// Inspects a store on a medium without reading its region: counts, load and rates are those of
/// the last checkpoint. Reads only; a writer may have the store open.
pub fn inspect_on(medium: &impl Medium) -> Result<Inspection, StoreError> {
    let extent = read_extent_until_stable(medium)?;
    let superblock = &extent.superblock;
    let (spec, filter) = filter_of(superblock)?;
    let (audit, audit_damage) = read_audit(medium, superblock, &filter)?;
    let inspected = Inspected {
        spec: &spec,
        filter: &filter,
        registers: &superblock.registers,
        audit,
        audit_damage,
        checkpoint_unfinished: is_checkpoint_unfinished(medium, &extent)?,
        unix_seconds: medium.unix_seconds(),
        extent: &extent,
    };
    Ok(inspected.describe())
}

/// Inspects a store on a medium, with the log replayed into memory: counts, load and rates are
/// those of now. Takes as much memory as the store's region. Reads only; a writer may have the
/// store open.
pub fn inspect_exactly_on(medium: &impl Medium) -> Result<Inspection, StoreError> {
    let extent = read_extent_until_stable(medium)?;
    let Snapshot {
        spec,
        filter,
        region,
        registers,
        ..
    } = Snapshot::current(medium)?;
    let inspected = Inspected {
        audit: filter.report(&region, &registers),
        audit_damage: None,
        spec: &spec,
        filter: &filter,
        registers: &registers,
        checkpoint_unfinished: is_checkpoint_unfinished(medium, &extent)?,
        unix_seconds: medium.unix_seconds(),
        extent: &extent,
    };
    Ok(inspected.describe())
}

fn is_checkpoint_unfinished(medium: &impl Medium, extent: &LogExtent) -> Result<bool, StoreError> {
    let generation = extent.superblock.generation;
    let other = StoreFile::image(generation + 1);
    Ok(generation > 0 && is_zero(medium, other, 0, SUPERBLOCK_BYTES as usize)?)
}

/// Reads the audit of an image. Returns neither a report nor damage if a writer has replaced the
/// image meanwhile.
fn read_audit(
    medium: &impl Medium,
    superblock: &Superblock,
    filter: &AuditedFilter,
) -> Result<(Option<AuditReport>, Option<Damage>), StoreError> {
    let Some(range) = filter.audit_range() else {
        return Ok((None, None));
    };
    match read_part(medium, superblock, range) {
        Ok(bytes) => Ok((filter.report_of_audit(&bytes, &superblock.registers), None)),
        Err(StoreError::Corrupt(damage)) => {
            let replaced = newest_superblock_with_retries(medium)? != *superblock;
            Ok((None, (!replaced).then_some(damage)))
        }
        Err(error) => Err(error),
    }
}
