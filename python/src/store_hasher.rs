//! Hashes keys as a store does.

use std::sync::{Mutex, PoisonError};

use dedupstore::lines::{KeyOptions, Normalization, Normalizer, RecordedKey};
use dedupstore::{Fingerprint, KeyHasher};
use pyo3::prelude::*;

use crate::errors;
use crate::keys::HashKey;

/// Hashes keys with a seed, after the normalization that a store has recorded. The other parts of a
/// recorded rule find the key in a line; here, callers pass keys.
pub struct StoreHasher {
    hasher: KeyHasher,
    /// None if keys are hashed as they are.
    normalizer: Option<Mutex<Normalizer>>,
}

impl StoreHasher {
    /// `rule` is the text that the store has recorded.
    pub fn new(hasher: KeyHasher, rule: &str) -> PyResult<Self> {
        Ok(StoreHasher {
            hasher,
            normalizer: normalizer(rule)?.map(Mutex::new),
        })
    }

    /// Returns the seed.
    pub fn seed(&self) -> u64 {
        self.hasher.seed()
    }
}

impl HashKey for StoreHasher {
    #[inline]
    fn hash(&self, key: &[u8]) -> Fingerprint {
        match &self.normalizer {
            None => self.hasher.fingerprint(key),
            Some(normalizer) => {
                // Its buffers are overwritten by every key, so a panic has left nothing behind.
                let mut normalizer = normalizer.lock().unwrap_or_else(PoisonError::into_inner);
                self.hasher.fingerprint(normalizer.apply(key))
            }
        }
    }
}

/// Refuses a rule that no store can be opened with.
pub fn check_rule(rule: &str) -> PyResult<()> {
    normalizer(rule).map(|_| ())
}

/// Returns what a recorded rule does to keys; None if that is nothing.
fn normalizer(rule: &str) -> PyResult<Option<Normalizer>> {
    let unknown = |error: String| errors::invalid(format!("the rule of keys `{rule}`: {error}"));
    let recorded: Result<RecordedKey, _> = rule.parse();
    let recorded = recorded.map_err(|error| unknown(error.to_string()))?;
    let rule = KeyOptions::default().rule_for(&recorded);
    let rule = rule.map_err(|error| unknown(error.to_string()))?;
    let normalizes = rule.normalization != Normalization::None;
    Ok(normalizes.then(|| Normalizer::new(rule.normalization, &rule.drop_parameters)))
}
