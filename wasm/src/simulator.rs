//! A run of several filters over the keys of one log.

use dedupstore::lab::{Clock, Sampling, Simulation, Truth};
use dedupstore::theory::Prediction;
use dedupstore::{FilterSpec, Fingerprint};
use serde::Serialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use crate::curves::Curves;
use crate::js_error;
use crate::log_part::LogPart;
use crate::outcome::{Outcome, ranking};
use crate::profile::{GapCount, StreamProfile};
use crate::setting_error::create_error;
use crate::weighted::WeightedOutcome;

/// Runs several filters over the keys of one log and compares them with the truth.
#[wasm_bindgen]
pub struct Simulator {
    simulation: Simulation,
    clock: PerformanceClock,
    sampling: Sampling,
    /// The memory asked for, per filter.
    memory_bits: Vec<u64>,
    predictions: Vec<Option<Prediction>>,
}

/// The results of a run so far.
#[derive(Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct RunResults {
    /// One per filter, in the order in which they were added.
    pub outcomes: Vec<Outcome>,
    /// The indices of `outcomes`, from the fewest errors to the most.
    pub ranking: Vec<usize>,
    /// The rates against the position in the log.
    pub curves: Curves,
    /// Properties of the log.
    pub profile: StreamProfile,
}

#[wasm_bindgen]
impl Simulator {
    /// Creates a run. The seed is an integer below 2^53. Add filters before the first keys.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: f64, part: Ts<LogPart>) -> Result<Simulator, JsError> {
        Ok(Simulator {
            simulation: Simulation::new(seed as u64, Truth::for_fingerprints()),
            clock: PerformanceClock::find(),
            sampling: part.to_rust()?.into(),
            memory_bits: Vec::new(),
            predictions: Vec::new(),
        })
    }

    /// Adds a filter in its text form, with the memory that it would have over the whole
    /// log. The error is a sentence for the page's user.
    #[wasm_bindgen(js_name = addFilter)]
    pub fn add_filter(&mut self, filter: &str, memory_bits: f64) -> Result<(), JsError> {
        let spec: FilterSpec = filter.parse()?;
        let memory_bits = memory_bits as u64;
        self.simulation
            .add_filter(&spec, self.sampling.memory_bits(memory_bits))
            .map_err(|error| js_error(create_error(&error)))?;
        self.memory_bits.push(memory_bits);
        Ok(())
    }

    /// Observes the next keys of the log: their fingerprints under the run's seed, and 1 per
    /// first occurrence, 0 per repeat.
    pub fn observe(&mut self, fingerprints: &[u64], first: &[u8]) {
        for (&fingerprint, &first) in fingerprints.iter().zip(first) {
            self.simulation
                .push_with_truth(Fingerprint(fingerprint), first != 0, &self.clock);
        }
        self.simulation.flush(&self.clock);
    }

    /// Adds the stable Bloom filters that weighted errors are compared with. Call it after the last
    /// `addFilter`, if the log has importance.
    #[wasm_bindgen(js_name = addReferences)]
    pub fn add_references(&mut self) -> Result<(), JsError> {
        #[cfg(feature = "all-filters")]
        self.simulation
            .add_references()
            .map_err(|error| js_error(create_error(&error)))?;
        Ok(())
    }

    /// Observes the next keys of a log with importance.
    #[wasm_bindgen(js_name = observeWeighted)]
    pub fn observe_weighted(&mut self, fingerprints: &[u64], first: &[u8], importance: &[u16]) {
        #[cfg(feature = "all-filters")]
        {
            let keys = fingerprints.iter().zip(first).zip(importance);
            for ((&fingerprint, &first), &importance) in keys {
                let fingerprint = Fingerprint(fingerprint);
                let (is_first, clock) = (first != 0, &self.clock);
                self.simulation
                    .push_weighted_with_truth(fingerprint, importance, is_first, clock);
            }
            self.simulation.flush(&self.clock);
        }
        #[cfg(not(feature = "all-filters"))]
        let _ = (fingerprints, first, importance);
    }

    /// Returns the weighted errors so far, one per filter. Without importance, there are none.
    pub fn weighted(&self) -> Result<Vec<Ts<WeightedOutcome>>, JsError> {
        #[cfg(feature = "all-filters")]
        {
            let summaries = self.simulation.measurements("log").into_iter();
            let outcomes = summaries.map(|summary| Ok(WeightedOutcome::from(summary).into_ts()?));
            outcomes.collect()
        }
        #[cfg(not(feature = "all-filters"))]
        Ok(Vec::new())
    }

    /// Evaluates the formulas for the log so far. `results` returns the latest predictions.
    pub fn predict(&mut self) {
        self.predictions = self.simulation.predictions();
    }

    /// Lines observed so far.
    #[wasm_bindgen(getter)]
    pub fn count(&self) -> f64 {
        self.simulation.count() as f64
    }

    /// Returns the results so far, with curves of at most `stretches` stretches.
    pub fn results(&self, stretches: usize) -> Result<Ts<RunResults>, JsError> {
        let mut curves = Curves::default();
        for (index, run) in self.simulation.runs().iter().enumerate() {
            curves.push(run, self.prediction(index), stretches);
        }
        let outcomes = self.outcomes();
        let results = RunResults {
            ranking: ranking(&outcomes),
            outcomes,
            curves,
            profile: self.profile(),
        };
        Ok(results.into_ts()?)
    }
}

impl Simulator {
    fn outcomes(&self) -> Vec<Outcome> {
        let summaries = self.simulation.measurements("log").into_iter();
        summaries
            .zip(&self.memory_bits)
            .enumerate()
            .map(|(index, (summary, &memory_bits))| {
                let set = self.simulation.runs()[index].set();
                Outcome::new(summary, set, memory_bits, self.prediction(index))
            })
            .collect()
    }

    fn profile(&self) -> StreamProfile {
        let gaps = self.simulation.gaps();
        let octaves = gaps.histogram().octaves();
        StreamProfile {
            count: self.simulation.count(),
            distinct: self.simulation.distinct(),
            gaps: octaves
                .iter()
                .map(|octave| GapCount {
                    from: octave.from,
                    count: octave.count,
                })
                .collect(),
            gaps_sampled_one_in: gaps.sampled_one_in(),
        }
    }

    fn prediction(&self, index: usize) -> Option<&Prediction> {
        self.predictions.get(index)?.as_ref()
    }
}

/// The worker's clock; None outside a worker.
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
