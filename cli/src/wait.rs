//! `--wait`: waits until no other process uses a store.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use dedupstore::store::{RepairError, StoreError};

use crate::error::Failure;
use crate::standard_error;
use crate::value_parsers;

/// How often to try again.
const INTERVAL: Duration = Duration::from_millis(50);
/// The value of the option without a time.
const FOREVER: &str = "forever";

/// The option `--wait`.
#[derive(Clone, Copy, Debug, Args)]
pub struct Wait {
    /// If another process uses the store, wait until it ends, or for this time at most [default:
    /// fail at once]
    #[arg(long = "wait", value_name = "TIME", num_args = 0..=1, default_missing_value = FOREVER,
          require_equals = true, value_parser = time)]
    limit: Option<Duration>,
}

/// Parses how long to wait. Without a time, longer than anybody waits.
fn time(text: &str) -> Result<Duration, String> {
    match text {
        FOREVER => Ok(Duration::from_secs(u64::from(u32::MAX))),
        text => value_parsers::time(text),
    }
}

/// An error that may be that another process uses the store.
pub trait InUse: std::fmt::Display {
    fn is_in_use(&self) -> bool;

    /// Returns the failure of the command.
    fn failure(self, path: &Path) -> Failure;
}

impl InUse for StoreError {
    fn is_in_use(&self) -> bool {
        matches!(self, StoreError::InUse { .. })
    }

    fn failure(self, path: &Path) -> Failure {
        Failure::store(path)(self)
    }
}

impl InUse for RepairError {
    fn is_in_use(&self) -> bool {
        matches!(self, RepairError::Store(error) if error.is_in_use())
    }

    fn failure(self, path: &Path) -> Failure {
        Failure::Repair {
            path: path.to_owned(),
            error: self,
        }
    }
}

impl Wait {
    /// Whether the option was given.
    pub fn is_given(&self) -> bool {
        self.limit.is_some()
    }

    /// Calls `open` until the store at a path is not in use, or until the time is over.
    pub fn until_free<T, E: InUse>(
        self,
        path: &Path,
        quiet: bool,
        mut open: impl FnMut() -> Result<T, E>,
    ) -> Result<T, Failure> {
        let started = Instant::now();
        let mut reported = quiet;
        loop {
            let left = match open() {
                Err(error) if error.is_in_use() => {
                    let limit = self.limit.unwrap_or(Duration::ZERO);
                    let left = limit.saturating_sub(started.elapsed());
                    if limit.is_zero() {
                        return Err(error.failure(path));
                    }
                    if left.is_zero() {
                        return Err(Failure::StillInUse {
                            path: path.to_owned(),
                            in_use: error.to_string(),
                            waited: limit,
                        });
                    }
                    if !std::mem::replace(&mut reported, true) {
                        standard_error::message(format_args!("{error}; waiting until it ends"));
                    }
                    left
                }
                opened => return opened.map_err(|error| error.failure(path)),
            };
            std::thread::sleep(left.min(INTERVAL));
        }
    }
}
