//! A run of filters over a log that comes in chunks.

use dedupstore::lab::{Clock, Simulation, TopKeys, Truth};
use dedupstore::lines::{KeyReader, LineBuffer};
use dedupstore::theory::Prediction;
use dedupstore::{FilterSpec, KeyHasher};
use wasm_bindgen::prelude::*;

use crate::curve::Curve;
use crate::key::{KeyChoice, shown};
use crate::outcome::Outcome;
use crate::profile::Profile;

/// Keys counted to find the most frequent ones: a few megabytes.
const COUNTED_KEYS: usize = 1 << 14;
/// The most frequent keys shown.
const TOP_KEYS: usize = 10;

/// Filters side by side over the lines of one log, against exact truth.
#[wasm_bindgen]
pub struct Simulator {
    simulation: Simulation,
    lines: LineBuffer,
    keys: KeyReader,
    hasher: KeyHasher,
    top: TopKeys,
    clock: PerformanceClock,
    predictions: Vec<Option<Prediction>>,
    bytes: u64,
    without_key: u64,
}

#[wasm_bindgen]
impl Simulator {
    /// A run under a seed, a whole number up to 2^53; enter filters before the first
    /// chunk.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: f64, key: &KeyChoice) -> Simulator {
        Simulator {
            simulation: Simulation::new(seed as u64, Truth::for_fingerprints()),
            lines: LineBuffer::new(b'\n'),
            keys: key.reader(),
            hasher: KeyHasher::new(seed as u64),
            top: TopKeys::bounded(COUNTED_KEYS),
            clock: PerformanceClock::find(),
            predictions: Vec::new(),
            bytes: 0,
            without_key: 0,
        }
    }

    /// Enters a filter by its text form. Fails with a sentence for people.
    pub fn enter(&mut self, filter: &str, memory_bits: f64) -> Result<(), JsError> {
        let spec: FilterSpec = filter.parse()?;
        Ok(self.simulation.enter(&spec, memory_bits as u64)?)
    }

    /// The next bytes of the log.
    pub fn feed(&mut self, mut chunk: &[u8]) -> Result<(), JsError> {
        self.bytes += chunk.len() as u64;
        while !chunk.is_empty() {
            let space = self.lines.space()?;
            let count = space.len().min(chunk.len());
            space[..count].copy_from_slice(&chunk[..count]);
            self.lines.filled(count);
            chunk = &chunk[count..];
            for line in self.lines.complete_lines() {
                match self.keys.key(line.content) {
                    Some(key) => {
                        self.simulation.push_key(key, &self.clock);
                        self.top.record(self.hasher.fingerprint(key).0, key);
                    }
                    None => self.without_key += 1,
                }
            }
        }
        self.simulation.flush(&self.clock);
        Ok(())
    }

    /// The log has ended: what follows the last newline is a line too.
    pub fn finish(&mut self) {
        if let Some(line) = self.lines.last_line() {
            match self.keys.key(line.content) {
                Some(key) => {
                    self.simulation.push_key(key, &self.clock);
                    self.top.record(self.hasher.fingerprint(key).0, key);
                }
                None => self.without_key += 1,
            }
        }
        self.simulation.flush(&self.clock);
    }

    /// Asks theory about the log as far as it has come. Outcomes and curves show its last
    /// answer.
    pub fn predict(&mut self) {
        self.predictions = self.simulation.predictions();
    }

    /// Bytes fed so far.
    #[wasm_bindgen(getter)]
    pub fn bytes(&self) -> f64 {
        self.bytes as f64
    }

    /// Lines run over so far.
    #[wasm_bindgen(getter)]
    pub fn count(&self) -> f64 {
        self.simulation.count() as f64
    }

    /// Lines left out so far, for want of a key.
    #[wasm_bindgen(getter, js_name = withoutKey)]
    pub fn without_key(&self) -> f64 {
        self.without_key as f64
    }

    /// The results so far, one a filter in the order they were entered.
    pub fn outcomes(&self) -> Vec<Outcome> {
        let summaries = self.simulation.measurements("log").into_iter();
        summaries
            .enumerate()
            .map(|(index, summary)| Outcome::new(summary, self.prediction(index)))
            .collect()
    }

    /// How the `index`-th filter has done over the log so far, in at most so many
    /// stretches.
    pub fn curve(&self, index: usize, stretches: usize) -> Option<Curve> {
        let contestant = self.simulation.contestants().get(index)?;
        Some(Curve::new(
            contestant.board().curve_of(stretches),
            contestant.set().filter().cells(),
            contestant.memory_bits(),
            self.prediction(index).cloned(),
        ))
    }

    /// What the log is like so far.
    pub fn profile(&self) -> Profile {
        let octaves = self.simulation.gaps().histogram().octaves();
        let top = self.top.top(TOP_KEYS);
        let summary = self.simulation.contestants().first();
        Profile {
            count: self.simulation.count() as f64,
            distinct: summary.map_or(0, |it| it.board().now().distinct) as f64,
            without_key: self.without_key as f64,
            gap_from: octaves.iter().map(|octave| octave.from as f64).collect(),
            gap_count: octaves.iter().map(|octave| octave.count as f64).collect(),
            gaps_sampled_one_in: self.simulation.gaps().sampled_one_in() as f64,
            top_keys: top.iter().map(|(key, _)| shown(key)).collect(),
            top_counts: top.iter().map(|(_, count)| *count as f64).collect(),
            top_too_low: self.top.at_most_too_low() as f64,
        }
    }

    fn prediction(&self, index: usize) -> Option<&Prediction> {
        self.predictions.get(index)?.as_ref()
    }
}

/// The worker's clock, if there is one.
struct PerformanceClock(Option<web_sys::Performance>);

impl PerformanceClock {
    fn find() -> Self {
        let scope = js_sys::global().dyn_into::<web_sys::WorkerGlobalScope>();
        PerformanceClock(scope.ok().and_then(|scope| scope.performance()))
    }
}

impl Clock for PerformanceClock {
    fn now_ns(&self) -> u64 {
        match &self.0 {
            Some(performance) => (performance.now() * 1e6) as u64,
            None => 0,
        }
    }
}
