//! Which observations of a batch somebody wants to hear of.
//!
//! The test is made where a fingerprint is at hand anyway, among waits for memory: a pass
//! of its own over the batch would cost several percent of what the fastest filter takes.

use crate::fingerprint::Fingerprint;

/// Collects the places in a batch of keys whose fingerprint has none of some bits.
#[derive(Debug)]
pub(crate) struct Watch {
    mask: u64,
    met: Vec<usize>,
}

impl Watch {
    /// For fingerprints with none of these bits.
    pub fn for_none_of(mask: u64) -> Self {
        Watch {
            mask,
            met: Vec::new(),
        }
    }

    /// Nobody is listening; a key in 2^64 is collected for nothing.
    pub fn for_nothing() -> Self {
        Watch::for_none_of(u64::MAX)
    }

    /// Takes note of the observation at a place in the batch, if it is one of them.
    #[inline(always)]
    pub fn look(&mut self, place: usize, fingerprint: Fingerprint) {
        if fingerprint.0 & self.mask == 0 {
            self.keep(place);
        }
    }

    #[inline(never)]
    fn keep(&mut self, place: usize) {
        self.met.push(place);
    }

    /// The places, in order.
    pub fn places(&self) -> impl Iterator<Item = usize> + Clone {
        self.met.iter().copied()
    }
}
