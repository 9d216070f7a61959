//! A run of filters over a log that comes in chunks.

use dedupstore::FilterSpec;
use dedupstore::lab::{Clock, RateMeter, Simulation, TopKeys, Truth};
use dedupstore::lines::LineClock;
use dedupstore::theory::Prediction;
use wasm_bindgen::prelude::*;

use crate::curve::Curve;
use crate::key::{KeyChoice, shown};
use crate::line_feed::{Keyed, LineFeed};
use crate::outcome::Outcome;
use crate::profile::Profile;
use crate::sampling::LogPart;

/// Keys counted to find the most frequent ones: a few megabytes.
const COUNTED_KEYS: usize = 1 << 14;
/// The most frequent keys shown.
const TOP_KEYS: usize = 10;

/// Filters side by side over the lines of one log, against exact truth.
#[wasm_bindgen]
pub struct Simulator {
    race: Race,
    feed: LineFeed,
    predictions: Vec<Option<Prediction>>,
}

/// What runs over each line.
struct Race {
    simulation: Simulation,
    top: TopKeys,
    clock: PerformanceClock,
    line_clock: Option<LineClock>,
    rate: RateMeter,
}

impl Race {
    #[inline]
    fn take(&mut self, keyed: &Keyed<'_>) {
        self.simulation
            .push_fingerprint(keyed.fingerprint, &self.clock);
        self.top.record(keyed.fingerprint.0, keyed.key);
        let told = self.line_clock.as_mut();
        if let Some(seconds) = told.and_then(|clock| clock.seconds(keyed.line)) {
            self.rate.record(seconds);
        }
    }
}

#[wasm_bindgen]
impl Simulator {
    /// A run under a seed, a whole number up to 2^53, over a part of a log; enter filters
    /// before the first chunk.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: f64, key: &KeyChoice, part: &LogPart) -> Simulator {
        Simulator {
            race: Race {
                simulation: Simulation::new(seed as u64, Truth::for_fingerprints()),
                top: TopKeys::bounded(COUNTED_KEYS),
                clock: PerformanceClock::find(),
                line_clock: None,
                rate: RateMeter::default(),
            },
            feed: LineFeed::new(key, seed as u64, part.sampling),
            predictions: Vec::new(),
        }
    }

    /// Enters a filter by its text form, in the memory that it would have over the whole
    /// log. Fails with a sentence for people.
    pub fn enter(&mut self, filter: &str, memory_bits: f64) -> Result<(), JsError> {
        let spec: FilterSpec = filter.parse()?;
        let memory_bits = self.feed.sampling().memory_bits(memory_bits as u64);
        Ok(self.race.simulation.enter(&spec, memory_bits)?)
    }

    /// Looks whether the lines of a log that begins with these bytes tell the time.
    #[wasm_bindgen(js_name = lookForClock)]
    pub fn look_for_clock(&mut self, head: &[u8]) {
        self.race.line_clock = LineClock::of(head);
    }

    /// The next bytes of the log.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), JsError> {
        let race = &mut self.race;
        self.feed.feed(chunk, |keyed| race.take(&keyed))?;
        race.simulation.flush(&race.clock);
        Ok(())
    }

    /// The log has ended: what follows the last newline is a line too.
    pub fn finish(&mut self) {
        let race = &mut self.race;
        self.feed.finish(|keyed| race.take(&keyed));
        race.simulation.flush(&race.clock);
    }

    /// Whether no more of the log is wanted.
    #[wasm_bindgen(getter, js_name = isOver)]
    pub fn is_over(&self) -> bool {
        self.feed.is_over()
    }

    /// Asks theory about the log as far as it has come. Outcomes and curves show its last
    /// answer.
    pub fn predict(&mut self) {
        self.predictions = self.race.simulation.predictions();
    }

    /// Bytes fed so far.
    #[wasm_bindgen(getter)]
    pub fn bytes(&self) -> f64 {
        self.feed.bytes() as f64
    }

    /// Lines run over so far.
    #[wasm_bindgen(getter)]
    pub fn count(&self) -> f64 {
        self.race.simulation.count() as f64
    }

    /// Lines left out so far, for want of a key.
    #[wasm_bindgen(getter, js_name = withoutKey)]
    pub fn without_key(&self) -> f64 {
        self.feed.without_key() as f64
    }

    /// The results so far, one a filter in the order they were entered.
    pub fn outcomes(&self) -> Vec<Outcome> {
        let summaries = self.race.simulation.measurements("log").into_iter();
        summaries
            .enumerate()
            .map(|(index, summary)| Outcome::new(summary, self.prediction(index)))
            .collect()
    }

    /// How the `index`-th filter has done over the log so far, in at most so many
    /// stretches.
    pub fn curve(&self, index: usize, stretches: usize) -> Option<Curve> {
        let contestant = self.race.simulation.contestants().get(index)?;
        Some(Curve::new(
            contestant.board().curve_of(stretches),
            contestant.set().filter().cells(),
            contestant.memory_bits(),
            self.prediction(index).cloned(),
        ))
    }

    /// What the log is like so far.
    pub fn profile(&self) -> Profile {
        let octaves = self.race.simulation.gaps().histogram().octaves();
        let top = self.race.top.top(TOP_KEYS);
        let summary = self.race.simulation.contestants().first();
        Profile {
            count: self.race.simulation.count() as f64,
            read: self.feed.read() as f64,
            distinct: summary.map_or(0, |it| it.board().now().distinct) as f64,
            without_key: self.feed.without_key() as f64,
            gap_from: octaves.iter().map(|octave| octave.from as f64).collect(),
            gap_count: octaves.iter().map(|octave| octave.count as f64).collect(),
            gaps_sampled_one_in: self.race.simulation.gaps().sampled_one_in() as f64,
            top_keys: top.iter().map(|(key, _)| shown(key)).collect(),
            top_counts: top.iter().map(|(_, count)| *count as f64).collect(),
            top_too_low: self.race.top.at_most_too_low() as f64,
            rate_from_seconds: self.race.rate.from_seconds() as f64,
            rate_width_seconds: self.race.rate.width_seconds() as f64,
            rate_counts: counts(self.race.rate.counts()),
        }
    }

    fn prediction(&self, index: usize) -> Option<&Prediction> {
        self.predictions.get(index)?.as_ref()
    }
}

fn counts(counts: &[u64]) -> Vec<f64> {
    counts.iter().map(|&count| count as f64).collect()
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
