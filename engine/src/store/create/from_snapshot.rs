//! Creating a store from the state of another.

use super::initial_files::InitialFiles;
use crate::store::error::{Damage, StoreError};
use crate::store::format::checksum::StoreId;
use crate::store::format::superblock::Superblock;
use crate::store::medium::Medium;
use crate::store::snapshot::Snapshot;

/// Writes a snapshot as a new store into files of zeros, reads it back, and compares the two.
pub fn create_from_snapshot(
    medium: &impl Medium,
    store_id: StoreId,
    snapshot: Snapshot,
) -> Result<(), StoreError> {
    let digest = snapshot.digest();
    let described = Superblock {
        registers: snapshot.registers.clone(),
        unix_seconds: medium.unix_seconds(),
        ..snapshot.superblock.clone()
    };
    let described = described.with_used_blocks(snapshot.filter.filter());
    let described = described.with_forgetting();
    let written = InitialFiles::new(store_id, described, Some(&*snapshot.region)).write(medium)?;
    // Regions can be large: keep only one in memory.
    drop(snapshot);
    let copy = Snapshot::load(medium, written)?;
    if copy.digest() == digest {
        return Ok(());
    }
    Err(StoreError::Corrupt(Damage {
        file: copy.superblock.file(),
        offset: 0,
        expected: format!("the state that was written, {digest:016x}"),
        found: format!("{:016x}", copy.digest()),
    }))
}
