//! Whether a directory is a store, by the names of its files.

use std::path::Path;

use super::error::StoreError;
use super::medium::StoreFile;

/// What the one writer locks; it holds nothing.
pub const LOCK: &str = "lock";
/// Says how many parts a shared store has: without it, a missing last part would go unnoticed.
pub const SHARD_COUNT: &str = "shards";

/// The name of a part's directory.
pub fn shard_name(index: usize) -> String {
    format!("shard.{index:03}.dds")
}

/// A directory that lacks a file is no store.
pub fn check_names(path: &Path, is_file: impl Fn(&str) -> bool) -> Result<(), StoreError> {
    let not_a_store = |reason: String| {
        Err(StoreError::NotAStore {
            path: path.to_owned(),
            reason,
        })
    };
    if is_file(SHARD_COUNT) {
        return not_a_store(format!(
            "it is a shared store, of several parts; name one, for example {}",
            path.join(shard_name(0)).display()
        ));
    }
    let names = StoreFile::ALL.map(StoreFile::name);
    match names.into_iter().chain([LOCK]).find(|name| !is_file(name)) {
        Some(name) => not_a_store(format!("it has no file `{name}`")),
        None => Ok(()),
    }
}
