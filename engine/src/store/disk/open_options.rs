//! Options of an open store.

use std::fs;
use std::path::Path;

use super::create::random_id;
use super::directory::Directory;
use super::durability::Durability;
use super::handle::Store;
use super::loading::Backing;
use super::new_directory::NewDirectory;
use super::shared::SharedStore;
use crate::region::Memory;
use crate::seen_set::CreateError;
use crate::store::create::CreateOptions;
use crate::store::error::StoreError;
use crate::store::medium::Medium;

/// Options of an open store, and the ways to open one.
///
/// ```
/// use dedupstore::store::{CreateOptions, Durability, OpenOptions};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("links.dds");
/// let mut store = OpenOptions::new()
///     .durability(Durability::Every)
///     .open_or_create(&path, &CreateOptions::new("bloom:k=4")?.memory("1MiB"))?;
/// store.observe("https://harbour.example/")?;
/// assert_eq!(store.durable_sequence(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "options do nothing until a store is opened with them"]
pub struct OpenOptions {
    pub(super) durability: Durability,
    pub(super) backing: Backing,
    pub(super) verify_first: bool,
    pub(super) threads: bool,
    pub(super) observing_threads: usize,
    pub(super) map_log: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions::new()
    }
}

impl OpenOptions {
    /// Returns the default options.
    pub const fn new() -> Self {
        OpenOptions {
            durability: Durability::DEFAULT,
            backing: Backing::Automatic,
            verify_first: true,
            threads: true,
            observing_threads: 1,
            map_log: true,
        }
    }

    /// Sets when observations become durable. The default is an interval of one second.
    pub const fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets how the region is loaded into memory. The default chooses by its size.
    pub const fn backing(mut self, backing: Backing) -> Self {
        self.backing = backing;
        self
    }

    /// Sets whether every block is checked before the first observation (the default) or in
    /// the background after it. In the background, a corrupt block that is found later
    /// poisons the store, and no checkpoint is taken before all blocks are checked.
    pub const fn verify_first(mut self, verify_first: bool) -> Self {
        self.verify_first = verify_first;
        self
    }

    /// Sets whether background threads write checkpoints and sync the log (the default).
    /// Without threads, the calls that observe do that work themselves, and
    /// [`Durability::Interval`] syncs at checkpoints only.
    pub const fn threads(mut self, threads: bool) -> Self {
        self.threads = threads;
        self
    }

    /// Sets how many threads hash and observe a large batch together; the default is 1. Verdicts and
    /// state are the same for every number. [`SeenSetBuilder::threads`](crate::SeenSetBuilder::threads)
    /// says which filters use all threads. While a checkpoint copies the region, one thread observes.
    pub const fn observing_threads(mut self, threads: usize) -> Self {
        self.observing_threads = threads;
        self
    }

    /// Sets whether the end of the log may be a shared memory map (the default), so that observing
    /// one key makes no system call. It is used only on file systems where a store into the map
    /// cannot run out of space (ext4 and tmpfs). But if another program truncates a log while it is
    /// mapped, the operating system kills the process. Without a map, every call writes to the log.
    /// The files are the same.
    pub const fn map_log(mut self, map_log: bool) -> Self {
        self.map_log = map_log;
        self
    }

    /// Opens a store and recovers its state.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Store, StoreError> {
        self.open_on(Directory::open(path.as_ref())?)
    }

    /// Creates a store. Fails if the path exists.
    pub fn create(
        &self,
        path: impl AsRef<Path>,
        options: &CreateOptions,
    ) -> Result<Store, StoreError> {
        let (path, layout) = (path.as_ref(), options.layout()?);
        // Without enough memory, fails before gigabytes are written.
        drop(Memory::zeroed(layout.region_bytes as usize).map_err(CreateError::from)?);
        let fill = |directory: &Directory| options.write_initial_files(directory, random_id());
        NewDirectory::create(path, &layout, fill)
            .and_then(|created| created.finish_after(|directory| self.open_on(directory)))
            .map_err(|error| error.while_creating(path, &layout))
    }

    /// Opens a store, or creates it if the path does not exist. An existing store must agree
    /// with every option that is set; else this fails with
    /// [`StoreError::OptionMismatch`].
    pub fn open_or_create(
        &self,
        path: impl AsRef<Path>,
        options: &CreateOptions,
    ) -> Result<Store, StoreError> {
        let path = path.as_ref();
        match create_unless_exists(path, || self.create(path, options))? {
            Some(created) => Ok(created),
            None => {
                let store = self.open(path)?;
                store.check_agreement(options)?;
                Ok(store)
            }
        }
    }

    /// Opens the store on a medium and recovers its state.
    pub fn open_on<M: Medium>(&self, medium: M) -> Result<Store<M>, StoreError> {
        Store::open_on(medium, *self)
    }

    /// Creates a store on a medium whose files have the sizes of
    /// [`CreateOptions::layout`] and hold only zeros.
    pub fn create_on<M: Medium>(
        &self,
        medium: M,
        options: &CreateOptions,
    ) -> Result<Store<M>, StoreError> {
        options.write_initial_files(&medium, random_id())?;
        self.open_on(medium)
    }

    /// Opens a shared store; see [`SharedStore::open`].
    pub fn open_shared(&self, path: impl AsRef<Path>) -> Result<SharedStore, StoreError> {
        SharedStore::open_with(path.as_ref(), *self)
    }

    /// Creates a shared store; see [`SharedStore::create`].
    pub fn create_shared(
        &self,
        path: impl AsRef<Path>,
        options: &CreateOptions,
    ) -> Result<SharedStore, StoreError> {
        SharedStore::create_with(path.as_ref(), options, *self)
    }

    /// Opens a shared store, or creates it if the path does not exist; see
    /// [`SharedStore::open_or_create`].
    pub fn open_or_create_shared(
        &self,
        path: impl AsRef<Path>,
        options: &CreateOptions,
    ) -> Result<SharedStore, StoreError> {
        let path = path.as_ref();
        match create_unless_exists(path, || self.create_shared(path, options))? {
            Some(created) => Ok(created),
            None => {
                let store = self.open_shared(path)?;
                store.check_agreement(options)?;
                Ok(store)
            }
        }
    }
}

/// Returns None if the path exists, or if another process creates it meanwhile.
fn create_unless_exists<T>(
    path: &Path,
    create: impl FnOnce() -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(None);
    }
    match create() {
        Ok(created) => Ok(Some(created)),
        Err(StoreError::AlreadyExists { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
