//! When observations become durable.

use std::time::Duration;

/// When observations become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Before every call returns.
    Every,
    /// At this interval, by a background thread.
    Interval(Duration),
    /// At checkpoints, and whenever the operating system writes its cache.
    None,
}

impl Durability {
    /// One second.
    pub(super) const DEFAULT: Durability = Durability::Interval(Duration::from_secs(1));
}

impl Default for Durability {
    fn default() -> Self {
        Durability::DEFAULT
    }
}
