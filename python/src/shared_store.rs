//! A store for many threads at once.

use std::path::PathBuf;

use dedupstore::store::{self, StoreError};
use dedupstore::{KeyHasher, Observation, Verdict};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::guarded::Guarded;
use crate::options::{self, New, Size, Sync};
use crate::seen_set::observations;
use crate::{errors, keys, verdict};

/// A store that is divided into shards, so that threads do not wait for each other. `memory` is that
/// of all shards together. A key always goes to the same shard.
///
/// >>> import tempfile, pathlib
/// >>> from dedupstore import SharedStore
/// >>> directory = tempfile.TemporaryDirectory()
/// >>> path = pathlib.Path(directory.name) / "links.dds"
/// >>> with SharedStore(path, memory="1MiB", shards=2) as store:
/// ...     store.observe("https://harbour.example/").is_new
/// True
#[pyclass(frozen, module = "dedupstore")]
pub struct SharedStore {
    store: Guarded<store::SharedStore>,
    path: PathBuf,
    hasher: KeyHasher,
}

#[pymethods]
impl SharedStore {
    #[new]
    #[pyo3(signature = (path, *, filter=None, memory=None, seed=None, audit=None, shards=None, sync=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        filter: Option<String>,
        memory: Option<Size>,
        seed: Option<u64>,
        audit: Option<Size>,
        shards: Option<usize>,
        sync: Option<Sync>,
    ) -> PyResult<Self> {
        let options = New {
            filter,
            memory,
            seed,
            audit,
            shards,
            ..New::default()
        };
        let create = options.options(false)?;
        let open = options::open_options(sync.as_ref())?;
        let opened = py.detach(|| open.open_or_create_shared(&path, &create));
        let store = opened.map_err(|error| errors::of_store(&path, &error))?;
        Ok(SharedStore {
            hasher: store.hasher(),
            store: Guarded::with_files("store", store),
            path,
        })
    }

    /// Reports whether a key is new, and records it.
    fn observe(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let fingerprint = keys::fingerprint(&self.hasher, key)?;
        let verdict = self
            .store
            .short(py, |store| store.observe_fingerprint(fingerprint))?;
        verdict::object(py, self.checked(verdict)?)
    }

    /// Observes many keys; returns their verdicts.
    fn observe_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let py = keys.py();
        let observations = keys::observations(&self.hasher, keys)?;
        verdict::list(py, &self.observed(py, &observations)?)
    }

    /// Observes many fingerprints; see `Store.observe_fingerprints`.
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

    /// Reports whether a key was observed before. Records nothing.
    fn contains(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let fingerprint = keys::fingerprint(&self.hasher, key)?;
        let verdict = self
            .store
            .short(py, |store| store.contains_fingerprint(fingerprint))?;
        verdict::object(py, self.checked(verdict)?)
    }

    /// Makes everything observed so far durable.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        let synced = self.store.long(py, |store| store.sync())?;
        self.checked(synced)
    }

    /// Writes the state of every shard as a new image.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        let written = self.store.long(py, |store| store.checkpoint())?;
        self.checked(written)
    }

    /// Closes every shard, and reports any error. Every later call fails, except for this one.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match self.store.take(py)? {
            Some(store) => {
                let closed = py.detach(|| store.close());
                self.checked(closed)
            }
            None => Ok(()),
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _class: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }

    /// The number of shards.
    #[getter]
    fn shards(&self, py: Python<'_>) -> PyResult<usize> {
        self.store.short(py, |store| store.shards())
    }

    /// The seed of the hash function.
    #[getter]
    fn seed(&self) -> u64 {
        self.hasher.seed()
    }

    fn __repr__(&self) -> String {
        format!("<SharedStore {}>", self.path.display())
    }
}

impl SharedStore {
    fn checked<T>(&self, result: Result<T, StoreError>) -> PyResult<T> {
        result.map_err(|error| errors::of_store(&self.path, &error))
    }

    fn observed(&self, py: Python<'_>, observations: &[Observation]) -> PyResult<Vec<Verdict>> {
        let verdicts = self.store.long(py, |store| {
            let mut verdicts = vec![Verdict::New; observations.len()];
            store
                .observe_batch(observations, &mut verdicts)
                .map(|()| verdicts)
        })?;
        self.checked(verdicts)
    }
}
