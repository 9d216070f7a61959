//! Writes the metrics of a run to a file at an interval, as the textfile collector of the node
//! exporter reads it.
//!
//! A separate thread writes them, whether input arrives or not. It looks at the seen keys itself
//! if no batch uses them; otherwise the main thread publishes their status after its next block.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf, absolute};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::Failure;
use crate::line_filter::{RunCounts, Status};
use crate::metrics_text::{self, Reading, unix_seconds};
use crate::standard_error;

/// How long the thread waits for the main thread to publish. If the output is blocked, it does
/// not, and the thread writes what it knows.
const PATIENCE: Duration = Duration::from_secs(1);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// A metrics file that is replaced atomically at an interval.
pub struct Metrics {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    path: PathBuf,
    started_unix_seconds: f64,
    before: Status,
    counts: Arc<RunCounts>,
    quiet: bool,
    /// Whether the thread waits for the main thread to publish.
    wanted: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    latest: Status,
    stopping: bool,
    /// Whether the last write failed.
    failing: bool,
}

impl Metrics {
    /// Writes the first metrics, so that a wrong path is reported before the input is read, and
    /// starts the thread. `look` returns the status, or None while a batch is processed.
    pub fn start(
        path: &Path,
        interval: Duration,
        before: Status,
        counts: Arc<RunCounts>,
        quiet: bool,
        look: impl Fn() -> Option<Status> + Send + 'static,
    ) -> Result<Self, Failure> {
        let shared = Arc::new(Shared {
            path: path.to_owned(),
            started_unix_seconds: unix_seconds(),
            before,
            counts,
            quiet,
            wanted: AtomicBool::new(false),
            state: Mutex::new(State {
                latest: before,
                stopping: false,
                failing: false,
            }),
            changed: Condvar::new(),
        });
        let failed = |error| Failure::Metrics {
            path: path.to_owned(),
            error,
        };
        shared.replace_file(before).map_err(failed)?;
        let writer = Arc::clone(&shared);
        let interval = interval.max(SHORTEST_INTERVAL);
        let thread = std::thread::Builder::new()
            .name("dedupstore metrics".to_owned())
            .spawn(move || writer.write_until_stopped(interval, look))
            .map_err(failed)?;
        Ok(Metrics {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Passes the status to the thread if it waits for it.
    #[inline]
    pub fn publish(&self, status: impl FnOnce() -> Status) {
        if self.shared.wanted.load(Ordering::Relaxed) {
            let status = status();
            self.shared.lock().latest = status;
            self.shared.wanted.store(false, Ordering::Relaxed);
            self.shared.changed.notify_all();
        }
    }

    /// Stops the thread and writes the last metrics, with the latest known status if there is
    /// none. Does nothing the second time.
    pub fn finish(&self, status: Option<Status>) {
        let thread = lock(&self.thread).take();
        let Some(thread) = thread else { return };
        {
            let mut state = self.shared.lock();
            state.stopping = true;
            state.latest = status.unwrap_or(state.latest);
            self.shared.changed.notify_all();
        }
        let _ = thread.join();
        self.shared.write();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn write_until_stopped(&self, interval: Duration, look: impl Fn() -> Option<Status>) {
        let mut next = Instant::now() + interval;
        loop {
            let left = next.saturating_duration_since(Instant::now());
            if self.wait_while(left, |state| !state.stopping) {
                return;
            }
            match look() {
                Some(status) => self.lock().latest = status,
                None => {
                    self.wanted.store(true, Ordering::Relaxed);
                    let waits =
                        |state: &State| !state.stopping && self.wanted.load(Ordering::Relaxed);
                    if self.wait_while(PATIENCE, waits) {
                        return;
                    }
                }
            }
            self.write();
            next = Instant::now().max(next + interval);
        }
    }

    /// Waits at most this long; returns whether to stop.
    fn wait_while(&self, time: Duration, condition: impl Fn(&State) -> bool) -> bool {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), time, |state| condition(state));
        waited.unwrap_or_else(PoisonError::into_inner).0.stopping
    }

    /// Writes the file. A run does not end because its metrics cannot be written: the problem is
    /// reported once, and its end as well.
    fn write(&self) {
        let latest = self.lock().latest;
        let result = self.replace_file(latest);
        let was_failing = std::mem::replace(&mut self.lock().failing, result.is_err());
        let path = self.path.display();
        match result {
            Err(error) if !was_failing => standard_error::message(format_args!(
                "cannot write metrics to {path}: {error}; the run goes on without them"
            )),
            Ok(()) if was_failing && !self.quiet => {
                standard_error::message(format_args!("metrics are written to {path} again"));
            }
            _ => {}
        }
    }

    fn replace_file(&self, now: Status) -> io::Result<()> {
        let reading = Reading {
            before: self.before,
            now,
            without_key: self.counts.without_key.load(Ordering::Relaxed),
            too_long: self.counts.too_long.load(Ordering::Relaxed),
            without_time: self.counts.without_time.load(Ordering::Relaxed),
            consumed_bytes: self.counts.consumed_bytes.load(Ordering::Relaxed),
            started_unix_seconds: self.started_unix_seconds,
        };
        let temporary = temporary_path(&self.path);
        let written = File::create(&temporary)
            .and_then(|mut file| file.write_all(metrics_text::text(&reading).as_bytes()))
            .and_then(|()| fs::rename(&temporary, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

/// Checks that metrics can be written to a path, as far as that is known before the first ones,
/// and before the store is created.
pub fn check(path: &Path, store: Option<&Path>) -> Result<(), Failure> {
    let failed = |error| Failure::Metrics {
        path: path.to_owned(),
        error,
    };
    let other = |what| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    let is_store = store.is_some_and(
        |store| matches!((absolute(store), absolute(path)), (Ok(store), Ok(path)) if store == path),
    );
    let replaceable = match fs::symlink_metadata(path) {
        _ if is_store => other("it is the store"),
        Ok(metadata) if metadata.is_dir() => other("it is a directory"),
        // Renaming a file to /dev/null would replace the device.
        Ok(metadata) if !metadata.is_file() && !metadata.is_symlink() => {
            other("it is not a regular file, and the metrics replace it")
        }
        _ if path.file_name().is_none() => other("it is not the name of a file"),
        _ => Ok(()),
    };
    let temporary = temporary_path(path);
    replaceable
        .and_then(|()| File::create(&temporary).map(drop))
        .and_then(|()| fs::remove_file(&temporary))
        .map_err(failed)
}

/// Returns the path under which the next metrics are written.
fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
