//! Raising the limit of a store whose filter grows.
//!
//! The state is written into a new directory with larger files, read back and compared. Then the
//! two directories exchange their names, and the old one is removed. So a crash leaves the old store
//! or the new one at the path, and perhaps the other one as a leftover. The store is locked
//! meanwhile.

use std::fs;
use std::path::Path;

use super::directory::{Directory, metadata};
use super::new_directory::NewDirectory;
use super::path_context::PathContext;
use super::quarantine::take_place;
use crate::audit::AuditedFilter;
use crate::filter::CannotGrow;
use crate::region::Memory;
use crate::seen_set::build_for_keys;
use crate::store::create::create_from_snapshot;
use crate::store::error::StoreError;
use crate::store::format::layout::Layout;
use crate::store::format::mark::Mark;
use crate::store::format::superblock::{GROWS, Parameters, Superblock};
use crate::store::snapshot::Snapshot;

/// The result of raising a store's limit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GrowReport {
    /// The filter with its new parameters.
    pub filter: String,
    /// The memory that was reserved before, in bits.
    pub memory_bits_before: u64,
    /// The memory that is reserved now, in bits.
    pub memory_bits: u64,
    /// The number of keys that the filter can still take, about.
    pub keys_left: f64,
    /// The false positive rate when the reserve is full, if it is known.
    pub full_fpr: Option<f64>,
    /// The size of the store on disk.
    pub disk_bytes: u64,
}

/// Raises the limit of a store whose filter grows, to at most `memory_bits`. The store keeps its
/// state, its identity and its path. Needs disk space for both stores until it ends; a crash leaves
/// one of them at the path, complete.
pub fn grow(path: impl AsRef<Path>, memory_bits: u64) -> Result<GrowReport, StoreError> {
    let path = path.as_ref();
    metadata(path)?;
    // The store's directory is replaced, not a symbolic link to it.
    let canonical = fs::canonicalize(path).on_path("open", path)?;
    grow_at(&canonical, memory_bits).map_err(|error| error.relocated(&canonical, path))
}

fn grow_at(path: &Path, memory_bits: u64) -> Result<GrowReport, StoreError> {
    let directory = Directory::open(path)?;
    let mut snapshot = Snapshot::newest(&directory)?;
    let mark = Mark::read(&directory, &snapshot.superblock.store_id)?;
    snapshot.follow(&directory, &mark)?;
    let before = snapshot.superblock.parameters.memory_bits;
    let larger = larger(snapshot, memory_bits)?;
    let Superblock {
        layout,
        store_id,
        parameters,
        ..
    } = larger.superblock.clone();
    let filter = larger.filter.filter().clone();
    let growth = filter.growth(&larger.registers);
    let fill = |new: &Directory| create_from_snapshot(new, store_id, larger);
    let created = NewDirectory::create_beside(path, &layout, fill)
        .map_err(|error| error.while_creating(path, &layout))?;
    let (created, unfinished) = created.into_parts();
    // From here on the temporary name is that of the old store, which is removed at the end.
    unfinished.exchange(|temporary| take_place(path, temporary))?;
    drop((created, directory));
    drop(unfinished);
    Ok(GrowReport {
        filter: parameters.filter,
        memory_bits_before: before,
        memory_bits: parameters.memory_bits,
        keys_left: growth.map_or(0.0, |growth| growth.keys_left),
        full_fpr: growth.and_then(|growth| growth.full_fpr),
        disk_bytes: layout.disk_bytes(),
    })
}

/// Moves a state into a larger region.
fn larger(snapshot: Snapshot, memory_bits: u64) -> Result<Snapshot, StoreError> {
    let Snapshot {
        superblock,
        spec,
        filter,
        region,
        registers,
    } = snapshot;
    let before = superblock.parameters.memory_bits;
    let cannot = |reason| StoreError::CannotGrow {
        filter: spec.to_string(),
        memory_bits: before,
        reason,
    };
    let grown = filter.filter().grown(&spec, memory_bits).map_err(cannot)?;
    let (new_spec, memory_bits) = grown;
    if memory_bits <= before {
        return Err(cannot(CannotGrow::NeedsMemory {
            minimum_bits: before + 1,
        }));
    }
    let larger = build_for_keys(&new_spec, memory_bits, superblock.audit_bytes)?;
    let mut new_region = Memory::zeroed(larger.region_bytes())?;
    let used = filter.filter().used_bytes(&registers);
    new_region[..used].copy_from_slice(&region[..used]);
    copy_audit((&filter, &region), (&larger, &mut new_region));
    let superblock = Superblock {
        features: superblock.features | GROWS,
        layout: Layout {
            region_bytes: larger.region_bytes() as u64,
            ..superblock.layout
        },
        parameters: Parameters {
            filter: new_spec.to_string(),
            memory_bits,
            ..superblock.parameters
        },
        ..superblock
    };
    Ok(Snapshot {
        superblock,
        spec: new_spec,
        filter: larger,
        region: new_region,
        registers,
    })
}

/// Copies the audit, which has the same size in both.
fn copy_audit(from: (&AuditedFilter, &[u8]), to: (&AuditedFilter, &mut [u8])) {
    if let (Some(one), Some(other)) = (from.0.audit_range(), to.0.audit_range()) {
        to.1[other].copy_from_slice(&from.1[one]);
    }
}
