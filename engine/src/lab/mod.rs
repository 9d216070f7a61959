//! The laboratory: streams of keys, exact truth, scoreboards, and the papers' tables.
//!
//! Everything is pure and deterministic: a stream, a count and a seed give the same
//! numbers on every machine, in the command line and in the browser.

mod crawl;
mod gap_meter;
mod golden;
mod inside;
mod log_form;
mod open_table;
mod rate_meter;
mod renaming;
pub mod reproduce;
mod sampling;
mod scoreboard;
mod simulation;
mod stream;
mod summary;
mod top_keys;
mod truth;
mod weights;
mod zipf;

pub use gap_meter::GapMeter;
pub use golden::{GoldenState, golden_states};
pub use inside::{
    Arrived, Inside, InsideError, MOST_CELLS, Mistake, Mistakes, Reason, WatchedCell,
};
pub use log_form::{LogForm, UnknownLogForm};
pub use rate_meter::RateMeter;
pub use sampling::Sampling;
pub use scoreboard::{CurvePoint, Scoreboard};
pub use simulation::{Clock, Contestant, NoClock, Simulation};
pub use stream::{Arrival, ImportanceLaw, STREAM_FORMS, Stream, StreamError, StreamSpec};
pub use summary::RunSummary;
pub use top_keys::TopKeys;
pub use truth::{AlreadyHashed, Truth};
pub use weights::Weights;
