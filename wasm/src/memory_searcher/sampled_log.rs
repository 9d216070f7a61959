//! The keys of a log, or of a sample of its keys, and searches on them.

use dedupstore::FilterSpec;
use dedupstore::advise::{MemorySearch, Sample};
use dedupstore::lab::Sampling;

use super::EnoughMemory;
use crate::key_choice::KeyChoice;
use crate::line_feed::LineFeed;
use crate::setting_error::create_error;

/// The most lines that are kept for the searches; of a longer log, the lines of some keys.
const SAMPLED_LINES: usize = 1 << 19;

/// What the searches know of a log.
pub struct SampledLog {
    feed: LineFeed,
    sample: Sample,
    seed: u64,
    part: Sampling,
}

impl SampledLog {
    pub fn new(key: &KeyChoice, seed: u64, part: Sampling) -> Self {
        SampledLog {
            feed: LineFeed::new(&key.without_importance(), seed, part),
            sample: Sample::bounded(SAMPLED_LINES),
            seed,
            part,
        }
    }

    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), String> {
        let sample = &mut self.sample;
        let fed = self
            .feed
            .feed(chunk, |keyed| sample.record(keyed.fingerprint));
        fed.map_err(|error| error.to_string())
    }

    pub fn finish(&mut self) {
        let sample = &mut self.sample;
        self.feed.finish(|keyed| sample.record(keyed.fingerprint));
    }

    pub fn is_complete(&self) -> bool {
        self.feed.is_complete()
    }

    pub fn count(&self) -> u64 {
        self.sample.stream_count()
    }

    pub fn lines_without_key(&self) -> u64 {
        self.feed.lines_without_key()
    }

    pub fn one_key_in(&self) -> u64 {
        self.sample.one_in() * self.part.one_key_in()
    }

    /// The error is a sentence for the page's user.
    pub fn search(&self, filter: &str, max_error: f64) -> Result<Option<EnoughMemory>, String> {
        let spec: FilterSpec = filter.parse().map_err(|error| format!("{error}"))?;
        let found = MemorySearch::new(&self.sample, self.seed)
            .least(&spec, max_error)
            .map_err(|error| create_error(&error))?;
        Ok(found.map(|found| EnoughMemory {
            memory_bits: (found.memory_bits * self.part.one_key_in()) as f64,
            error: found.error,
            fpr: found.fpr,
            fnr: found.fnr,
        }))
    }
}
