//! A run of filters over the keys of a log, which come in batches.

use dedupstore::lab::{Clock, Sampling, Simulation, Truth};
use dedupstore::theory::Prediction;
use dedupstore::{FilterSpec, Fingerprint};
use wasm_bindgen::prelude::*;

use crate::curve::Curve;
use crate::outcome::Outcome;
use crate::profile::Profile;
use crate::sampling::LogPart;

/// Filters side by side over the keys of one log, against the truth that comes with them.
#[wasm_bindgen]
pub struct Simulator {
    simulation: Simulation,
    clock: PerformanceClock,
    sampling: Sampling,
    predictions: Vec<Option<Prediction>>,
}

#[wasm_bindgen]
impl Simulator {
    /// A run under a seed, a whole number up to 2^53, over a part of a log; enter filters
    /// before the first keys.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: f64, part: &LogPart) -> Simulator {
        Simulator {
            simulation: Simulation::new(seed as u64, Truth::for_fingerprints()),
            clock: PerformanceClock::find(),
            sampling: part.sampling,
            predictions: Vec::new(),
        }
    }

    /// Enters a filter by its text form, in the memory that it would have over the whole
    /// log. Fails with a sentence for people.
    pub fn enter(&mut self, filter: &str, memory_bits: f64) -> Result<(), JsError> {
        let spec: FilterSpec = filter.parse()?;
        let memory_bits = self.sampling.memory_bits(memory_bits as u64);
        Ok(self.simulation.enter(&spec, memory_bits)?)
    }

    /// The next keys of the log, by the fingerprints that they have under the run's seed, and
    /// whether each comes for the first time: 1 or 0.
    pub fn take(&mut self, fingerprints: &[u64], first: &[u8]) {
        for (&fingerprint, &first) in fingerprints.iter().zip(first) {
            self.simulation
                .push_judged(Fingerprint(fingerprint), first != 0, &self.clock);
        }
        self.simulation.flush(&self.clock);
    }

    /// Asks theory about the log as far as it has come. Outcomes and curves show its last
    /// answer.
    pub fn predict(&mut self) {
        self.predictions = self.simulation.predictions();
    }

    /// Lines run over so far.
    #[wasm_bindgen(getter)]
    pub fn count(&self) -> f64 {
        self.simulation.count() as f64
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
        let gaps = self.simulation.gaps();
        let octaves = gaps.histogram().octaves();
        Profile {
            count: self.simulation.count() as f64,
            distinct: self.simulation.distinct() as f64,
            gap_from: octaves.iter().map(|octave| octave.from as f64).collect(),
            gap_count: octaves.iter().map(|octave| octave.count as f64).collect(),
            gaps_sampled_one_in: gaps.sampled_one_in() as f64,
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
