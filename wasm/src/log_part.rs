//! The part of a log that is read.

use dedupstore::lab::Sampling;
use serde::Deserialize;
use tsify::Tsify;

/// The part of a log that is read.
#[derive(Clone, Copy, Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub enum LogPart {
    /// All lines.
    All,
    /// All lines of one key in this many, in as much less memory. The hash selects the keys.
    OneKeyIn(u32),
    /// The first lines, as many as this.
    FirstLines(f64),
}

impl From<LogPart> for Sampling {
    fn from(part: LogPart) -> Self {
        match part {
            LogPart::All => Sampling::All,
            LogPart::OneKeyIn(keys) => Sampling::OneKeyIn(keys.into()),
            LogPart::FirstLines(lines) => Sampling::FirstLines(lines as u64),
        }
    }
}
