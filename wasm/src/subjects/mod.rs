//! What else a log can show: windows, many machines, and growth. Each subject reads the log by
//! itself, and has the numbers of `dedupstore simulate`.

#[cfg(not(feature = "all-filters"))]
mod absent;
#[cfg(feature = "all-filters")]
mod forgetting;
#[cfg(feature = "all-filters")]
mod growth;
mod results;
#[cfg(feature = "all-filters")]
mod runner;
#[cfg(feature = "all-filters")]
mod slices;
#[cfg(feature = "all-filters")]
mod trees;
#[cfg(feature = "all-filters")]
mod windows;

use serde::Deserialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use crate::js_error;
use crate::key_choice::{Fields, KeyChoice, KeySpec};
use crate::log_part::LogPart;
#[cfg(not(feature = "all-filters"))]
use absent::Runner;
pub use results::{
    GrowthPoint, GrowthResult, SliceOutcome, SlicesResult, SubjectResult, TreeLevel, TreeOutcome,
    TreesResult, WindowOutcome, WindowSpan, WindowsResult,
};
#[cfg(feature = "all-filters")]
use runner::Runner;

/// What to show of a log.
#[derive(Deserialize, Tsify)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[tsify(missing_as_null)]
pub enum Subject {
    /// Filters with a window, and what windows of several spans forget.
    Windows {
        /// The span of the filters' windows.
        span_seconds: f64,
        /// The present time, in seconds since 1970.
        now_seconds: f64,
    },
    /// A Bloom filter that is divided among machines.
    Slices {
        /// How it is divided: `horizontal:8`, `vertical:8`.
        slices: Vec<String>,
        /// The number of bits per key.
        k: u32,
        /// The number of machines that have failed.
        failed: f64,
        /// What is decided if machines have failed: `seen`, `new`, `unknown`.
        rule: String,
    },
    /// Trees of Bloom filters near the producers of keys.
    Trees {
        /// Their text forms: `dense:levels=3,fanout=4`.
        trees: Vec<String>,
        /// The field that names the producer of a line; null for random producers.
        producer: Option<Fields>,
    },
    /// A filter that grows, beside Bloom filters that do not.
    Growth {
        /// The wanted false positive rate.
        fpr: f64,
        /// The memory that is reserved, as a multiple of that of the small filter.
        reserve: f64,
    },
}

/// Reads a log for a subject.
#[wasm_bindgen]
pub struct SubjectRun {
    runner: Runner,
}

#[wasm_bindgen]
impl SubjectRun {
    /// Creates a run. The seed is an integer below 2^53; the memory is that over the whole log. The
    /// error is a sentence for the page's user.
    #[wasm_bindgen(constructor)]
    pub fn new(
        seed: f64,
        key: Ts<KeySpec>,
        part: Ts<LogPart>,
        memory_bits: f64,
        subject: Ts<Subject>,
    ) -> Result<SubjectRun, JsError> {
        let key = KeyChoice::new(&key.to_rust()?).map_err(js_error)?;
        let (seed, memory_bits) = (seed as u64, memory_bits as u64);
        let runner = Runner::new(&key, seed, part.to_rust()?.into(), memory_bits, &subject)?;
        Ok(SubjectRun { runner })
    }

    /// Reads the next bytes of the log.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), JsError> {
        self.runner.feed(chunk).map_err(js_error)
    }

    /// Ends the log. Text after the last newline is a line too.
    pub fn finish(&mut self) {
        self.runner.finish();
    }

    /// Whether the requested part of the log has been read.
    #[wasm_bindgen(getter, js_name = isComplete)]
    pub fn is_complete(&self) -> bool {
        self.runner.is_complete()
    }

    /// The number of lines with a key.
    #[wasm_bindgen(getter)]
    pub fn count(&self) -> f64 {
        self.runner.count() as f64
    }

    /// Lines without a key.
    #[wasm_bindgen(getter, js_name = linesWithoutKey)]
    pub fn lines_without_key(&self) -> f64 {
        self.runner.lines_without_key() as f64
    }

    /// Returns the results. The error is a sentence for the page's user.
    pub fn results(&self) -> Result<Ts<SubjectResult>, JsError> {
        Ok(self.runner.results().map_err(js_error)?.into_ts()?)
    }
}
