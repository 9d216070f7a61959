//! Fingerprints of keys, normalized URLs, and keys divided among shards.

use dedupstore as engine;
use dedupstore::lines::{Normalization, Normalizer};
use dedupstore::store::shard_of;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::store_hasher::StoreHasher;
use crate::{errors, keys};

/// Hashes keys with a seed, as sets and stores with this seed do. `rule` is the `key` that
/// `dedupstore inspect` shows for a store: if it normalizes URLs, so does this.
///
/// >>> from dedupstore import KeyHasher
/// >>> hex(KeyHasher(0).fingerprint("https://harbour.example/"))
/// '0x32f7b17e3e46b7cc'
#[pyclass(frozen, module = "dedupstore")]
pub struct KeyHasher(StoreHasher);

#[pymethods]
impl KeyHasher {
    #[new]
    #[pyo3(signature = (seed=0, *, rule=None))]
    fn new(seed: u64, rule: Option<&str>) -> PyResult<Self> {
        let hasher = engine::KeyHasher::new(seed);
        StoreHasher::new(hasher, rule.unwrap_or_default()).map(KeyHasher)
    }

    /// The seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed()
    }

    /// Returns the fingerprint of a key.
    fn fingerprint(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(keys::fingerprint(&self.0, key)?.0)
    }

    /// Returns the fingerprints of many keys: 8 bytes each, in the order of the machine.
    fn fingerprints<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let fingerprints = keys::fingerprints(&self.0, keys)?;
        Ok(PyBytes::new(keys.py(), &keys::to_bytes(&fingerprints)))
    }

    /// Divides many keys among shards. Returns the fingerprints of each shard, in order, and one
    /// number per key: its shard, as a byte (at most 256 shards).
    fn split<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        shards: usize,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyBytes>)> {
        if !(1..=256).contains(&shards) {
            return Err(errors::invalid(format!(
                "expected 1 to 256 shards; found {shards}"
            )));
        }
        let py = keys.py();
        let mut parts = vec![Vec::new(); shards];
        let mut owners = Vec::with_capacity(keys.len().unwrap_or(0));
        for fingerprint in keys::fingerprints(&self.0, keys)? {
            let shard = shard_of(fingerprint, shards);
            parts[shard].extend_from_slice(&fingerprint.0.to_ne_bytes());
            owners.push(shard as u8);
        }
        let parts = PyList::new(py, parts.iter().map(|part| PyBytes::new(py, part)))?;
        Ok((parts, PyBytes::new(py, &owners)))
    }

    /// Puts the answers of the shards, one byte per key, into the order of the keys, given what
    /// `split` has returned.
    #[staticmethod]
    fn join<'py>(
        py: Python<'py>,
        owners: &[u8],
        answers: Vec<Bound<'py, PyBytes>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut answers: Vec<_> = answers.iter().map(|it| it.as_bytes().iter()).collect();
        let mut next = |owner: &u8| answers.get_mut(usize::from(*owner))?.next().copied();
        let joined: Option<Vec<u8>> = owners.iter().map(&mut next).collect();
        match joined {
            Some(joined) => Ok(PyBytes::new(py, &joined)),
            None => Err(errors::invalid(
                "a shard has answered about fewer keys than it was asked",
            )),
        }
    }
}

/// Returns a URL in one spelling: `"whatwg"` (the URL standard, without the fragment) or `"crawl"`
/// (also without parameters that select no page). A key that is no URL is returned as it is.
///
/// >>> from dedupstore import normalize
/// >>> normalize("HTTP://Harbour.example:80/a/../b#c")
/// 'http://harbour.example/b'
#[pyfunction]
#[pyo3(signature = (url, normalization="crawl"))]
pub fn normalize(url: &str, normalization: &str) -> PyResult<String> {
    let normalization = normalization.parse::<Normalization>();
    let normalization = normalization.map_err(|error| errors::invalid(error.to_string()))?;
    let mut normalizer = Normalizer::new(normalization, &[]);
    Ok(String::from_utf8_lossy(normalizer.apply(url.as_bytes())).into_owned())
}
