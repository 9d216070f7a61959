//! The real medium: a directory of files.
//!
//! A store is created under a temporary name: its files get their final size with allocated
//! blocks and are synced; then the directory is renamed. So a full disk can fail only the
//! creation, and a directory with the final name is complete. Opening creates and changes
//! nothing.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::live_region::map_privately;
use super::path_context::PathContext;
use crate::region::Memory;
use crate::store::error::{NotAStoreReason, StoreError};
use crate::store::format::layout::Layout;
use crate::store::medium::{Medium, StoreFile};
use crate::store::names::{LOCK, check_names};

/// The directory of a store, with its files open.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    files: [File; 5],
    /// Held by the one writer. None for a reader that needs no lock.
    _lock: Option<Lock>,
}

/// A file lock that is released on drop. Closing the file is not enough: a child process that
/// another thread is starting holds a copy of every open file between fork and exec.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl Directory {
    /// Creates a store's directory. `fill` writes the initial contents of its files.
    #[doc(hidden)]
    pub fn create(
        path: &Path,
        layout: &Layout,
        fill: impl FnOnce(&Directory) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(StoreError::AlreadyExists {
                path: path.to_owned(),
            });
        }
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = parent.join(format!(".{name}.{}.creating", std::process::id()));
        create_directory(&temporary, path)?;
        let created = Self::create_files(&temporary, layout, fill).and_then(|directory| {
            rename_to_new_name(&temporary, path)?;
            sync_directory(parent)?;
            Ok(directory)
        });
        match created {
            Ok(directory) => Ok(Directory {
                path: path.to_owned(),
                ..directory
            }),
            Err(error) => {
                // This process created it, and it never was a store.
                let _ = fs::remove_dir_all(&temporary);
                Err(error.relocated(&temporary, path).with_store_path(path))
            }
        }
    }

    fn create_files(
        temporary: &Path,
        layout: &Layout,
        fill: impl FnOnce(&Directory) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        let create = |name: &str| {
            let path = temporary.join(name);
            let mut options = File::options();
            options.read(true).write(true).create_new(true);
            options.open(&path).on_path("create", &path)
        };
        let lock = create(LOCK)?;
        let _ = lock.try_lock();
        let files = try_each_file(|file| {
            let handle = create(file.name())?;
            allocate(&handle, layout.file_bytes(file))
                .on_path("allocate", &temporary.join(file.name()))?;
            Ok(handle)
        })?;
        let directory = Directory {
            path: temporary.to_owned(),
            files,
            _lock: Some(Lock(lock)),
        };
        fill(&directory)?;
        for file in StoreFile::ALL {
            directory.files[file as usize]
                .sync_all()
                .on_path("sync", &temporary.join(file.name()))?;
        }
        sync_directory(temporary)?;
        Ok(directory)
    }

    /// Opens a store for writing and locks it. Fails if another process has it open for
    /// writing.
    pub(in crate::store) fn open(path: &Path) -> Result<Self, StoreError> {
        Self::check(path)?;
        let lock_path = path.join(LOCK);
        let lock = File::options().read(true).write(true).open(&lock_path);
        let lock = lock.on_path("open for writing", &lock_path)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => {
                return Err(StoreError::on_path("lock", &lock_path, error));
            }
        }
        // A repair may have replaced the store before this process got the lock.
        if !is_still_at(&lock, &lock_path)? {
            return Err(StoreError::InUse {
                path: path.to_owned(),
            });
        }
        Ok(Directory {
            path: path.to_owned(),
            files: open_files(path, true)?,
            _lock: Some(Lock(lock)),
        })
    }

    /// Opens a store for reading and locks it, so that no writer changes it meanwhile.
    pub(in crate::store) fn open_read_only_locked(path: &Path) -> Result<Self, StoreError> {
        Self::check(path)?;
        let lock_path = path.join(LOCK);
        let lock = File::open(&lock_path).on_path("open", &lock_path)?;
        match lock.try_lock_shared() {
            Ok(()) => Ok(Directory {
                path: path.to_owned(),
                files: open_files(path, false)?,
                _lock: Some(Lock(lock)),
            }),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse {
                path: path.to_owned(),
            }),
            Err(TryLockError::Error(error)) => Err(StoreError::on_path("lock", &lock_path, error)),
        }
    }

    /// Opens a store for reading without a lock. A writer may have it open.
    pub(in crate::store) fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        Self::check(path)?;
        Ok(Directory {
            path: path.to_owned(),
            files: open_files(path, false)?,
            _lock: None,
        })
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn check(path: &Path) -> Result<(), StoreError> {
        if !metadata(path)?.is_dir() {
            return Err(StoreError::NotAStore {
                path: path.to_owned(),
                reason: NotAStoreReason::IsFile,
            });
        }
        check_names(path, |name| path.join(name).is_file())
    }
}

fn open_files(path: &Path, write: bool) -> Result<[File; 5], StoreError> {
    try_each_file(|file| {
        let path = path.join(file.name());
        let operation = if write { "open for writing" } else { "open" };
        let handle = File::options().read(true).write(write).open(&path);
        handle.on_path(operation, &path)
    })
}

/// Calls `open` for each file of a store, up to the first failure.
fn try_each_file(
    mut open: impl FnMut(StoreFile) -> Result<File, StoreError>,
) -> Result<[File; 5], StoreError> {
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
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::NotFound {
            path: path.to_owned(),
        }),
        metadata => metadata.on_path("open", path),
    }
}

/// Creates the temporary directory in which the store of `path` is written.
pub(super) fn create_directory(temporary: &Path, path: &Path) -> Result<(), StoreError> {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    match (fs::create_dir(temporary), parent) {
        (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
            Err(StoreError::DirectoryNotFound {
                path: path.to_owned(),
                directory: parent.to_owned(),
            })
        }
        (created, _) => created.on_path("create", path),
    }
}

/// Returns whether the file at a path is still the one that was opened.
fn is_still_at(file: &File, path: &Path) -> Result<bool, StoreError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let failed = |error| StoreError::on_path("look at", path, error);
        let (opened, there) = (
            file.metadata().map_err(failed)?,
            fs::metadata(path).map_err(failed)?,
        );
        Ok((opened.dev(), opened.ino()) == (there.dev(), there.ino()))
    }
    // On systems where an open file cannot be renamed, it cannot have been replaced.
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        Ok(true)
    }
}

/// Gives a file its final size and allocates its blocks.
fn allocate(file: &File, length: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        match fallocate(file, FallocateFlags::empty(), 0, length) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let zeros = vec![0; 1 << 20];
    let mut at = 0;
    while at < length {
        let count = (length - at).min(zeros.len() as u64);
        write_all_at(file, &zeros[..count as usize], at)?;
        at += count;
    }
    Ok(())
}

/// Renames, and fails if the new name exists.
pub(super) fn rename_to_new_name(from: &Path, to: &Path) -> Result<(), StoreError> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::EXIST) => {
                return Err(StoreError::AlreadyExists {
                    path: to.to_owned(),
                });
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

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                buffer = &mut buffer[count..];
                offset += count as u64;
            }
        }
    }
    Ok(())
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        bytes = &bytes[count..];
        offset += count as u64;
    }
    Ok(())
}

impl Medium for Directory {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        Ok(self.files[file as usize].metadata()?.len())
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        read_exact_at(&self.files[file as usize], buffer, offset)
    }

    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        write_all_at(&self.files[file as usize], bytes, offset)
    }

    fn sync(&self, file: StoreFile) -> io::Result<()> {
        self.files[file as usize].sync_data()
    }

    fn map_private(
        &self,
        file: StoreFile,
        offset: u64,
        length: usize,
    ) -> Option<io::Result<Memory>> {
        Some(map_privately(&self.files[file as usize], offset, length))
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
            let metadata = self.files[*file as usize].metadata();
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
