//! Writing a state as a new store.

use super::beginning::Beginning;
use super::checksum::StoreId;
use super::error::{Damage, StoreError};
use super::medium::Medium;
use super::snapshot::Snapshot;
use super::superblock::Superblock;

/// Writes a state into files of zeros: its first image, an empty log, and a mark that says
/// that all of it is durable. Reads it back to be sure.
pub fn plant(
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
    let written = Beginning::new(store_id, described, Some(&*snapshot.region)).write(medium)?;
    // One region in memory at a time: they can be large.
    drop(snapshot);
    let copy = Snapshot::load(medium, written)?;
    if copy.digest() == digest {
        return Ok(());
    }
    Err(StoreError::Corrupt(Damage {
        file: copy.superblock.file(),
        offset: 0,
        expected: format!("the state {digest:016x} that was written"),
        found: format!("{:016x}", copy.digest()),
    }))
}
