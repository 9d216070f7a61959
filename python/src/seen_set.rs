//! A seen-set in memory.

use dedupstore as engine;
use dedupstore::{Fingerprint, KeyHasher, Observation, Verdict};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use serde_json::json;

use crate::guarded::Guarded;
use crate::options::{New, Size};
use crate::{errors, json, keys, verdict};

/// The keys observed so far, in a fixed amount of memory. It ends with the process; a `Store`
/// survives it.
///
/// >>> from dedupstore import SeenSet
/// >>> seen = SeenSet(memory="1MiB")
/// >>> seen.observe("https://harbour.example/").is_new
/// True
/// >>> seen.observe(b"https://harbour.example/").is_seen
/// True
/// >>> "https://harbour.example/quay" in seen
/// False
#[pyclass(frozen, module = "dedupstore")]
pub struct SeenSet {
    set: Guarded<engine::SeenSet>,
    hasher: KeyHasher,
    filter: String,
}

#[pymethods]
impl SeenSet {
    #[new]
    #[pyo3(signature = (filter=None, *, memory=None, seed=0, window=None, audit=None))]
    fn new(
        filter: Option<String>,
        memory: Option<Size>,
        seed: u64,
        window: Option<u64>,
        audit: Option<Size>,
    ) -> PyResult<Self> {
        let options = New {
            filter,
            memory,
            seed: Some(seed),
            window,
            audit: Some(audit.unwrap_or(Size::Bytes(0))),
            ..New::default()
        };
        let set = options.options(true)?.in_memory();
        let set = set.map_err(|error| errors::of_creation(&error))?;
        Ok(SeenSet {
            hasher: set.hasher(),
            filter: set.spec().to_string(),
            set: Guarded::in_memory("set", set),
        })
    }

    /// Reports whether a key is new, and remembers it. A key is bytes, or str as UTF-8. `at`, in
    /// seconds since 1970, is for filters with a window.
    #[pyo3(signature = (key, *, at=None, importance=0))]
    fn observe(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        at: Option<u64>,
        importance: u16,
    ) -> PyResult<Py<PyAny>> {
        let observation = observation(keys::fingerprint(&self.hasher, key)?, at, importance);
        verdict::object(py, self.set.short(py, |set| set.observe_one(observation))?)
    }

    /// Observes many keys in order; returns their verdicts. Several times faster than one by one.
    fn observe_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let py = keys.py();
        let observations = keys::observations(&self.hasher, keys)?;
        verdict::list(py, &self.observed(py, &observations)?)
    }

    /// Observes many fingerprints of this set's hasher, from a buffer of unsigned 64-bit numbers.
    /// Returns one byte per fingerprint: 1 for new, 0 for seen.
    fn observe_fingerprints<'py>(
        &self,
        fingerprints: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let py = fingerprints.py();
        let observations = observations(&keys::from_buffer(fingerprints)?);
        Ok(PyBytes::new(
            py,
            &verdict::bytes(&self.observed(py, &observations)?),
        ))
    }

    /// Reports whether a key was observed before. Changes nothing.
    fn contains(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let fingerprint = keys::fingerprint(&self.hasher, key)?;
        verdict::object(
            py,
            self.set
                .short(py, |set| set.contains_fingerprint(fingerprint))?,
        )
    }

    /// Looks many keys up. Changes nothing.
    fn contains_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let py = keys.py();
        let fingerprints = keys::fingerprints(&self.hasher, keys)?;
        let verdicts = self.set.long(py, |set| {
            let verdicts = fingerprints.iter().map(|&it| set.contains_fingerprint(it));
            verdicts.collect::<Vec<Verdict>>()
        })?;
        verdict::list(py, &verdicts)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let fingerprint = keys::fingerprint(&self.hasher, key)?;
        let verdict = self
            .set
            .short(py, |set| set.contains_fingerprint(fingerprint))?;
        Ok(verdict.is_seen())
    }

    /// Removes a key that was new, if the filter can. Returns whether the key was there.
    fn forget(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let fingerprint = keys::fingerprint(&self.hasher, key)?;
        let forgotten = self
            .set
            .short(py, |set| set.forget_fingerprint(fingerprint))?;
        let verdict = forgotten.map_err(|error| errors::invalid(error.to_string()))?;
        Ok(verdict.is_seen())
    }

    /// Returns the filter, its memory, counts, load and error rates.
    fn inspect<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = self.set.long(py, |set| {
            let registers = set.registers();
            json!({
                "filter": set.spec().to_string(),
                "memory_bits": 8 * set.region().len(),
                "seed": set.hasher().seed(),
                "observations": registers.observations(),
                "new": registers.new_count(),
                "load": set.load(),
                "predicted_fpr": set.false_positive_rate(),
            })
        })?;
        json::to_python(py, &report)
    }

    /// The filter and its parameters.
    #[getter]
    fn filter(&self) -> &str {
        &self.filter
    }

    /// The seed of the hash function.
    #[getter]
    fn seed(&self) -> u64 {
        self.hasher.seed()
    }

    fn __repr__(&self) -> String {
        format!("<SeenSet {}>", self.filter)
    }
}

impl SeenSet {
    fn observed(&self, py: Python<'_>, observations: &[Observation]) -> PyResult<Vec<Verdict>> {
        self.set.long(py, |set| {
            let mut verdicts = vec![Verdict::New; observations.len()];
            set.observe_batch(observations, &mut verdicts);
            verdicts
        })
    }
}

/// Returns an observation with a time, in seconds since 1970, and an importance.
pub fn observation(fingerprint: Fingerprint, at: Option<u64>, importance: u16) -> Observation {
    Observation {
        fingerprint,
        tick: at.map_or(0, |seconds| u32::try_from(seconds).unwrap_or(u32::MAX)),
        importance,
    }
}

/// Returns the observations of fingerprints.
pub fn observations(fingerprints: &[Fingerprint]) -> Vec<Observation> {
    fingerprints.iter().map(|&it| it.into()).collect()
}
