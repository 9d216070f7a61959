//! Compares every filter at its best parameters with the adviser's picks, for each stream and
//! each memory size.

mod best_without_sample;
mod cell;
pub mod cell_text;
mod document;
mod features;
mod grid;
mod measure;
mod parallel;
mod recorded_stream;

pub use best_without_sample::best_without_sample;
pub use cell::{Cell, Run, Tally};
pub use document::document;
pub use features::features;
pub use grid::{grid, importance_grid, window_grid};
pub use measure::{EFFORT, Effort, HELD_OUT_EFFORT};
pub(crate) use parallel::parallel_map;
pub use recorded_stream::Errors;

/// Uniform repeats of many, some and few keys; a few popular keys; keys that stop returning.
pub const STREAMS: [&str; 5] = [
    "shuffle:15",
    "shuffle:60",
    "shuffle:90",
    "zipf:1.1:1000000",
    "drift:15:5000",
];
/// Streams that the adviser was not tuned on.
pub const HELD_OUT: [&str; 3] = ["shuffle:30", "zipf:0.9:1000000", "drift:40:20000"];
/// Memory sizes, in bits per distinct key.
pub const BITS_PER_KEY: [f64; 6] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
