//! Replaces the searches in an engine without the feature `all-filters`. The constructor fails, so
//! no value of this type exists.

use dedupstore::lab::Sampling;

use super::EnoughMemory;
use crate::key_choice::KeyChoice;

/// See `sampled_log.rs`.
pub enum SampledLog {}

impl SampledLog {
    pub fn new(_: &KeyChoice, _: u64, _: Sampling) -> Result<Self, String> {
        Err(
            "This engine does not search for memory. The page has another one that does."
                .to_owned(),
        )
    }

    pub fn feed(&mut self, _: &[u8]) -> Result<(), String> {
        match *self {}
    }

    pub fn finish(&mut self) {
        match *self {}
    }

    pub fn is_complete(&self) -> bool {
        match *self {}
    }

    pub fn count(&self) -> u64 {
        match *self {}
    }

    pub fn lines_without_key(&self) -> u64 {
        match *self {}
    }

    pub fn one_key_in(&self) -> u64 {
        match *self {}
    }

    pub fn search(&self, _: &str, _: f64) -> Result<Option<EnoughMemory>, String> {
        match *self {}
    }
}
