//! `--wait`: waits until no other process uses a store.

use std::time::{Duration, Instant};

use clap::Args;
use dedupstore::store::{RepairError, StoreError};

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
}

impl InUse for StoreError {
    fn is_in_use(&self) -> bool {
        matches!(self, StoreError::InUse { .. })
    }
}

impl InUse for RepairError {
    fn is_in_use(&self) -> bool {
        matches!(self, RepairError::Store(error) if error.is_in_use())
    }
}

impl Wait {
    /// Calls `open` until the store is not in use, or until the time is over.
    pub fn until_free<T, E: InUse>(
        self,
        quiet: bool,
        mut open: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        let started = Instant::now();
        let mut reported = quiet;
        loop {
            let left = match open() {
                Err(error) if error.is_in_use() => {
                    let limit = self.limit.unwrap_or(Duration::ZERO);
                    let left = limit.saturating_sub(started.elapsed());
                    if left.is_zero() {
                        return Err(error);
                    }
                    if !std::mem::replace(&mut reported, true) {
                        standard_error::message(format_args!("{error}; waiting until it ends"));
                    }
                    left
                }
                opened => return opened,
            };
            std::thread::sleep(left.min(INTERVAL));
        }
    }
}
