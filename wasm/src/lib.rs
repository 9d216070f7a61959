//! The engine for the page: typed calls for the page's workers.
//!
//! A worker passes a log in chunks and receives results. The engine computes every number
//! that the page shows.
//!
//! Data crosses the boundary as plain JavaScript objects. Each type is declared once, in
//! this crate: `tsify` writes its TypeScript declaration into the generated bindings. Long
//! columns of numbers cross as typed arrays.

mod advice;
mod calculator;
mod curves;
mod filter_name;
mod generate;
mod key_choice;
mod key_feed;
mod line_feed;
mod line_importance;
mod log_examination;
mod log_format;
mod log_part;
mod memory_searcher;
mod outcome;
mod profile;
mod registry;
mod setting_error;
mod simulator;
mod stores;
mod subjects;
mod suggested_memory;
mod watched_filter;
mod weighted;

pub use advice::{Advice, AdviceRequirements, Adviser, EnoughForBounds, Estimate, Preference};
pub use calculator::{CalculatedFilter, CalculatorInput, calculate_filter, calculated_filters};
pub use curves::{Curves, FilterCurves, Measures, Rates};
pub use generate::generate;
pub use key_choice::{Fields, KeyPart, KeySpec};
pub use key_feed::KeyFeed;
pub use log_examination::{LogExamination, NormalizationEffect, PreviewRow, examine_log};
pub use log_format::KeyCandidate;
pub use log_part::LogPart;
pub use memory_searcher::{EnoughMemory, MemorySearcher};
pub use outcome::{Outcome, PredictedRates};
pub use profile::{GapCount, KeyCount, LineProfile, LinesOverTime, StreamProfile};
pub use registry::{
    AllowedValues, FilterDescription, FilterDrawing, ParameterDescription, check_setting, filters,
};
pub use simulator::{RunResults, Simulator};
pub use stores::{MissingBytes, StoreBuilder, StoreFileSize, StoreInspector, StorePart};
pub use subjects::{
    GrowthPoint, GrowthResult, SliceOutcome, SlicesResult, Subject, SubjectResult, SubjectRun,
    TreeLevel, TreeOutcome, TreesResult, WindowOutcome, WindowSpan, WindowsResult,
};
pub use watched_filter::{
    CellDetails, CellLayout, KeyEvidence, Mistake, MistakeList, ObservedKey, WatchedFilter,
    WatchedState,
};
pub use weighted::{ImportanceRate, WeightedOutcome};

use dedupstore::lab::golden_states;
use wasm_bindgen::prelude::*;

#[cfg(all(target_arch = "wasm32", not(target_feature = "simd128")))]
compile_error!(
    "build with -C target-feature=+simd128: a RUSTFLAGS variable replaces .cargo/config.toml"
);

/// Returns the golden states as the lines of the golden file: `filter memory_bits digest`.
#[wasm_bindgen(js_name = goldenStates)]
pub fn golden_state_lines() -> Vec<String> {
    golden_states()
        .into_iter()
        .map(|state| state.to_string())
        .collect()
}

/// Converts a message into the error that JavaScript receives.
fn js_error(message: String) -> JsError {
    JsError::new(&message)
}
