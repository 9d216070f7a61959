//! Replaces the builder and the inspector in an engine without the feature `stores`. The
//! constructors fail, so no value of these types exists.

use super::{MissingBytes, StoreFileSize, StorePart};
use crate::key_choice::KeyChoice;

const REFUSAL: &str = "This engine has no stores. The page has another engine that has them.";

/// See `builder.rs`.
pub enum Builder {}

impl Builder {
    pub fn new(_: &str, _: u64, _: u64, _: &KeyChoice) -> Result<Self, String> {
        Err(REFUSAL.to_owned())
    }

    pub fn feed(&mut self, _: &[u8]) -> Result<(), String> {
        match *self {}
    }

    pub fn finish(&mut self, _: &[u8], _: u64) -> Result<(), String> {
        match *self {}
    }

    pub fn files(&self) -> Vec<StoreFileSize> {
        match *self {}
    }

    pub fn next_part(&mut self) -> Result<Option<StorePart>, String> {
        match *self {}
    }

    pub fn take_part_bytes(&mut self) -> Vec<u8> {
        match *self {}
    }
}

/// See `inspector.rs`.
pub enum Inspector {}

impl Inspector {
    pub fn new(_: &str, _: u64) -> Result<Self, String> {
        Err(REFUSAL.to_owned())
    }

    pub fn add_file(&mut self, _: &str, _: u64) {
        match *self {}
    }

    pub fn report(&mut self) -> Result<Option<String>, String> {
        match *self {}
    }

    pub fn missing_bytes(&self) -> Option<MissingBytes> {
        match *self {}
    }

    pub fn supply(&mut self, _: &[u8]) {
        match *self {}
    }
}
