//! Creating the directory of a store.

use std::fs::{self, File};
use std::path::Path;

use super::directory::{Directory, holds_store, metadata, try_each_file};
use super::file_access_at::allocate;
use super::path_context::PathContext;
use super::quarantine::parent;
use super::unfinished::Unfinished;
use super::writer_lock::WriterLock;
use crate::store::error::StoreError;
use crate::store::format::layout::Layout;
use crate::store::names::LOCK;

/// A store's directory that is complete but does not have its name yet.
pub struct NewDirectory {
    directory: Directory,
    unfinished: Unfinished,
}

impl NewDirectory {
    /// Creates the directory of the store at `path` under a temporary name. `fill` writes the
    /// initial contents of its files.
    pub fn create(
        path: &Path,
        layout: &Layout,
        fill: impl FnOnce(&Directory) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        check_free(path)?;
        Self::create_beside(path, layout, fill)
    }

    /// Creates the directory of a store that will replace the one at `path`, under a temporary name.
    pub fn create_beside(
        path: &Path,
        layout: &Layout,
        fill: impl FnOnce(&Directory) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        Self::create_in(Unfinished::create(path)?, path, layout, fill)
    }

    /// Creates the directory of the store at `path` in a directory that was just created.
    pub fn create_in(
        unfinished: Unfinished,
        path: &Path,
        layout: &Layout,
        fill: impl FnOnce(&Directory) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        match create_files(unfinished.path(), layout, fill) {
            Ok(directory) => Ok(NewDirectory {
                directory: directory.renamed(path),
                unfinished,
            }),
            Err(error) => Err(error
                .relocated(unfinished.path(), path)
                .with_store_path(path)),
        }
    }

    /// Gives the directory its name.
    pub fn finish(self) -> Result<Directory, StoreError> {
        self.finish_after(Ok)
    }

    /// Calls `open` and, if that succeeds, gives the directory its name.
    pub fn finish_after<T>(
        self,
        open: impl FnOnce(Directory) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let path = self.directory.path().to_owned();
        let opened = open(self.directory)?;
        self.unfinished.finish(|temporary| {
            rename_to_new_name(temporary, &path)?;
            sync_directory(parent(&path))
        })?;
        Ok(opened)
    }

    /// Returns the directory, and the guard of its temporary name.
    pub fn into_parts(self) -> (Directory, Unfinished) {
        (self.directory, self.unfinished)
    }
}

/// Creates the files of a store in an empty directory.
fn create_files(
    temporary: &Path,
    layout: &Layout,
    fill: impl FnOnce(&Directory) -> Result<(), StoreError>,
) -> Result<Directory, StoreError> {
    let lock = WriterLock::of_new_store(temporary, create_file(&temporary.join(LOCK))?);
    let files = try_each_file(|file| {
        let path = temporary.join(file.name());
        Ok(Some(create_allocated(&path, layout.file_bytes(file))?))
    })?;
    let directory = Directory::locked(temporary, files, lock);
    fill(&directory)?;
    directory.sync_all()?;
    sync_directory(temporary)?;
    Ok(directory)
}

/// Fails if there is something at the path of a new store.
pub(super) fn check_free(path: &Path) -> Result<(), StoreError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Err(already_exists(path)),
        // Creating the directory reports any other error.
        Err(_) => Ok(()),
    }
}

fn already_exists(path: &Path) -> StoreError {
    match metadata(path) {
        Err(error @ StoreError::DanglingLink { .. }) => error,
        _ => StoreError::AlreadyExists {
            path: path.to_owned(),
            is_store: holds_store(path),
        },
    }
}

fn create_file(path: &Path) -> Result<File, StoreError> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    options.open(path).on_path("create", path)
}

/// Creates a file of zeros with allocated blocks.
pub(super) fn create_allocated(path: &Path, length: u64) -> Result<File, StoreError> {
    let file = create_file(path)?;
    allocate(&file, length).on_path("allocate", path)?;
    Ok(file)
}

/// Renames, and fails if the new name exists.
pub(super) fn rename_to_new_name(from: &Path, to: &Path) -> Result<(), StoreError> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::EXIST) => {
                return Err(already_exists(to));
            }
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
            Err(error) => return Err(StoreError::on_path("create", to, error.into())),
        }
    }
    fs::rename(from, to).on_path("create", to)
}

/// Makes the names in a directory durable.
pub(super) fn sync_directory(path: &Path) -> Result<(), StoreError> {
    // Windows cannot sync a directory: the file system's journal makes a rename durable.
    if cfg!(windows) {
        return Ok(());
    }
    let synced = File::open(path).and_then(|directory| directory.sync_all());
    synced.on_path("sync", path)
}
