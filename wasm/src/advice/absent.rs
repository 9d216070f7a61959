//! Replaces the adviser in an engine without the feature `all-filters`. The constructor fails, so
//! no value of this type exists.

use dedupstore::lab::Sampling;

use super::{Advice, AdviceRequirements};
use crate::key_choice::KeyChoice;

/// See `log_adviser.rs`.
pub enum LogAdviser {}

impl LogAdviser {
    pub fn new(_: &KeyChoice, _: Sampling) -> Result<Self, String> {
        Err("This engine gives no advice. The page has another engine that does.".to_owned())
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

    pub fn advise(&self, _: &AdviceRequirements) -> Result<Advice, String> {
        match *self {}
    }
}
