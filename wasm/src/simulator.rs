//! A run of filters over a log that comes in chunks.

use dedupstore::FilterSpec;
use dedupstore::lab::{Clock, CurvePoint, RunSummary, Simulation, Truth};
use dedupstore::lines::{KeyReader, LineBuffer};
use wasm_bindgen::prelude::*;

/// Filters side by side over the lines of one log, against exact truth.
#[wasm_bindgen]
pub struct Simulator {
    simulation: Simulation,
    lines: LineBuffer,
    keys: KeyReader,
    clock: PerformanceClock,
    bytes: u64,
    without_key: u64,
}

#[wasm_bindgen]
impl Simulator {
    /// A run under a seed, a whole number up to 2^53; enter filters before the first
    /// chunk.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: f64) -> Simulator {
        Simulator {
            simulation: Simulation::new(seed as u64, Truth::for_fingerprints()),
            lines: LineBuffer::new(b'\n'),
            keys: KeyReader::default(),
            clock: PerformanceClock::find(),
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
                    Some(key) => self.simulation.push_key(key, &self.clock),
                    None => self.without_key += 1,
                }
            }
        }
        self.simulation.flush(&self.clock);
        Ok(())
    }

    /// The log has ended: what follows the last newline is a line too.
    pub fn finish(&mut self) {
        if let Some(key) = self
            .lines
            .last_line()
            .and_then(|line| self.keys.key(line.content))
        {
            self.simulation.push_key(key, &self.clock);
        }
        self.simulation.flush(&self.clock);
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

    /// The results so far, one a filter in the order they were entered.
    pub fn outcomes(&self) -> Vec<Outcome> {
        let summaries = self.simulation.measurements("log").into_iter();
        summaries.map(|summary| Outcome { summary }).collect()
    }

    /// How the `index`-th filter has done over the log so far, in at most so many
    /// stretches.
    pub fn curve(&self, index: usize, stretches: usize) -> Option<Curve> {
        let contestant = self.simulation.contestants().get(index)?;
        Some(Curve {
            points: contestant.board().curve_of(stretches),
            cells: contestant.set().filter().cells(),
        })
    }
}

/// The result of a filter. The names are those of `dedupstore simulate --json`.
#[wasm_bindgen]
pub struct Outcome {
    summary: RunSummary,
}

#[wasm_bindgen]
impl Outcome {
    /// The filter, in its text form.
    #[wasm_bindgen(getter)]
    pub fn filter(&self) -> String {
        self.summary.filter.clone()
    }

    /// The memory it was given.
    #[wasm_bindgen(getter, js_name = memoryBits)]
    pub fn memory_bits(&self) -> f64 {
        self.summary.memory_bits as f64
    }

    /// Lines.
    #[wasm_bindgen(getter)]
    pub fn count(&self) -> f64 {
        self.summary.count as f64
    }

    /// First occurrences.
    #[wasm_bindgen(getter)]
    pub fn distinct(&self) -> f64 {
        self.summary.distinct as f64
    }

    /// The others.
    #[wasm_bindgen(getter)]
    pub fn repeats(&self) -> f64 {
        self.summary.repeats as f64
    }

    /// First occurrences reported Seen.
    #[wasm_bindgen(getter, js_name = falsePositives)]
    pub fn false_positives(&self) -> f64 {
        self.summary.fp as f64
    }

    /// Repeats reported New.
    #[wasm_bindgen(getter, js_name = falseNegatives)]
    pub fn false_negatives(&self) -> f64 {
        self.summary.false_negatives as f64
    }

    /// The share of first occurrences reported Seen.
    #[wasm_bindgen(getter)]
    pub fn fpr(&self) -> Option<f64> {
        self.summary.fpr
    }

    /// The share of repeats reported New.
    #[wasm_bindgen(getter)]
    pub fn fnr(&self) -> Option<f64> {
        self.summary.fnr
    }

    /// The share of cells in use.
    #[wasm_bindgen(getter)]
    pub fn load(&self) -> f64 {
        self.summary.load
    }

    /// Time in the filter alone, where the browser's clock could tell.
    #[wasm_bindgen(getter, js_name = nsPerObservation)]
    pub fn ns_per_observation(&self) -> Option<f64> {
        self.summary.ns_per_observation
    }
}

/// Rates over the log, each over the stretch since the point before it. A stretch
/// with no first occurrences has no FPR, one with no repeats no FNR: those are NaN.
#[wasm_bindgen]
pub struct Curve {
    points: Vec<CurvePoint>,
    cells: u64,
}

#[wasm_bindgen]
impl Curve {
    /// Where each stretch ends, in lines.
    #[wasm_bindgen(getter)]
    pub fn position(&self) -> Vec<f64> {
        self.over_stretches(|_, end| Some(end.position as f64))
    }

    /// FPR in each stretch.
    #[wasm_bindgen(getter)]
    pub fn fpr(&self) -> Vec<f64> {
        self.over_stretches(|start, end| end.fpr_since(start))
    }

    /// FNR in each stretch.
    #[wasm_bindgen(getter)]
    pub fn fnr(&self) -> Vec<f64> {
        self.over_stretches(|start, end| end.fnr_since(start))
    }

    /// The share of cells in use at the end of each stretch.
    #[wasm_bindgen(getter)]
    pub fn load(&self) -> Vec<f64> {
        self.over_stretches(|_, end| Some(end.occupied as f64 / self.cells as f64))
    }

    fn over_stretches(&self, value: impl Fn(&CurvePoint, &CurvePoint) -> Option<f64>) -> Vec<f64> {
        self.points
            .windows(2)
            .map(|pair| value(&pair[0], &pair[1]).unwrap_or(f64::NAN))
            .collect()
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
