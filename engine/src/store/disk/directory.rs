//! The real medium: a directory of files.
//!
//! It is made under another name, given its final size and real blocks, synced, and only
//! then renamed; so a full disk can fail nothing but its making, and what bears the name
//! is whole. Opening creates and changes nothing.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::store::error::StoreError;
use crate::store::layout::Layout;
use crate::store::live::map_privately;
use crate::store::medium::{Medium, StoreFile};
use crate::store::names::{LOCK, check_names};

/// The files of a store.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    files: [File; 5],
    /// Held by the one writer; readers have none.
    _lock: Option<Lock>,
}

/// A lock that ends with this, not with the last copy of the handle: a process that another
/// thread is just starting has a copy of every handle, until it becomes another program.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl Directory {
    /// Makes a store's directory; `fill` writes what its files must hold at first.
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
        let making = parent.join(format!(".{name}.{}.making", std::process::id()));
        fs::create_dir(&making).map_err(|error| StoreError::on_path("create", &making, error))?;
        let made = Self::make(&making, layout, fill).and_then(|directory| {
            rename_to_new_name(&making, path)?;
            sync_directory(parent)?;
            Ok(directory)
        });
        match made {
            Ok(directory) => Ok(Directory {
                path: path.to_owned(),
                ..directory
            }),
            Err(error) => {
                // Ours alone, and never a store.
                let _ = fs::remove_dir_all(&making);
                Err(error)
            }
        }
    }

    fn make(
        making: &Path,
        layout: &Layout,
        fill: impl FnOnce(&Directory) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        let create = |name: &str| {
            let path = making.join(name);
            let mut options = File::options();
            options.read(true).write(true).create_new(true);
            options
                .open(&path)
                .map_err(|error| StoreError::on_path("create", &path, error))
        };
        let lock = create(LOCK)?;
        let _ = lock.try_lock();
        let mut files = Vec::new();
        for file in StoreFile::ALL {
            let handle = create(file.name())?;
            allocate(&handle, layout.file_bytes(file)).map_err(|error| {
                StoreError::on_path("allocate", &making.join(file.name()), error)
            })?;
            files.push(handle);
        }
        let files: [File; 5] = files
            .try_into()
            .map_err(|_| StoreError::Parameters("a store has five files".to_owned()))?;
        let directory = Directory {
            path: making.to_owned(),
            files,
            _lock: Some(Lock(lock)),
        };
        fill(&directory)?;
        for file in StoreFile::ALL {
            directory.files[file as usize]
                .sync_all()
                .map_err(|error| StoreError::on_path("sync", &making.join(file.name()), error))?;
        }
        sync_directory(making)?;
        Ok(directory)
    }

    /// Opens a store to write to it, alone.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::check(path)?;
        let lock_path = path.join(LOCK);
        let lock = File::options().read(true).write(true).open(&lock_path);
        let lock =
            lock.map_err(|error| StoreError::on_path("open for writing", &lock_path, error))?;
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
        // A repair may have put another store in this one's place meanwhile.
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

    /// Opens a store to read it while no writer can change it.
    pub fn open_undisturbed(path: &Path) -> Result<Self, StoreError> {
        Self::check(path)?;
        let lock_path = path.join(LOCK);
        let lock = File::open(&lock_path)
            .map_err(|error| StoreError::on_path("open", &lock_path, error))?;
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

    /// Opens a store to read it, beside a writer or not.
    pub fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        Self::check(path)?;
        Ok(Directory {
            path: path.to_owned(),
            files: open_files(path, false)?,
            _lock: None,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn check(path: &Path) -> Result<(), StoreError> {
        let metadata =
            fs::metadata(path).map_err(|error| StoreError::on_path("open", path, error))?;
        if !metadata.is_dir() {
            return Err(StoreError::NotAStore {
                path: path.to_owned(),
                reason: "it is a file; a store is a directory".to_owned(),
            });
        }
        check_names(path, |name| path.join(name).is_file())
    }
}

fn open_files(path: &Path, write: bool) -> Result<[File; 5], StoreError> {
    let mut files = Vec::new();
    for file in StoreFile::ALL {
        let path = path.join(file.name());
        let operation = if write { "open for writing" } else { "open" };
        let handle = File::options().read(true).write(write).open(&path);
        files.push(handle.map_err(|error| StoreError::on_path(operation, &path, error))?);
    }
    files
        .try_into()
        .map_err(|_| StoreError::Parameters("a store has five files".to_owned()))
}

/// Whether the file at a path is the one that was opened.
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
    // Where an open file cannot be renamed, nothing else can be there.
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        Ok(true)
    }
}

/// Gives a file its size and the blocks for it.
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

/// Renames, unless something has come to bear the new name meanwhile.
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
    fs::rename(from, to).map_err(|error| StoreError::on_path("create", to, error))
}

/// Makes names in a directory durable.
pub(super) fn sync_directory(path: &Path) -> Result<(), StoreError> {
    // Windows has no such thing: a rename there is durable with the file system's journal.
    if cfg!(windows) {
        return Ok(());
    }
    let synced = File::open(path).and_then(|directory| directory.sync_all());
    synced.map_err(|error| StoreError::on_path("sync", path, error))
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
    ) -> Option<io::Result<memmap2::MmapMut>> {
        Some(map_privately(&self.files[file as usize], offset, length))
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}
