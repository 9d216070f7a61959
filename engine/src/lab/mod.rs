//! The laboratory: streams of keys, exact truth, scoreboards, and the papers' tables.
//!
//! Everything is pure and deterministic: a stream, a count and a seed give the same
//! numbers on every machine, in the command line and in the browser.

mod crawl;
mod golden;
mod renaming;
pub mod reproduce;
mod scoreboard;
mod simulation;
mod stream;
mod truth;
mod zipf;

pub use golden::{GoldenState, golden_states};
pub use scoreboard::{CurvePoint, Scoreboard};
pub use simulation::{Clock, Contestant, NoClock, RunSummary, Simulation};
pub use stream::{STREAM_FORMS, Stream, StreamError, StreamSpec};
pub use truth::Truth;
