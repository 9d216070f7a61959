//! Directories that a process is creating and that must not outlive it unfinished.
//!
//! A store is written under a temporary name and then renamed. If that fails, dropping
//! [`Unfinished`] removes the directory. A process that is about to end because of a signal calls
//! [`remove_unfinished`]. What a killed process leaves is found by `leftovers`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use super::leftovers::temporary_name;
use super::new_directory::rename_to_new_name;
use super::path_context::PathContext;
use crate::store::error::StoreError;
use crate::store::lock::lock;

/// The unfinished directories of this process.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// How often to try to remove a directory in which another thread still creates files.
const ATTEMPTS: u32 = 200;

/// A directory that is removed on drop, unless it was finished.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
    finished: bool,
}

impl Unfinished {
    /// Creates a directory with a temporary name for the store at `path`.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        let mut number = 0;
        loop {
            let created = Self::create_named(temporary_name(path, number));
            match created {
                // A killed process with the same id has left it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(directory_not_found(path, error));
                }
                created => return created.on_path("create", path),
            }
        }
    }

    /// Creates a directory that must not exist.
    pub fn create_named(path: PathBuf) -> io::Result<Self> {
        let mut unfinished = lock(&UNFINISHED);
        fs::create_dir(&path)?;
        unfinished.push(path.clone());
        Ok(Unfinished {
            path,
            finished: false,
        })
    }

    /// Gives a store back its temporary name, so that whatever stops its removal leaves what is
    /// known as a leftover. The caller must hold the store's lock.
    pub fn again(path: &Path) -> Result<Self, StoreError> {
        let mut unfinished = lock(&UNFINISHED);
        let mut number = 0;
        loop {
            let temporary = temporary_name(path, number);
            match rename_to_new_name(path, &temporary) {
                Err(StoreError::AlreadyExists { .. }) => number += 1,
                renamed => {
                    renamed?;
                    unfinished.push(temporary.clone());
                    return Ok(Unfinished {
                        path: temporary,
                        finished: false,
                    });
                }
            }
        }
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Calls `exchange`, which gives another directory the temporary name. That one is removed when
    /// this is dropped. Waits forever if the process is about to end because of a signal.
    pub fn exchange(
        &self,
        exchange: impl FnOnce(&Path) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let _unfinished = lock(&UNFINISHED);
        exchange(&self.path)
    }

    /// Calls `rename`, which gives the directory its final name. Waits forever if the process is
    /// about to end because of a signal.
    pub fn finish<T>(
        mut self,
        rename: impl FnOnce(&Path) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut unfinished = lock(&UNFINISHED);
        let renamed = rename(&self.path)?;
        unfinished.retain(|path| *path != self.path);
        self.finished = true;
        Ok(renamed)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.finished {
            // This process created it, and it never was a store.
            let _ = fs::remove_dir_all(&self.path);
            lock(&UNFINISHED).retain(|path| *path != self.path);
        }
    }
}

/// Removes the unfinished directories of stores that this process is creating, repairing, copying
/// or merging. For a thread that ends the process because of a signal: from here on, every other
/// thread waits when it starts or finishes such a directory.
pub fn remove_unfinished() {
    let unfinished = lock(&UNFINISHED);
    for path in unfinished.iter() {
        for _ in 0..ATTEMPTS {
            match fs::remove_dir_all(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                _ => break,
            }
        }
    }
    // Never unlocked: what is removed must not get its final name.
    std::mem::forget(unfinished);
}

fn directory_not_found(path: &Path, error: io::Error) -> StoreError {
    match path.parent().filter(|parent| *parent != Path::new("")) {
        Some(parent) => StoreError::DirectoryNotFound {
            path: path.to_owned(),
            directory: parent.to_owned(),
        },
        None => StoreError::on_path("create", path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_directory_is_removed_and_a_finished_one_is_not() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("a.dds");
        let unfinished = Unfinished::create(&path).expect("created");
        let second = Unfinished::create(&path).expect("under another name");
        assert_ne!(unfinished.path(), second.path());
        fs::write(second.path().join("image.0"), "half").expect("written");
        drop(second);
        unfinished
            .finish(|temporary| fs::rename(temporary, &path).on_path("rename", temporary))
            .expect("finished");
        let left: Vec<_> = fs::read_dir(directory.path()).expect("there").collect();
        assert_eq!(left.len(), 1);
        assert!(path.is_dir());
    }

    #[test]
    fn a_directory_whose_renaming_fails_is_removed() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let unfinished = Unfinished::create(&directory.path().join("a.dds")).expect("created");
        let failed: Result<(), _> = unfinished.finish(|_| Err(StoreError::ImageReplaced));
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(directory.path()).expect("there").count(), 0);
    }
}
