//! The lock by which a store has one writer at a time.
//!
//! The file `lock` is locked. Its holder writes its process id into it, so that others can name
//! it, and empties it at the end. After a crash the id stays; it is shown only while the lock is
//! held, by a process that exists.
//!
//! The directory is locked as well, if possible. That protects a store whose file `lock` was
//! removed under its writer: a repair locks the directory before it creates the file again.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use super::file_access_at::write_all_at;
use super::path_context::PathContext;
use crate::store::error::StoreError;
use crate::store::names::LOCK;

/// A lock that is released on drop. Closing the files is not enough: a child process that another
/// thread is starting holds a copy of every open file between fork and exec.
#[derive(Debug)]
pub struct WriterLock {
    /// None if the store lacks the file.
    file: Option<File>,
    directory: Option<File>,
    /// Whether the file holds this process's id.
    names_holder: bool,
}

/// What to do if the store lacks the file `lock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutFile {
    /// Fail.
    Fail,
    /// Lock only the directory.
    LockDirectory,
}

impl WriterLock {
    /// Locks a store for writing.
    pub fn exclusive(path: &Path, without_file: WithoutFile) -> Result<Self, StoreError> {
        let file_path = path.join(LOCK);
        let opened = File::options().read(true).write(true).open(&file_path);
        let file = match opened {
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && without_file == WithoutFile::LockDirectory =>
            {
                return Self::directory_only(path, File::try_lock);
            }
            opened => opened.on_path("open for writing", &file_path)?,
        };
        check_lock(path, &file_path, file.try_lock())?;
        // A repair may have replaced the store before this process got the lock.
        if !is_still_at(&file, &file_path)? {
            return Err(in_use(path));
        }
        Ok(Self::held(path, file))
    }

    /// Locks a store so that no writer changes it meanwhile.
    pub fn shared(path: &Path) -> Result<Self, StoreError> {
        let file_path = path.join(LOCK);
        let file = match File::open(&file_path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Self::directory_only(path, File::try_lock_shared);
            }
            opened => opened.on_path("open", &file_path)?,
        };
        check_lock(path, &file_path, file.try_lock_shared())?;
        Ok(WriterLock {
            file: Some(file),
            directory: None,
            names_holder: false,
        })
    }

    /// Locks a store that this process is creating; `file` is its file `lock`.
    pub fn of_new_store(path: &Path, file: File) -> Self {
        // Nobody else knows the file yet. Without support for locks there is none.
        let _ = file.try_lock();
        Self::held(path, file)
    }

    /// Writes this process's id and locks the directory. Both are only an addition, and may fail:
    /// on a full disk, or if the user has locked the directory for a reason of their own.
    fn held(path: &Path, file: File) -> Self {
        let id = format!("{}\n", std::process::id());
        let written = file
            .set_len(0)
            .and_then(|()| write_all_at(&file, id.as_bytes(), 0));
        let directory = File::open(path).ok();
        WriterLock {
            file: Some(file),
            directory: directory.filter(|directory| directory.try_lock().is_ok()),
            names_holder: written.is_ok(),
        }
    }

    fn directory_only(
        path: &Path,
        lock: fn(&File) -> Result<(), TryLockError>,
    ) -> Result<Self, StoreError> {
        let directory = File::open(path).on_path("open", path)?;
        check_lock(path, path, lock(&directory))?;
        Ok(WriterLock {
            file: None,
            directory: Some(directory),
            names_holder: false,
        })
    }

    /// Creates the missing file `lock` and locks it.
    pub fn restore_file(&mut self, path: &Path) -> Result<(), StoreError> {
        let file_path = path.join(LOCK);
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        let file = options.open(&file_path).on_path("create", &file_path)?;
        check_lock(path, &file_path, file.try_lock())?;
        self.file = Some(file);
        Ok(())
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            if self.names_holder {
                let _ = file.set_len(0);
            }
            let _ = file.unlock();
        }
        if let Some(directory) = &self.directory {
            let _ = directory.unlock();
        }
    }
}

/// Returns whether a process holds the lock of the store, or of the unfinished store, at a path;
/// None if there is no file `lock`.
pub fn is_locked(path: &Path) -> Option<bool> {
    let file = File::open(path.join(LOCK)).ok()?;
    let locked = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    if !locked {
        let _ = file.unlock();
    }
    Some(locked)
}

fn check_lock(
    path: &Path,
    locked_path: &Path,
    locked: Result<(), TryLockError>,
) -> Result<(), StoreError> {
    match locked {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(in_use(path)),
        Err(TryLockError::Error(error)) => Err(StoreError::on_path("lock", locked_path, error)),
    }
}

fn in_use(path: &Path) -> StoreError {
    let holder = fs::read_to_string(path.join(LOCK)).ok();
    let holder = holder.and_then(|text| text.trim().parse().ok());
    StoreError::InUse {
        path: path.to_owned(),
        holder: holder.filter(|&id| process_exists(id)),
    }
}

/// Returns whether there is a process with this id, as far as that can be known.
pub fn process_exists(id: u32) -> bool {
    match cfg!(target_os = "linux") {
        true => Path::new("/proc").join(id.to_string()).exists(),
        false => true,
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
