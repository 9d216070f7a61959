//! Every filter at its best parameters beside what the adviser picks, stream by stream and
//! memory by memory.

mod cell;
mod document;

pub use cell::{Cell, Contest, Run, Tally};
pub use document::document;

/// Uniform repeats of many, some and few keys; few popular keys; keys that come and go.
pub const STREAMS: [&str; 5] = [
    "shuffle:15",
    "shuffle:60",
    "shuffle:90",
    "zipf:1.1:1000000",
    "drift:15:5000",
];
/// Bits for each distinct key.
pub const BITS_A_KEY: [f64; 6] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
