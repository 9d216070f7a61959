//! The real medium: a directory of files.
//!
//! A store is created under a temporary name: its files get their final size with allocated
//! blocks and are synced; then the directory is renamed. So a full disk can fail only the
//! creation, and a directory with the final name is complete. Opening creates and changes
//! nothing but the process id in `lock`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::file_access_at::{read_exact_at, write_all_at};
use super::live_region::map_privately;
#[cfg(target_os = "linux")]
use super::log_window::MappedLog;
use super::new_directory::{NewDirectory, create_allocated, sync_directory};
use super::path_context::PathContext;
use super::writer_lock::{WithoutFile, WriterLock};
use crate::region::Memory;
use crate::store::error::{NotAStoreReason, StoreError};
use crate::store::format::layout::Layout;
#[cfg(target_os = "linux")]
use crate::store::medium::LogWindow;
use crate::store::medium::{Medium, StoreFile};
use crate::store::names::{check_names, missing_files};

/// The directory of a store, with its files open.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// A missing file is None; only a store that is examined or repaired may lack one.
    files: [Option<File>; 5],
    /// Held by the one writer. None for a reader that needs no lock.
    lock: Option<WriterLock>,
}

impl Directory {
    /// Creates a store's directory. `fill` writes the initial contents of its files.
    #[doc(hidden)]
    pub fn create(
        path: &Path,
        layout: &Layout,
        fill: impl FnOnce(&Directory) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        NewDirectory::create(path, layout, fill)?.finish()
    }

    /// Returns the directory at a path whose files are open and locked.
    pub(super) fn locked(path: &Path, files: [Option<File>; 5], lock: WriterLock) -> Self {
        Directory {
            path: path.to_owned(),
            files,
            lock: Some(lock),
        }
    }

    /// Returns the same directory under the name that it will have.
    pub(super) fn renamed(self, path: &Path) -> Self {
        Directory {
            path: path.to_owned(),
            ..self
        }
    }

    /// Makes the contents and the sizes of all files durable.
    pub(super) fn sync_all(&self) -> Result<(), StoreError> {
        for (file, handle) in StoreFile::ALL.into_iter().zip(&self.files) {
            if let Some(handle) = handle {
                let synced = handle.sync_all();
                synced.on_path("sync", &self.path.join(file.name()))?;
            }
        }
        Ok(())
    }

    /// Opens a store for writing and locks it. Fails if another process has it open for
    /// writing.
    pub(in crate::store) fn open(path: &Path) -> Result<Self, StoreError> {
        check_names(path, is_file_in(path)?)?;
        let lock = WriterLock::exclusive(path, WithoutFile::Fail)?;
        Ok(Self::locked(path, open_files(path, true, &[])?, lock))
    }

    /// Opens a store that may lack files for writing, and locks it. Returns the missing files.
    pub(super) fn open_incomplete(path: &Path) -> Result<(Self, Vec<StoreFile>), StoreError> {
        let missing = missing_files(path, is_file_in(path)?)?;
        let lock = WriterLock::exclusive(path, WithoutFile::LockDirectory)?;
        let files = open_files(path, true, &missing)?;
        Ok((Self::locked(path, files, lock), missing))
    }

    /// Opens a store that may lack files for reading, and locks it so that no writer changes it
    /// meanwhile. Returns the missing files.
    pub(super) fn open_incomplete_read_only(
        path: &Path,
    ) -> Result<(Self, Vec<StoreFile>), StoreError> {
        let missing = missing_files(path, is_file_in(path)?)?;
        let lock = WriterLock::shared(path)?;
        let files = open_files(path, false, &missing)?;
        Ok((Self::locked(path, files, lock), missing))
    }

    /// Opens a store for reading without a lock. A writer may have it open.
    pub(in crate::store) fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        check_names(path, is_file_in(path)?)?;
        Ok(Directory {
            path: path.to_owned(),
            files: open_files(path, false, &[])?,
            lock: None,
        })
    }

    /// Creates the files that the store lacks, filled with zeros, durably.
    pub(super) fn restore_files(
        &mut self,
        layout: &Layout,
        missing: &[StoreFile],
    ) -> Result<(), StoreError> {
        for &file in missing {
            let path = self.path.join(file.name());
            match (file, &mut self.lock) {
                (StoreFile::Lock, Some(lock)) => lock.restore_file(&self.path)?,
                (StoreFile::Lock, None) => {}
                _ => {
                    let handle = create_allocated(&path, layout.file_bytes(file))?;
                    handle.sync_all().on_path("sync", &path)?;
                    self.files[file as usize] = Some(handle);
                }
            }
        }
        sync_directory(&self.path)
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, file: StoreFile) -> io::Result<&File> {
        let handle = self.files.get(file as usize).and_then(Option::as_ref);
        handle.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Returns whether a path is a directory with files of a store, or of a shared store. Also
/// returns true if a file cannot be looked at: opening the store reports why.
pub fn holds_store(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    let Ok(is_file) = is_file_in(path) else {
        return false;
    };
    match missing_files(path, is_file) {
        Ok(_) => true,
        Err(StoreError::NotAStore { reason, .. }) => {
            matches!(reason, NotAStoreReason::IsShared { .. })
        }
        Err(_) => true,
    }
}

/// Returns a function that tells whether a directory has a file. Fails if the path is not a
/// directory.
fn is_file_in(path: &Path) -> Result<impl Fn(&str) -> Result<bool, StoreError>, StoreError> {
    if !metadata(path)?.is_dir() {
        return Err(StoreError::NotAStore {
            path: path.to_owned(),
            reason: NotAStoreReason::IsFile,
        });
    }
    Ok(move |name: &str| {
        let path = path.join(name);
        match fs::metadata(&path) {
            Ok(metadata) => Ok(metadata.is_file()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::on_path("look at", &path, error)),
        }
    })
}

fn open_files(
    path: &Path,
    write: bool,
    missing: &[StoreFile],
) -> Result<[Option<File>; 5], StoreError> {
    try_each_file(|file| {
        if missing.contains(&file) {
            return Ok(None);
        }
        let path = path.join(file.name());
        let operation = if write { "open for writing" } else { "open" };
        let handle = File::options().read(true).write(write).open(&path);
        handle.on_path(operation, &path).map(Some)
    })
}

/// Calls `open` for each file of a store, up to the first failure.
pub(super) fn try_each_file<T>(
    mut open: impl FnMut(StoreFile) -> Result<T, StoreError>,
) -> Result<[T; 5], StoreError> {
    let [image_0, image_1, log_0, log_1, mark] = StoreFile::ALL;
    Ok([
        open(image_0)?,
        open(image_1)?,
        open(log_0)?,
        open(log_1)?,
        open(mark)?,
    ])
}

/// Returns the metadata of the store at a path.
pub(super) fn metadata(path: &Path) -> Result<fs::Metadata, StoreError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(match fs::read_link(path) {
            Ok(target) => StoreError::DanglingLink {
                path: path.to_owned(),
                target: path.parent().unwrap_or(path).join(target),
            },
            Err(_) => StoreError::NotFound {
                path: path.to_owned(),
            },
        }),
        metadata => metadata.on_path("open", path),
    }
}

impl Medium for Directory {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        match self.file(file) {
            Ok(file) => Ok(file.metadata()?.len()),
            Err(_) => Ok(0),
        }
    }

    fn exists(&self, file: StoreFile) -> bool {
        self.file(file).is_ok()
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        read_exact_at(self.file(file)?, buffer, offset)
    }

    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        write_all_at(self.file(file)?, bytes, offset)
    }

    fn sync(&self, file: StoreFile) -> io::Result<()> {
        self.file(file)?.sync_data()
    }

    fn map_private(
        &self,
        file: StoreFile,
        offset: u64,
        length: usize,
    ) -> Option<io::Result<Memory>> {
        let mapped = self.file(file);
        Some(mapped.and_then(|file| map_privately(file, offset, length)))
    }

    #[cfg(target_os = "linux")]
    fn map_log(
        &self,
        file: StoreFile,
        offset: u64,
        length: u64,
    ) -> Option<io::Result<Box<dyn LogWindow>>> {
        let window = MappedLog::open(self.file(file).ok()?, offset, length)?;
        Some(window.map(|window| Box::new(window) as Box<dyn LogWindow>))
    }

    fn in_parallel(&self, work: &(dyn Fn() + Sync)) {
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(4));
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // If no thread can be started, this one does all the work.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    /// A deleted file has no name left. A store that was moved still has all its names.
    #[cfg(unix)]
    fn deleted_file(&self) -> Option<StoreFile> {
        use std::os::unix::fs::MetadataExt;
        let is_deleted = |file: &StoreFile| {
            let metadata = self.file(*file).and_then(|file| file.metadata());
            metadata.is_ok_and(|metadata| metadata.nlink() == 0)
        };
        StoreFile::ALL.into_iter().find(is_deleted)
    }

    fn unix_seconds(&self) -> u64 {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.map_or(0, |since| since.as_secs())
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}
