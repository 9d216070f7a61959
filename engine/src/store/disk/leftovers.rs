//! What killed processes have left next to a store.

use std::fs;
use std::path::{Path, PathBuf};

use super::quarantine::{parent, with_appended_name};
use super::writer_lock::{is_locked, process_exists};

/// A directory in which a process was creating or rebuilding a store when it was killed. Nobody
/// uses it, and it takes up disk space.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// The directory.
    pub path: PathBuf,
    /// The disk space that it takes up.
    pub disk_bytes: u64,
}

/// Returns the directory under which this process creates the store of a path. If that exists,
/// the caller tries the next number.
pub fn temporary_name(path: &Path, number: u32) -> PathBuf {
    let process = std::process::id();
    let number = match number {
        0 => String::new(),
        number => format!("-{number}"),
    };
    let name = with_appended_name(path, &format!(".{process}{number}.creating"));
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name.file_name().unwrap_or_default());
    name.with_file_name(hidden)
}

/// Returns the directory in which this process rebuilds the store of a path.
pub fn rebuilding_name(path: &Path) -> PathBuf {
    with_appended_name(path, &format!(".rebuilt-{}", std::process::id()))
}

/// Finds what killed processes have left of creating, copying, merging or repairing the store at
/// a path. Returns nothing if the directory around the path cannot be read.
pub fn leftovers(path: impl AsRef<Path>) -> Vec<Leftover> {
    let path = path.as_ref();
    let Some(store) = path.file_name().and_then(|name| name.to_str()) else {
        return Vec::new();
    };
    let around = parent(path);
    let entries = fs::read_dir(around).into_iter().flatten().flatten();
    let mut found: Vec<Leftover> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let process = process_of(name.to_str()?, store)?;
            // Not `entry.path()`, which begins with `./` if the path has no directory.
            let path = path.with_file_name(&name);
            let is_in_use = match is_locked(&path) {
                Some(locked) => locked,
                None => process != std::process::id() && process_exists(process),
            };
            (entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_in_use).then(|| Leftover {
                disk_bytes: disk_bytes(&path),
                path,
            })
        })
        .collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Returns the process that used a name for the unfinished store `store`; None if the name is
/// another one.
fn process_of(name: &str, store: &str) -> Option<u32> {
    if let Some(rest) = name.strip_prefix(store) {
        return rest.strip_prefix(".rebuilt-")?.parse().ok();
    }
    let rest = name.strip_prefix('.')?.strip_prefix(store)?;
    let numbers = rest.strip_prefix('.')?.strip_suffix(".creating")?;
    match numbers.split_once('-') {
        Some((process, number)) => number.parse::<u32>().ok().and(process.parse().ok()),
        None => numbers.parse().ok(),
    }
}

/// Returns the disk space of a directory and everything in it.
fn disk_bytes(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
        Ok(metadata) => allocated_bytes(&metadata),
        Err(_) => 0,
    });
    sizes.sum()
}

#[cfg(unix)]
fn allocated_bytes(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(metadata) * 512
}

#[cfg(not(unix))]
fn allocated_bytes(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_are_recognized_and_others_are_not() {
        let own = std::process::id();
        let path = Path::new("a/links.dds");
        for name in [
            temporary_name(path, 0),
            temporary_name(path, 3),
            rebuilding_name(path),
        ] {
            assert_eq!(name.parent(), Some(Path::new("a")));
            let name = name.file_name().and_then(|name| name.to_str());
            assert_eq!(process_of(name.expect("text"), "links.dds"), Some(own));
        }
        for name in [
            "links.dds",
            "links.dds.damaged-1",
            ".links.dds.x.creating",
            ".links.dds.1-x.creating",
            ".more-links.dds.12.creating",
            ".links.dds.12.creating.txt",
        ] {
            assert_eq!(process_of(name, "links.dds"), None, "{name}");
        }
    }
}
