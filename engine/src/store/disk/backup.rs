//! Copying a store, even while a writer has it open.

use std::path::Path;

use super::create::random_id;
use super::directory::Directory;
use super::new_directory::check_free;
use crate::store::create::create_from_snapshot;
use crate::store::error::StoreError;
use crate::store::snapshot::Snapshot;

/// The result of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// The number of observations in the copy: at least those that were durable when the
    /// backup started.
    pub observations: u64,
    /// The digest of the state. The copy was read back to compare it.
    pub digest: u64,
    /// The size of the copy on disk.
    pub disk_bytes: u64,
}

/// Copies a store to a path that does not exist. The copy is a complete store with an identity
/// of its own, and is read back before it gets its name. The source is only read, without a
/// lock.
pub fn backup(
    source: impl AsRef<Path>,
    destination: impl AsRef<Path>,
) -> Result<BackupReport, StoreError> {
    let destination = destination.as_ref();
    check_free(destination)?;
    let medium = Directory::open_read_only(source.as_ref())?;
    let snapshot = Snapshot::current(&medium)?;
    let layout = snapshot.superblock.layout;
    let report = BackupReport {
        observations: snapshot.sequence(),
        digest: snapshot.digest(),
        disk_bytes: layout.disk_bytes(),
    };
    Directory::create(destination, &layout, |directory| {
        create_from_snapshot(directory, random_id(), snapshot)
    })?;
    Ok(report)
}
