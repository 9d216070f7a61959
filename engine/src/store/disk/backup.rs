//! A copy of a store, beside its writer or not.

use std::path::Path;

use super::directory::Directory;
use super::making::random_id;
use crate::store::error::StoreError;
use crate::store::plant::plant;
use crate::store::snapshot::Snapshot;

/// What a copy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// Observations in it: at least those that were durable when the copying began.
    pub observations: u64,
    /// The state's digest, which the copy was read back to compare.
    pub digest: u64,
    /// The copy's size on disk.
    pub disk_bytes: u64,
}

/// Copies a store to a path where nothing is yet. The copy is a store of its own: complete,
/// with another identity, and read back before it gets its name. The source is only read,
/// without a lock.
pub fn backup(
    source: impl AsRef<Path>,
    destination: impl AsRef<Path>,
) -> Result<BackupReport, StoreError> {
    let destination = destination.as_ref();
    if std::fs::symlink_metadata(destination).is_ok() {
        return Err(StoreError::AlreadyExists {
            path: destination.to_owned(),
        });
    }
    let medium = Directory::open_read_only(source.as_ref())?;
    let snapshot = Snapshot::current(&medium)?;
    let layout = snapshot.superblock.layout;
    let report = BackupReport {
        observations: snapshot.sequence(),
        digest: snapshot.digest(),
        disk_bytes: layout.disk_bytes(),
    };
    Directory::create(destination, &layout, |directory| {
        plant(directory, random_id(), snapshot)
    })?;
    Ok(report)
}
