//! The names of a store's files, by which a directory is recognized as a store.

use std::path::Path;

use super::error::{NotAStoreReason, StoreError};
use super::medium::StoreFile;

/// The file that the one writer locks.
pub const LOCK: &str = StoreFile::Lock.name();
/// The file that holds the number of shards of a shared store. Without it, a missing last
/// shard would not be noticed.
pub const SHARD_COUNT: &str = "shards";

/// Returns the directory name of a shard.
pub fn shard_name(index: usize) -> String {
    format!("shard.{index:03}.dds")
}

/// Returns the files of a store that a directory lacks. Any of the files makes it a store;
/// fails if it has none of them, or if it is a shared store.
pub fn missing_files(
    path: &Path,
    is_file: impl Fn(&str) -> Result<bool, StoreError>,
) -> Result<Vec<StoreFile>, StoreError> {
    let not_a_store = |reason| {
        Err(StoreError::NotAStore {
            path: path.to_owned(),
            reason,
        })
    };
    if is_file(SHARD_COUNT)? {
        return not_a_store(NotAStoreReason::IsShared {
            first_shard: path.join(shard_name(0)),
        });
    }
    let mut missing = Vec::new();
    let all = || StoreFile::ALL.into_iter().chain([StoreFile::Lock]);
    for file in all() {
        if !is_file(file.name())? {
            missing.push(file);
        }
    }
    match missing.first() {
        Some(first) if missing.len() == all().count() => {
            not_a_store(NotAStoreReason::MissingFile { name: first.name() })
        }
        _ => Ok(missing),
    }
}

/// Fails if the directory lacks a file of a store, or if it is a shared store.
pub fn check_names(
    path: &Path,
    is_file: impl Fn(&str) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let missing = missing_files(path, is_file)?;
    match missing.is_empty() {
        true => Ok(()),
        false => Err(StoreError::MissingFiles {
            path: path.to_owned(),
            names: missing.into_iter().map(StoreFile::name).collect(),
        }),
    }
}
