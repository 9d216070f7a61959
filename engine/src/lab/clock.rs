//! The time that a filter takes, for simulations that are timed.

/// A source of time. The engine has none, so that it runs on every target.
pub trait Clock {
    /// Returns the nanoseconds since a fixed moment.
    fn now_ns(&self) -> u64;
}

/// A clock that always returns 0: runs are not timed.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoClock;

impl Clock for NoClock {
    fn now_ns(&self) -> u64 {
        0
    }
}
