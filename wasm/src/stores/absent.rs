//! An engine that knows no stores: there can be none of these.

use super::{StorePart, Wanted};
use crate::key::KeyChoice;

const REFUSAL: &str = "This engine knows no stores; the page has another that does.";

/// See `primer.rs`.
pub enum Primer {}

impl Primer {
    pub fn new(_: &str, _: u64, _: u64, _: &KeyChoice) -> Result<Self, String> {
        Err(REFUSAL.to_owned())
    }

    pub fn feed(&mut self, _: &[u8]) -> Result<(), String> {
        match *self {}
    }

    pub fn finish(&mut self, _: &[u8], _: u64) -> Result<(), String> {
        match *self {}
    }

    pub fn files(&self) -> Vec<(&'static str, u64)> {
        match *self {}
    }

    pub fn next_part(&mut self) -> Result<Option<StorePart>, String> {
        match *self {}
    }
}

/// See `look.rs`.
pub enum Look {}

impl Look {
    pub fn new(_: &str, _: u64) -> Result<Self, String> {
        Err(REFUSAL.to_owned())
    }

    pub fn add(&mut self, _: &str, _: u64) {
        match *self {}
    }

    pub fn report(&mut self) -> Result<Option<String>, String> {
        match *self {}
    }

    pub fn wanted(&self) -> Option<Wanted> {
        match *self {}
    }

    pub fn supply(&mut self, _: &[u8]) {
        match *self {}
    }
}
