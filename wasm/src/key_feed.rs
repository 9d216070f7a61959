//! Chunks of a log in, fingerprints out, with the truth about them and with what can only
//! be told from the lines.

use dedupstore::lab::{RateMeter, TopKeys, Truth};
use dedupstore::lines::LineClock;
use wasm_bindgen::prelude::*;

use crate::key::{KeyChoice, shown};
use crate::line_feed::{Keyed, LineFeed};
use crate::sampling::LogPart;

/// Keys counted to find the most frequent ones: a few megabytes.
const COUNTED_KEYS: usize = 1 << 14;
/// The most frequent keys shown.
const TOP_KEYS: usize = 10;

/// Finds the keys of a log for a race that runs elsewhere.
#[wasm_bindgen]
pub struct KeyFeed {
    feed: LineFeed,
    found: Found,
}

struct Found {
    fingerprints: Vec<u64>,
    truth: Truth,
    top: TopKeys,
    line_clock: Option<LineClock>,
    rate: RateMeter,
}

impl Found {
    #[inline]
    fn take(&mut self, keyed: &Keyed<'_>) {
        self.fingerprints.push(keyed.fingerprint.0);
        self.top.record(keyed.fingerprint.0, keyed.key);
        let told = self.line_clock.as_mut();
        if let Some(seconds) = told.and_then(|clock| clock.seconds(keyed.line)) {
            self.rate.record(seconds);
        }
    }
}

#[wasm_bindgen]
impl KeyFeed {
    /// The keys of a part of a log under a seed, a whole number up to 2^53.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: f64, key: &KeyChoice, part: &LogPart) -> KeyFeed {
        KeyFeed {
            feed: LineFeed::new(key, seed as u64, part.sampling),
            found: Found {
                fingerprints: Vec::new(),
                truth: Truth::for_fingerprints(),
                top: TopKeys::bounded(COUNTED_KEYS),
                line_clock: None,
                rate: RateMeter::default(),
            },
        }
    }

    /// Looks whether the lines of a log that begins with these bytes tell the time.
    #[wasm_bindgen(js_name = lookForClock)]
    pub fn look_for_clock(&mut self, head: &[u8]) {
        self.found.line_clock = LineClock::of(head);
    }

    /// The next bytes of the log.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), JsError> {
        let found = &mut self.found;
        Ok(self.feed.feed(chunk, |keyed| found.take(&keyed))?)
    }

    /// The log has ended: what follows the last newline is a line too.
    pub fn finish(&mut self) {
        let found = &mut self.found;
        self.feed.finish(|keyed| found.take(&keyed));
    }

    /// Whether no more of the log is wanted.
    #[wasm_bindgen(getter, js_name = isOver)]
    pub fn is_over(&self) -> bool {
        self.feed.is_over()
    }

    /// How many keys wait to be taken.
    #[wasm_bindgen(getter)]
    pub fn waiting(&self) -> usize {
        self.found.fingerprints.len()
    }

    /// Whether each of the keys that wait comes for the first time: 1 or 0. Once, before
    /// they are taken.
    pub fn judge(&mut self) -> Vec<u8> {
        let Found {
            fingerprints,
            truth,
            ..
        } = &mut self.found;
        let mut first = Vec::with_capacity(fingerprints.len());
        truth.are_first(fingerprints, &mut first);
        first.into_iter().map(u8::from).collect()
    }

    /// The fingerprints of the keys found since the last time.
    pub fn take(&mut self) -> Vec<u64> {
        let room = Vec::with_capacity(self.waiting());
        std::mem::replace(&mut self.found.fingerprints, room)
    }

    /// What the lines have told so far.
    pub fn profile(&self) -> KeyProfile {
        let Found { top, rate, .. } = &self.found;
        let frequent = top.top(TOP_KEYS);
        KeyProfile {
            read: self.feed.read() as f64,
            without_key: self.feed.without_key() as f64,
            top_keys: frequent.iter().map(|(key, _)| shown(key)).collect(),
            top_counts: frequent.iter().map(|(_, count)| *count as f64).collect(),
            top_too_low: top.at_most_too_low() as f64,
            rate_from_seconds: rate.from_seconds() as f64,
            rate_width_seconds: rate.width_seconds() as f64,
            rate_counts: rate.counts().iter().map(|&count| count as f64).collect(),
        }
    }
}

/// What a log is like that only its lines tell.
#[wasm_bindgen(getter_with_clone)]
pub struct KeyProfile {
    /// Lines read, with a key or without, in the part that is looked at or not.
    #[wasm_bindgen(readonly)]
    pub read: f64,
    /// Lines without a key, which were left out.
    #[wasm_bindgen(readonly, js_name = withoutKey)]
    pub without_key: f64,
    /// The most frequent keys.
    #[wasm_bindgen(readonly, js_name = topKeys)]
    pub top_keys: Vec<String>,
    /// How often each came.
    #[wasm_bindgen(readonly, js_name = topCounts)]
    pub top_counts: Vec<f64>,
    /// By how much those counts may be too low.
    #[wasm_bindgen(readonly, js_name = topTooLow)]
    pub top_too_low: f64,
    /// When the first span of time begins, in seconds since 1970.
    #[wasm_bindgen(readonly, js_name = rateFromSeconds)]
    pub rate_from_seconds: f64,
    /// How long a span is.
    #[wasm_bindgen(readonly, js_name = rateWidthSeconds)]
    pub rate_width_seconds: f64,
    /// How many lines each span has; nothing where lines do not tell the time.
    #[wasm_bindgen(readonly, js_name = rateCounts)]
    pub rate_counts: Vec<f64>,
}
