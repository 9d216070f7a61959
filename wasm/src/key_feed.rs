//! Finds the keys of a log for a run in another worker.
//!
//! Chunks of the log go in. Fingerprints come out, with whether each is a first occurrence.
//! Properties that need the text of the lines are collected here too.

use dedupstore::lab::{RateMeter, TopKeys, Truth};
use dedupstore::lines::LineClock;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use crate::js_error;
use crate::key_choice::{KeyChoice, KeySpec};
use crate::line_feed::{KeyedLine, LineFeed};
use crate::log_part::LogPart;
use crate::profile::{KeyCount, LineProfile, LinesOverTime};

/// Keys counted to find the most frequent ones: a few megabytes.
const COUNTED_KEYS: usize = 1 << 14;
/// The number of most frequent keys shown.
const TOP_KEYS: usize = 10;

/// Finds the keys of a log for a run in another worker.
#[wasm_bindgen]
pub struct KeyFeed {
    feed: LineFeed,
    found: Found,
}

struct Found {
    fingerprints: Vec<u64>,
    /// Empty if lines have no importance.
    importance: Vec<u16>,
    has_importance: bool,
    truth: Truth,
    top: TopKeys,
    line_clock: Option<LineClock>,
    rate: RateMeter,
}

impl Found {
    #[inline]
    fn take(&mut self, keyed: &KeyedLine<'_>) {
        self.fingerprints.push(keyed.fingerprint.0);
        if self.has_importance {
            self.importance.push(keyed.importance);
        }
        self.top.record(keyed.fingerprint.0, keyed.key);
        let clock = self.line_clock.as_mut();
        if let Some(seconds) = clock.and_then(|clock| clock.seconds(keyed.line)) {
            self.rate.record(seconds);
        }
    }
}

#[wasm_bindgen]
impl KeyFeed {
    /// Creates a feed of the keys of a part of a log. The seed is an integer below 2^53.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: f64, key: Ts<KeySpec>, part: Ts<LogPart>) -> Result<KeyFeed, JsError> {
        let key = KeyChoice::new(&key.to_rust()?).map_err(js_error)?;
        let feed = LineFeed::new(&key, seed as u64, part.to_rust()?.into());
        Ok(KeyFeed {
            found: Found {
                fingerprints: Vec::new(),
                importance: Vec::new(),
                has_importance: feed.has_importance(),
                truth: Truth::for_fingerprints(),
                top: TopKeys::bounded(COUNTED_KEYS),
                line_clock: None,
                rate: RateMeter::default(),
            },
            feed,
        })
    }

    /// Detects from the first bytes of the log whether its lines carry a time.
    #[wasm_bindgen(js_name = detectClock)]
    pub fn detect_clock(&mut self, head: &[u8]) {
        self.found.line_clock = LineClock::of(head);
    }

    /// Reads the next bytes of the log.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), JsError> {
        let found = &mut self.found;
        Ok(self.feed.feed(chunk, |keyed| found.take(&keyed))?)
    }

    /// Ends the log. Text after the last newline is a line too.
    pub fn finish(&mut self) {
        let found = &mut self.found;
        self.feed.finish(|keyed| found.take(&keyed));
    }

    /// Whether the requested part of the log has been read.
    #[wasm_bindgen(getter, js_name = isComplete)]
    pub fn is_complete(&self) -> bool {
        self.feed.is_complete()
    }

    /// The number of fingerprints that `takeFingerprints` would return.
    #[wasm_bindgen(getter)]
    pub fn pending(&self) -> usize {
        self.found.fingerprints.len()
    }

    /// Returns 1 per pending key that is a first occurrence, 0 per repeat. Call it once
    /// before each `takeFingerprints`.
    #[wasm_bindgen(js_name = markFirst)]
    pub fn mark_first(&mut self) -> Vec<u8> {
        let Found {
            fingerprints,
            truth,
            ..
        } = &mut self.found;
        let mut first = Vec::with_capacity(fingerprints.len());
        truth.are_first(fingerprints, &mut first);
        first.into_iter().map(u8::from).collect()
    }

    /// Returns the pending fingerprints and forgets them.
    #[wasm_bindgen(js_name = takeFingerprints)]
    pub fn take_fingerprints(&mut self) -> Vec<u64> {
        let room = Vec::with_capacity(self.pending());
        std::mem::replace(&mut self.found.fingerprints, room)
    }

    /// Returns the importance of the pending keys and forgets it; empty if lines have none. Call
    /// it once after each `takeFingerprints`.
    #[wasm_bindgen(js_name = takeImportance)]
    pub fn take_importance(&mut self) -> Vec<u16> {
        std::mem::take(&mut self.found.importance)
    }

    /// Returns the properties of the lines read so far.
    pub fn profile(&self) -> Result<Ts<LineProfile>, JsError> {
        let Found { top, rate, .. } = &self.found;
        let top_keys = top.top(TOP_KEYS).into_iter();
        let lines_over_time = (!rate.counts().is_empty()).then(|| LinesOverTime {
            start_seconds: rate.start_seconds(),
            interval_seconds: rate.width_seconds(),
            counts: rate.counts().to_vec(),
        });
        let profile = LineProfile {
            lines_read: self.feed.lines_read(),
            lines_without_key: self.feed.lines_without_key(),
            lines_without_importance: self.feed.lines_without_importance(),
            top_keys: top_keys
                .map(|(key, count)| KeyCount {
                    key: self.feed.shown_key(key),
                    count,
                })
                .collect(),
            top_keys_error: top.max_undercount(),
            lines_over_time,
        };
        Ok(profile.into_ts()?)
    }
}
