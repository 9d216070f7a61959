//! Stores and real processes: killed, interrupted, refused, out of room.
#![cfg(unix)]

mod campaign;
mod ends;
mod kills;
mod refusals;
mod remembering;
mod room;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dedupstore::store::{OpenOptions, Store};
use tempfile::TempDir;

use crate::DEDUPSTORE;

/// A place, and the name of a store in it.
fn place() -> (TempDir, PathBuf) {
    let directory = TempDir::new().expect("a place");
    let store = directory.path().join("links.dds");
    (directory, store)
}

/// The command line with arguments, and nothing to read.
fn dedupstore<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(DEDUPSTORE);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn standard_error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs to the end, which must be a good one.
#[track_caller]
fn succeed<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    let output = dedupstore(arguments).output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{}", standard_error(&output));
    output
}

/// A small store, made by the command line.
fn create(store: &Path, memory: &str, log_size: &str) {
    let store = store.to_str().expect("text");
    succeed([
        "create",
        store,
        "--memory",
        memory,
        "--filter",
        "bloom:k=4",
        "--log-size",
        log_size,
        "--seed",
        "1",
    ]);
}

/// A number that the environment may set, for longer runs than a test's.
fn setting(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(otherwise, |text| text.parse().expect(name))
}

/// A store that was closed: nothing to replay, nothing torn.
#[track_caller]
fn open_closed(path: &Path) -> Store {
    let store = Store::open(path, OpenOptions::default()).expect("whole");
    assert_eq!(store.recovery().replayed, 0, "it was closed");
    assert!(store.recovery().torn.is_none());
    store
}

/// Every file below a path with its bytes, in order.
fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("readable");
            waiting.extend(entries.map(|entry| entry.expect("an entry").path()));
            found.push((path, Vec::new()));
        } else {
            let bytes = fs::read(&path).expect("readable");
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

/// A small disk of its own, where this user may mount one.
struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    fn mount(path: &Path, size: &str) -> Option<Self> {
        fs::create_dir(path).expect("a place to mount");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(path)
            .stderr(Stdio::null())
            .status();
        match mounted {
            Ok(status) if status.success() => Some(SmallDisk {
                path: path.to_owned(),
            }),
            _ => {
                eprintln!("skipped: this user may not mount a small disk");
                None
            }
        }
    }

    fn remount_read_only(&self) -> bool {
        let status = Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(&self.path)
            .status();
        status.is_ok_and(|status| status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
    }
}
