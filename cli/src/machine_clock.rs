//! The time of the machine, for filters that forget keys after a time.

use std::time::{SystemTime, UNIX_EPOCH};

use dedupstore::lines::KeyRule;

/// Where the time of observations comes from, for filters with a window in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSource {
    Machine,
    /// Lines have their own time.
    Lines,
}

impl TimeSource {
    pub fn of(rule: &KeyRule) -> Self {
        match rule.time {
            Some(_) => TimeSource::Lines,
            None => TimeSource::Machine,
        }
    }
}

/// Returns the time in seconds since 1970; 0 if the machine's clock is before that.
pub fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
