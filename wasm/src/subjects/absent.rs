//! Replaces the subjects in an engine without the feature `all-filters`. The constructor fails, so
//! no value of this type exists.

use dedupstore::lab::Sampling;
use tsify::Ts;
use wasm_bindgen::JsError;

use super::{Subject, SubjectResult};
use crate::key_choice::KeyChoice;

/// See `runner.rs`.
pub enum Runner {}

impl Runner {
    pub fn new(
        _: &KeyChoice,
        _: u64,
        _: Sampling,
        _: u64,
        _: &Ts<Subject>,
    ) -> Result<Self, JsError> {
        Err(JsError::new(
            "This engine does not show that. The page has another one that does.",
        ))
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

    pub fn results(&self) -> Result<SubjectResult, String> {
        match *self {}
    }
}
