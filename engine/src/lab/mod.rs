//! The laboratory: synthetic streams, filters compared with exact truth, and the tables of the
//! papers.
//!
//! Everything is deterministic: a stream, a count and a seed give the same numbers on every
//! machine, in the command line and in the browser.

mod clock;
mod crawl;
mod filter_run;
mod gap_meter;
mod golden;
mod inside;
mod log_format;
mod log_times;
mod measure;
mod open_table;
mod permutation;
mod rate_meter;
mod references;
pub mod reproduce;
mod sampling;
mod scoreboard;
mod simulation;
mod sliced_run;
mod stream;
mod stream_batch;
mod summary;
mod top_keys;
mod tree_simulation;
mod truth;
mod weights;
mod window_truth;
mod zipf;

pub use clock::{Clock, NoClock};
pub use filter_run::FilterRun;
pub use gap_meter::GapMeter;
#[doc(hidden)]
pub use golden::{GoldenState, golden_importance, golden_spec, golden_states};
pub use inside::{
    Inside, InsideError, MAX_CELLS, Mistake, Mistakes, ObservedKey, Reason, WatchedCell,
};
pub use log_format::{LogFormat, UnknownLogFormat};
pub use log_times::{LineTime, LogTimes};
pub use measure::measure;
pub use rate_meter::RateMeter;
pub use sampling::Sampling;
pub use scoreboard::{CurvePoint, Scoreboard};
pub use simulation::Simulation;
pub use sliced_run::{SliceSettings, SlicedRun, SlicedSummary};
pub use stream::{Arrival, ImportanceLaw, STREAM_FORMS, Stream, StreamError, StreamSpec};
pub use stream_batch::{BatchedStream, StreamBatch};
pub use summary::RunSummary;
pub use top_keys::TopKeys;
pub use tree_simulation::{LevelSummary, TreeSimulation, TreeSummary};
pub use truth::Truth;
pub use weights::{ImportanceRates, Weights};
pub(crate) use window_truth::WindowTruth;
