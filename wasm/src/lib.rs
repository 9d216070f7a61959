//! The engine in a browser: a few typed calls, and nothing computed twice.
//!
//! The page runs this in a worker. It hands over a log in chunks and takes back results;
//! every number it shows comes from here.

mod advice;
mod curve;
mod inside;
mod key;
mod key_feed;
mod line_feed;
mod outcome;
mod profile;
mod registry;
mod sample;
mod sampling;
mod shape;
mod simulator;
mod stores;

pub use advice::{AdviceGiven, Adviser, EstimateGiven, Wish};
pub use curve::Curve;
pub use inside::{ArrivedKey, CellLook, Inside, KeyLook, MistakeRow};
pub use key::{KeyChoice, Merging, PreviewRow};
pub use key_feed::{KeyFeed, KeyProfile};
pub use outcome::Outcome;
pub use profile::Profile;
pub use registry::{FilterEntry, ParameterEntry, filters, misfit};
pub use sample::generate;
pub use sampling::LogPart;
pub use shape::{KeyOffer, LogShape, shape_of};
pub use simulator::Simulator;
pub use stores::{StoreLook, StorePart, StorePrimer};

use dedupstore::lab::golden_states;
use wasm_bindgen::prelude::*;

#[cfg(all(target_arch = "wasm32", not(target_feature = "simd128")))]
compile_error!(
    "build with -C target-feature=+simd128: a RUSTFLAGS variable replaces .cargo/config.toml"
);

/// The golden states as the lines of the golden file: `filter memory_bits digest`.
#[wasm_bindgen(js_name = goldenStates)]
pub fn golden_state_lines() -> Vec<String> {
    golden_states()
        .into_iter()
        .map(|state| state.to_string())
        .collect()
}
