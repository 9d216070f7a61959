//! Making a store on a disk.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;

use super::directory::Directory;
use super::handle::{OpenOptions, Store};
use crate::store::checksum::StoreId;
use crate::store::create::CreateOptions;
use crate::store::error::StoreError;
use crate::store::medium::Medium;

impl CreateOptions {
    /// Writes a store that has observed nothing into files of zeros.
    pub fn fill(&self, medium: &impl Medium, store_id: StoreId) -> Result<(), StoreError> {
        let seed = self.seed.unwrap_or_else(random);
        let unused = self.unused(store_id, seed, medium.unix_seconds())?;
        unused.write(medium).map(|_| ())
    }
}

impl Store<Directory> {
    /// Makes a store; whatever is at the path already is left alone.
    pub fn create(
        path: impl AsRef<Path>,
        create: &CreateOptions,
        open: OpenOptions,
    ) -> Result<Self, StoreError> {
        let layout = create.layout()?;
        let directory = Directory::create(path.as_ref(), &layout, |directory| {
            create.fill(directory, random_id())
        })?;
        Store::open_on(directory, open)
    }

    /// Opens a store and recovers its state.
    pub fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self, StoreError> {
        Store::open_on(Directory::open(path.as_ref())?, options)
    }
}

/// A new store's identity.
pub(super) fn random_id() -> StoreId {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&random().to_le_bytes());
    id[8..].copy_from_slice(&random().to_le_bytes());
    id
}

/// From the keys that the standard library draws from the operating system.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
