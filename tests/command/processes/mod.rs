//! Processes with a store: killed, interrupted, refused, or on a full disk.
#![cfg(unix)]

mod across_runs;
mod full_disk;
mod half_made;
mod killed_filter;
mod killed_growth;
#[cfg(unix)]
mod killed_single_keys;
mod killed_window;
mod killed_writer;
mod metrics;
mod missing_files;
mod siege;
mod signals;
mod signals_and_pipes;
mod store_errors;
mod torn_output;
mod waiting;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use dedupstore::store::Store;
use dedupstore_tests::siege::SmallDisk;
use tempfile::TempDir;

use crate::DEDUPSTORE;

/// Creates a directory; returns it and the path of a store in it.
fn store_path() -> (TempDir, PathBuf) {
    let directory = TempDir::new().expect("a directory");
    let store = directory.path().join("links.dds");
    (directory, store)
}

/// Returns the command with arguments and empty standard input.
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

/// Runs a command that must succeed.
#[track_caller]
fn succeed<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    let output = dedupstore(arguments).output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{}", standard_error(&output));
    output
}

/// Creates a small store with the command line.
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

/// Sends a signal to a process.
fn signal(child: &Child, name: &str) {
    let number = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &number]).status();
    assert!(sent.expect("sent").success());
}

#[track_caller]
fn exit_code_within(child: &mut Child, limit: Duration) -> Option<i32> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("status") {
            return status.code();
        }
        assert!(started.elapsed() < limit, "still running");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns a number from the environment, for longer runs than the default.
fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |text| text.parse().expect(name))
}

/// Opens a store that must have been closed: nothing to replay, no torn write.
#[track_caller]
fn open_closed(path: &Path) -> Store {
    let store = Store::open(path).expect("opened");
    assert_eq!(store.recovery().replayed, 0, "the store was not closed");
    assert!(store.recovery().torn.is_none());
    store
}

/// Returns every file below a path with its bytes, sorted.
fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![path.to_owned()];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("readable");
            pending.extend(entries.map(|entry| entry.expect("an entry").path()));
            found.push((path, Vec::new()));
        } else {
            let bytes = fs::read(&path).expect("readable");
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}
