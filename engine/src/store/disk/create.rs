//! Creating and opening a store at a path.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;

use super::directory::Directory;
use super::handle::Store;
use super::open_options::OpenOptions;
use super::unfinished::Unfinished;
use crate::store::create::CreateOptions;
use crate::store::error::StoreError;
use crate::store::format::checksum::StoreId;
use crate::store::medium::Medium;

impl CreateOptions {
    /// Writes an empty store into the files of a medium, which must have the sizes of
    /// [`layout`](CreateOptions::layout) and hold only zeros. The identity must be random.
    pub fn write_initial_files(
        &self,
        medium: &impl Medium,
        store_id: StoreId,
    ) -> Result<(), StoreError> {
        let empty = self.empty_store(store_id, random, medium.unix_seconds())?;
        empty.write(medium).map(|_| ())
    }
}

impl Store<Directory> {
    /// Opens a store and recovers its state, with the default [`OpenOptions`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        OpenOptions::new().open(path)
    }

    /// Creates a store, with the default [`OpenOptions`]. Fails if the path exists.
    pub fn create(path: impl AsRef<Path>, options: &CreateOptions) -> Result<Self, StoreError> {
        OpenOptions::new().create(path, options)
    }

    /// Opens a store, or creates it if the path does not exist, with the default
    /// [`OpenOptions`]. An existing store must agree with every option that is set; else this
    /// fails with [`StoreError::OptionMismatch`].
    pub fn open_or_create(
        path: impl AsRef<Path>,
        options: &CreateOptions,
    ) -> Result<Self, StoreError> {
        OpenOptions::new().open_or_create(path, options)
    }
}

impl Store<Directory> {
    /// Deletes the store with all its files: for a caller that has created it and cannot use it.
    /// As long as the files exist, no other process can open the store for writing.
    pub fn delete(self) -> Result<(), StoreError> {
        let unfinished = Unfinished::again(self.medium().path())?;
        // Windows removes no files that are open.
        drop(self);
        drop(unfinished);
        Ok(())
    }
}

/// Returns a random identity for a new store.
pub(super) fn random_id() -> StoreId {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&random().to_le_bytes());
    id[8..].copy_from_slice(&random().to_le_bytes());
    id
}

/// Returns a random number, from the keys that the standard library gets from the operating
/// system for its hash maps.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_store_leaves_nothing_and_its_path_is_free() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("a.dds");
        let options = CreateOptions::default().memory("64KiB").log_size("64KiB");
        let mut store = Store::create(&path, &options).expect("created");
        store.observe("a").expect("recorded");
        store.delete().expect("deleted");
        let left = std::fs::read_dir(directory.path()).expect("there");
        assert_eq!(left.count(), 0);
        let again = Store::create(&path, &options).expect("created again");
        assert_eq!(again.sequence(), 0);
    }
}
