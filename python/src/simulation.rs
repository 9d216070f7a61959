//! Filters against exact truth.

use std::time::Instant;

use dedupstore::DEFAULT_MEMORY;
use dedupstore::lab::{Clock, Simulation, StreamSpec, Truth};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::options::{self, Size};
use crate::{errors, json, keys};

/// Runs filters over keys, or over a synthetic stream of `count` keys, and compares each verdict
/// with the exact one. Returns what `dedupstore simulate --json` prints, one dictionary per filter.
///
/// >>> from dedupstore import simulate
/// >>> [run] = simulate(["a", "b", "a", "c"], filters=["bloom:k=4"], memory="1KiB")
/// >>> run["distinct"], run["fp"], run["fn"]
/// (3, 0, 0)
#[pyfunction]
#[pyo3(signature = (keys=None, *, filters, memory=None, stream=None, count=1_000_000, seed=0))]
pub fn simulate<'py>(
    py: Python<'py>,
    keys: Option<&Bound<'py, PyAny>>,
    filters: Vec<String>,
    memory: Option<Size>,
    stream: Option<&str>,
    count: u64,
    seed: u64,
) -> PyResult<Bound<'py, PyList>> {
    let memory_bits = match memory {
        Some(size) => size.parse()?.bits(),
        None => DEFAULT_MEMORY.bits(),
    };
    let filters = filters.iter().map(|text| options::filter(text));
    let filters = filters.collect::<PyResult<Vec<_>>>()?;
    let add_filters = |simulation: &mut Simulation| {
        let mut added = filters
            .iter()
            .map(|spec| simulation.add_filter(spec, memory_bits));
        let added = added.try_for_each(|it| it);
        added.map_err(|error| errors::of_creation(&error))
    };
    let (simulation, name) = match (keys, stream) {
        (Some(keys), None) => {
            let mut simulation = Simulation::new(seed, Truth::for_fingerprints());
            add_filters(&mut simulation)?;
            let fingerprints = keys::fingerprints(&simulation.hasher(), keys)?;
            let simulation = py.detach(|| {
                let clock = WallClock(Instant::now());
                for fingerprint in fingerprints {
                    simulation.push_fingerprint(fingerprint, &clock);
                }
                simulation.flush(&clock);
                simulation
            });
            (simulation, "keys".to_owned())
        }
        (None, Some(text)) => {
            let spec = text.parse::<StreamSpec>();
            let spec = spec.map_err(|error| errors::invalid(error.to_string()))?;
            let mut arrivals = spec.open(count, seed);
            let mut simulation = Simulation::for_stream(&arrivals, seed);
            add_filters(&mut simulation)?;
            let simulation = py.detach(|| {
                let clock = WallClock(Instant::now());
                while let Some(arrival) = arrivals.next_arrival() {
                    simulation.push_arrival(&arrival, &clock);
                }
                simulation.flush(&clock);
                simulation
            });
            (simulation, text.to_owned())
        }
        _ => return Err(errors::invalid("give either keys or a stream")),
    };
    let runs = simulation.summaries(&name);
    let runs = runs
        .iter()
        .map(|run| json::to_python(py, &json::value(run)?));
    PyList::new(py, runs.collect::<PyResult<Vec<_>>>()?)
}

struct WallClock(Instant);

impl Clock for WallClock {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
