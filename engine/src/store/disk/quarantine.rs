//! Quarantine: damaged files are kept in a directory next to the store.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::new_directory::{rename_to_new_name, sync_directory};
use super::path_context::PathContext;
use super::unfinished::Unfinished;
use crate::store::error::StoreError;
use crate::store::medium::StoreFile;

/// Copies files of a store into a new directory next to it, durably. Returns the directory. If
/// that fails, removes the directory.
pub fn quarantine_copies(path: &Path, files: &[StoreFile]) -> Result<PathBuf, StoreError> {
    let mut number = 1;
    let kept = loop {
        let kept = quarantine_name(path, number);
        match Unfinished::create_named(kept.clone()) {
            Ok(created) => break created,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(StoreError::on_path("create", &kept, error)),
        }
    };
    for file in files {
        copy(&path.join(file.name()), &kept.path().join(file.name()))?;
    }
    sync_directory(kept.path())?;
    kept.finish(|kept| {
        sync_directory(parent(path))?;
        Ok(kept.to_owned())
    })
}

fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let copied = fs::copy(from, to).and_then(|_| File::open(to)?.sync_all());
    copied.on_path("copy a damaged file to", to)
}

/// Replaces a damaged store by a rebuilt one, and keeps the damaged one under a new name, which
/// it returns. If the operating system can exchange two names, the path exists at every moment.
/// If this fails, the damaged store is still at its path.
pub fn replace(path: &Path, rebuilt: &Path) -> Result<PathBuf, StoreError> {
    copy_permissions(path, rebuilt)?;
    let kept = match exchange(path, rebuilt) {
        // If renaming fails, the damaged store keeps the name that the rebuilt one had.
        Ok(()) => rename_to_free_name(path, rebuilt).unwrap_or_else(|_| rebuilt.to_owned()),
        Err(_) => {
            let kept = rename_to_free_name(path, path)?;
            if let Err(error) = rename_to_new_name(rebuilt, path) {
                let _ = rename_to_new_name(&kept, path);
                return Err(error);
            }
            kept
        }
    };
    sync_directory(parent(path))?;
    Ok(kept)
}

/// Gives a new store the place of the one at a path, which gets the temporary name of the new one.
/// If the operating system can exchange two names, the path exists at every moment. Otherwise the
/// old store has a visible name meanwhile, so that a crash does not make it a leftover.
pub fn take_place(path: &Path, temporary: &Path) -> Result<(), StoreError> {
    copy_permissions(path, temporary)?;
    if exchange(path, temporary).is_err() {
        let old = with_appended_name(path, ".before-grow");
        rename_to_new_name(path, &old)?;
        if let Err(error) = rename_to_new_name(temporary, path) {
            let _ = rename_to_new_name(&old, path);
            return Err(error);
        }
        rename_to_new_name(&old, temporary)?;
    }
    sync_directory(parent(path))
}

fn copy_permissions(from: &Path, to: &Path) -> Result<(), StoreError> {
    let files = StoreFile::ALL.map(|file| (from.join(file.name()), to.join(file.name())));
    for (from, to) in files.into_iter().chain([(from.into(), to.into())]) {
        match fs::metadata(&from) {
            // A missing file had permissions like those of the new one, as far as is known.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => found
                .and_then(|metadata| fs::set_permissions(&to, metadata.permissions()))
                .on_path("set the permissions of", &to)?,
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_one: &Path, _other: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn rename_to_free_name(path: &Path, from: &Path) -> Result<PathBuf, StoreError> {
    let mut number = 1;
    loop {
        let kept = quarantine_name(path, number);
        let taken = fs::symlink_metadata(&kept).is_ok();
        match taken {
            true => number += 1,
            false => match rename_to_new_name(from, &kept) {
                Err(StoreError::AlreadyExists { .. }) => number += 1,
                renamed => return renamed.map(|()| kept),
            },
        }
    }
}

fn quarantine_name(path: &Path, number: u32) -> PathBuf {
    with_appended_name(path, &format!(".damaged-{number}"))
}

/// Returns a path with something appended to its last name.
pub fn with_appended_name(path: &Path, addition: &str) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(addition);
    path.with_file_name(name)
}

/// Returns the directory that a path is in.
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_quarantine_is_not_overwritten() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("a.dds");
        fs::create_dir(&path).expect("created");
        fs::write(path.join("mark"), "one").expect("written");
        let first = quarantine_copies(&path, &[StoreFile::Mark]).expect("copied");
        let second = quarantine_copies(&path, &[StoreFile::Mark]).expect("copied");
        assert_eq!(first, directory.path().join("a.dds.damaged-1"));
        assert_eq!(second, directory.path().join("a.dds.damaged-2"));
        assert_eq!(fs::read(second.join("mark")).expect("there"), b"one");
    }

    #[test]
    fn a_failed_copy_leaves_nothing_behind() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("a.dds");
        fs::create_dir(&path).expect("created");
        assert!(quarantine_copies(&path, &[StoreFile::Log0]).is_err());
        assert_eq!(fs::read_dir(directory.path()).expect("there").count(), 1);
    }
}
