//! Every filter at its best parameters beside what the adviser picks, stream by stream and
//! memory by memory.

mod blind;
mod cell;
mod contest;
mod document;
mod grid;
pub mod kept;
mod spread;
mod track;

pub use blind::most_without_a_look;
pub use cell::{Cell, Run, Tally};
pub use contest::Effort;
pub use document::document;
pub use grid::grid;
pub use track::Errors;

/// Uniform repeats of many, some and few keys; few popular keys; keys that come and go.
pub const STREAMS: [&str; 5] = [
    "shuffle:15",
    "shuffle:60",
    "shuffle:90",
    "zipf:1.1:1000000",
    "drift:15:5000",
];
/// Streams that nothing in the adviser was chosen by.
pub const HELD_OUT: [&str; 3] = ["shuffle:30", "zipf:0.9:1000000", "drift:40:20000"];
/// Bits for each distinct key.
pub const BITS_A_KEY: [f64; 6] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
