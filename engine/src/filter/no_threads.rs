//! WebAssembly has no threads: one loop observes every batch.

use super::{AnyFilter, Observation, Registers, SampleMask, Verdict};
use crate::fingerprint::KeyHasher;

/// There are none.
#[derive(Debug)]
#[doc(hidden)]
pub enum Threads {}

impl Threads {
    /// Returns None.
    pub fn start(_: usize) -> Option<Self> {
        None
    }

    /// Cannot be called.
    pub(super) fn hash<K>(&self, _: KeyHasher, _: &[K], _: &mut [Observation]) {
        match *self {}
    }
}

impl AnyFilter {
    /// Whether several threads can observe one batch.
    pub fn is_divisible(&self) -> bool {
        false
    }

    /// Cannot be called.
    pub(crate) fn observe_divided(
        &self,
        threads: &mut Threads,
        _: &mut [u8],
        _: &mut Registers,
        _: &[Observation],
        _: &mut [Verdict],
        _: &mut SampleMask,
    ) {
        match *threads {}
    }
}
