//! The memory with which filters make few enough mistakes on a log.

mod sampled_log;

use serde::Serialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use crate::js_error;
use crate::key_choice::{KeyChoice, KeySpec};
use crate::log_part::LogPart;
use sampled_log::SampledLog;

/// Reads a log once and then finds memory for filters.
#[wasm_bindgen]
pub struct MemorySearcher {
    log: SampledLog,
}

/// What a filter does with the least memory that is enough.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct EnoughMemory {
    /// The memory for the whole log.
    pub memory_bits: f64,
    /// The share of lines with a wrong verdict.
    pub error: f64,
    /// The share of new keys that are dropped.
    pub fpr: f64,
    /// The share of repeats that are let through.
    pub fnr: f64,
}

#[wasm_bindgen]
impl MemorySearcher {
    /// Creates a searcher. The seed is an integer below 2^53.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: f64, key: Ts<KeySpec>, part: Ts<LogPart>) -> Result<MemorySearcher, JsError> {
        let choice = KeyChoice::new(&key.to_rust()?).map_err(js_error)?;
        let part = part.to_rust()?.into();
        let log = SampledLog::new(&choice, seed as u64, part);
        Ok(MemorySearcher { log })
    }

    /// Reads the next bytes of the log.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), JsError> {
        self.log.feed(chunk).map_err(js_error)
    }

    /// Ends the log. Text after the last newline is a line too.
    pub fn finish(&mut self) {
        self.log.finish();
    }

    /// Whether the requested part of the log has been read.
    #[wasm_bindgen(getter, js_name = isComplete)]
    pub fn is_complete(&self) -> bool {
        self.log.is_complete()
    }

    /// The number of lines with a key.
    #[wasm_bindgen(getter)]
    pub fn count(&self) -> f64 {
        self.log.count() as f64
    }

    /// Lines without a key.
    #[wasm_bindgen(getter, js_name = linesWithoutKey)]
    pub fn lines_without_key(&self) -> f64 {
        self.log.lines_without_key() as f64
    }

    /// The searches use one key in this many.
    #[wasm_bindgen(getter, js_name = oneKeyIn)]
    pub fn one_key_in(&self) -> f64 {
        self.log.one_key_in() as f64
    }

    /// Returns the least memory with which at most this share of the lines gets a wrong verdict;
    /// undefined if no memory is enough. The error is a sentence for the page's user.
    pub fn search(
        &self,
        filter: &str,
        max_error: f64,
    ) -> Result<Option<Ts<EnoughMemory>>, JsError> {
        let found = self.log.search(filter, max_error).map_err(js_error)?;
        Ok(found.map(|it| it.into_ts()).transpose()?)
    }
}
