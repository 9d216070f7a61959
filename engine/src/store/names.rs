//! The names of a store's files, by which a directory is recognized as a store.

use std::path::Path;

use super::error::{NotAStoreReason, StoreError};
use super::medium::StoreFile;

/// The empty file that the one writer locks.
pub const LOCK: &str = "lock";
/// The file that holds the number of shards of a shared store. Without it, a missing last
/// shard would not be noticed.
pub const SHARD_COUNT: &str = "shards";

/// Returns the directory name of a shard.
pub fn shard_name(index: usize) -> String {
    format!("shard.{index:03}.dds")
}

/// Fails if the directory lacks a file of a store, or if it is a shared store.
pub fn check_names(path: &Path, is_file: impl Fn(&str) -> bool) -> Result<(), StoreError> {
    let not_a_store = |reason| {
        Err(StoreError::NotAStore {
            path: path.to_owned(),
            reason,
        })
    };
    if is_file(SHARD_COUNT) {
        return not_a_store(NotAStoreReason::IsShared {
            first_shard: path.join(shard_name(0)),
        });
    }
    let names = StoreFile::ALL.map(StoreFile::name);
    match names.into_iter().chain([LOCK]).find(|name| !is_file(name)) {
        Some(name) => not_a_store(NotAStoreReason::MissingFile { name }),
        None => Ok(()),
    }
}
