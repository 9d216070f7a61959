//! The memory with which filters make few enough mistakes on a log.

use dedupstore::advise::{MemorySearch, RequiredMemory, Sample};
use dedupstore::{FilterSpec, lab::Sampling};
use serde::Serialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use crate::js_error;
use crate::key_choice::{KeyChoice, KeySpec};
use crate::line_feed::LineFeed;
use crate::log_part::LogPart;
use crate::setting_error::create_error;

/// The most lines that are kept for the searches; of a longer log, the lines of some keys.
const SAMPLED_LINES: usize = 1 << 19;

/// Reads a log once and then finds memory for filters.
#[wasm_bindgen]
pub struct MemorySearcher {
    feed: LineFeed,
    sample: Sample,
    seed: u64,
    part: Sampling,
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
        let (seed, part) = (seed as u64, Sampling::from(part.to_rust()?));
        Ok(MemorySearcher {
            feed: LineFeed::new(&choice.without_importance(), seed, part),
            sample: Sample::bounded(SAMPLED_LINES),
            seed,
            part,
        })
    }

    /// Reads the next bytes of the log.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), JsError> {
        let sample = &mut self.sample;
        Ok(self
            .feed
            .feed(chunk, |keyed| sample.record(keyed.fingerprint))?)
    }

    /// Reads the last line, if the log does not end with a newline.
    pub fn finish(&mut self) {
        let sample = &mut self.sample;
        self.feed.finish(|keyed| sample.record(keyed.fingerprint));
    }

    /// Whether no more lines are needed.
    #[wasm_bindgen(getter, js_name = isComplete)]
    pub fn is_complete(&self) -> bool {
        self.feed.is_complete()
    }

    /// The number of lines with a key.
    #[wasm_bindgen(getter)]
    pub fn count(&self) -> f64 {
        self.sample.stream_count() as f64
    }

    /// Lines without a key.
    #[wasm_bindgen(getter, js_name = linesWithoutKey)]
    pub fn lines_without_key(&self) -> f64 {
        self.feed.lines_without_key() as f64
    }

    /// The searches use one key in this many.
    #[wasm_bindgen(getter, js_name = oneKeyIn)]
    pub fn one_key_in(&self) -> f64 {
        (self.sample.one_in() * self.part.one_key_in()) as f64
    }

    /// Returns the least memory with which at most this share of the lines gets a wrong verdict;
    /// undefined if no memory is enough. The error is a sentence for the page's user.
    pub fn search(
        &self,
        filter: &str,
        max_error: f64,
    ) -> Result<Option<Ts<EnoughMemory>>, JsError> {
        let spec: FilterSpec = filter.parse()?;
        let found = MemorySearch::new(&self.sample, self.seed)
            .least(&spec, max_error)
            .map_err(|error| js_error(create_error(&error)))?;
        let found = found.map(|it| EnoughMemory::new(it, self.part.one_key_in()));
        Ok(found.map(|it| it.into_ts()).transpose()?)
    }
}

impl EnoughMemory {
    fn new(found: RequiredMemory, one_key_in: u64) -> Self {
        EnoughMemory {
            memory_bits: (found.memory_bits * one_key_in) as f64,
            error: found.error,
            fpr: found.fpr,
            fnr: found.fnr,
        }
    }
}
