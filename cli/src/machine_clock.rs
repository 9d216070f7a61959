//! The time of the machine, for filters that forget keys after a time.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the time in seconds since 1970; 0 if the machine's clock is before that.
pub fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
