//! Which part of a log is read, as the page chooses it.

use dedupstore::lab::Sampling;
use wasm_bindgen::prelude::*;

/// A part of a log.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub struct LogPart {
    pub(crate) sampling: Sampling,
}

#[wasm_bindgen]
impl LogPart {
    /// All of it.
    pub fn all() -> LogPart {
        LogPart {
            sampling: Sampling::All,
        }
    }

    /// Every line of one key in so many.
    #[wasm_bindgen(js_name = oneKeyIn)]
    pub fn one_key_in(keys: f64) -> LogPart {
        LogPart {
            sampling: Sampling::OneKeyIn(keys as u64),
        }
    }

    /// So many lines from the beginning.
    #[wasm_bindgen(js_name = firstLines)]
    pub fn first_lines(lines: f64) -> LogPart {
        LogPart {
            sampling: Sampling::FirstLines(lines as u64),
        }
    }
}
