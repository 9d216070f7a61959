//! Reading a store while another process may write to it.

use std::path::PathBuf;

use dedupstore::store;
use dedupstore::{Fingerprint, Verdict};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::store_hasher::StoreHasher;
use crate::{errors, keys, verdict};

/// A copy of a store's state in memory: at least everything that was durable when it was opened.
/// Takes no lock and writes nothing, so many processes can read one store, also beside its writer.
///
/// >>> import tempfile, pathlib
/// >>> from dedupstore import ReadOnlyStore, Store
/// >>> directory = tempfile.TemporaryDirectory()
/// >>> path = pathlib.Path(directory.name) / "links.dds"
/// >>> with Store(path, memory="1MiB") as store:
/// ...     verdict = store.observe("https://harbour.example/")
/// >>> history = ReadOnlyStore(path)
/// >>> [verdict.is_seen for verdict in history.contains_many(["https://harbour.example/", "new"])]
/// [True, False]
#[pyclass(frozen, module = "dedupstore")]
pub struct ReadOnlyStore {
    store: store::ReadOnlyStore,
    hasher: StoreHasher,
    path: PathBuf,
}

#[pymethods]
impl ReadOnlyStore {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| store::ReadOnlyStore::open(&path));
        let store = opened.map_err(|error| errors::of_store(&path, &error))?;
        let hasher = StoreHasher::new(store.hasher(), &store.parameters().normalization)?;
        Ok(ReadOnlyStore {
            store,
            hasher,
            path,
        })
    }

    /// Reports whether a key was observed.
    fn contains(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let fingerprint = keys::fingerprint(&self.hasher, key)?;
        verdict::object(py, self.store.contains_fingerprint(fingerprint))
    }

    /// Looks many keys up.
    fn contains_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let py = keys.py();
        let fingerprints = keys::fingerprints(&self.hasher, keys)?;
        verdict::list(py, &self.looked_up(py, &fingerprints))
    }

    /// Looks many fingerprints up, from a buffer of unsigned 64-bit numbers. Returns one byte per
    /// fingerprint: 1 for new, 0 for seen.
    fn contains_fingerprints<'py>(
        &self,
        fingerprints: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let py = fingerprints.py();
        let fingerprints = keys::from_buffer(fingerprints)?;
        Ok(PyBytes::new(
            py,
            &verdict::bytes(&self.looked_up(py, &fingerprints)),
        ))
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let fingerprint = keys::fingerprint(&self.hasher, key)?;
        Ok(self.store.contains_fingerprint(fingerprint).is_seen())
    }

    /// The filter and its parameters.
    #[getter]
    fn filter(&self) -> String {
        self.store.spec().to_string()
    }

    /// The seed of the hash function.
    #[getter]
    fn seed(&self) -> u64 {
        self.store.hasher().seed()
    }

    fn __repr__(&self) -> String {
        format!("<ReadOnlyStore {}>", self.path.display())
    }
}

impl ReadOnlyStore {
    fn looked_up(&self, py: Python<'_>, fingerprints: &[Fingerprint]) -> Vec<Verdict> {
        py.detach(|| {
            let verdicts = fingerprints
                .iter()
                .map(|&it| self.store.contains_fingerprint(it));
            verdicts.collect()
        })
    }
}
