//! Keys and fingerprints that come from Python.

use dedupstore::{Fingerprint, KeyHasher, Observation};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::errors;

/// Returns the bytes of a key: `bytes`, or `str` as UTF-8. Copies nothing.
#[inline]
pub fn bytes<'key>(key: &'key Bound<'_, PyAny>) -> PyResult<&'key [u8]> {
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes());
    }
    if let Ok(bytes) = key.cast::<PyBytes>() {
        return Ok(bytes.as_bytes());
    }
    Err(PyTypeError::new_err(format!(
        "a key is bytes or str; found {}",
        key.get_type().name()?
    )))
}

/// Hashes keys for a set or a store.
pub trait HashKey {
    /// Returns the fingerprint of a key.
    fn hash(&self, key: &[u8]) -> Fingerprint;
}

impl HashKey for KeyHasher {
    #[inline]
    fn hash(&self, key: &[u8]) -> Fingerprint {
        self.fingerprint(key)
    }
}

/// Returns the fingerprint of a key.
#[inline]
pub fn fingerprint(hasher: &impl HashKey, key: &Bound<'_, PyAny>) -> PyResult<Fingerprint> {
    Ok(hasher.hash(bytes(key)?))
}

/// Calls `visit` with every key of an iterable. Allocates nothing per key.
pub fn for_each(keys: &Bound<'_, PyAny>, mut visit: impl FnMut(&[u8])) -> PyResult<()> {
    if let Ok(list) = keys.cast::<PyList>() {
        for key in list.iter() {
            visit(bytes(&key)?);
        }
    } else if let Ok(tuple) = keys.cast::<PyTuple>() {
        for key in tuple.iter_borrowed() {
            visit(bytes(&key)?);
        }
    } else if keys.is_instance_of::<PyString>() || keys.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err(
            "expected many keys, such as a list of str; found one key",
        ));
    } else {
        for key in keys.try_iter()? {
            visit(bytes(&key?)?);
        }
    }
    Ok(())
}

/// Returns the observations of many keys.
pub fn observations(hasher: &impl HashKey, keys: &Bound<'_, PyAny>) -> PyResult<Vec<Observation>> {
    let mut observations = Vec::with_capacity(keys.len().unwrap_or(0));
    for_each(keys, |key| observations.push(hasher.hash(key).into()))?;
    Ok(observations)
}

/// Returns the fingerprints of many keys.
pub fn fingerprints(hasher: &impl HashKey, keys: &Bound<'_, PyAny>) -> PyResult<Vec<Fingerprint>> {
    let mut fingerprints = Vec::with_capacity(keys.len().unwrap_or(0));
    for_each(keys, |key| fingerprints.push(hasher.hash(key)))?;
    Ok(fingerprints)
}

/// Returns the fingerprints in a buffer: unsigned 64-bit numbers, or bytes that are such numbers in
/// the order of the machine.
pub fn from_buffer(buffer: &Bound<'_, PyAny>) -> PyResult<Vec<Fingerprint>> {
    let py = buffer.py();
    if buffer.len().is_ok_and(|length| length == 0) {
        // An empty array has no memory, whose alignment would be checked.
        return Ok(Vec::new());
    }
    if let Ok(numbers) = PyBuffer::<u64>::get(buffer) {
        return Ok(numbers.to_vec(py)?.into_iter().map(Fingerprint).collect());
    }
    let bytes = PyBuffer::<u8>::get(buffer)?.to_vec(py)?;
    let numbers = bytes.as_chunks::<8>();
    match numbers {
        (numbers, []) => {
            let numbers = numbers
                .iter()
                .map(|it| Fingerprint(u64::from_ne_bytes(*it)));
            Ok(numbers.collect())
        }
        _ => Err(errors::invalid(format!(
            "fingerprints have 8 bytes each; the buffer has {} bytes",
            bytes.len()
        ))),
    }
}

/// Encodes fingerprints as bytes in the order of the machine.
pub fn to_bytes(fingerprints: &[Fingerprint]) -> Vec<u8> {
    fingerprints
        .iter()
        .flat_map(|it| it.0.to_ne_bytes())
        .collect()
}
