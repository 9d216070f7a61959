//! What goes into a filter and what comes out.

use crate::fingerprint::Fingerprint;

/// A filter's answer about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Verdict {
    /// The key has not occurred before, as far as the filter can tell.
    New,
    /// The key has occurred before, as far as the filter can tell.
    Seen,
}

impl Verdict {
    /// Returns true for [`Verdict::New`].
    pub const fn is_new(self) -> bool {
        matches!(self, Verdict::New)
    }

    /// Returns true for [`Verdict::Seen`].
    pub const fn is_seen(self) -> bool {
        matches!(self, Verdict::Seen)
    }

    /// Returns Seen for true and New for false.
    #[inline(always)]
    pub(crate) const fn seen_if(seen: bool) -> Self {
        match seen {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }
}

/// One occurrence of a key in the stream. Most filters use only the fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// The fingerprint of the key.
    pub fingerprint: Fingerprint,
    /// The time, in the caller's unit; by convention seconds since 1970.
    pub tick: u32,
    /// The weight of an error about this key.
    pub importance: u16,
}

impl From<Fingerprint> for Observation {
    fn from(fingerprint: Fingerprint) -> Self {
        Observation {
            fingerprint,
            tick: 0,
            importance: 0,
        }
    }
}

/// Observations as a log records them. Those that left the state unchanged are only counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedObservations {
    /// The step at which all of them count; None if the filter needs no time.
    pub step: Option<u64>,
    /// The observations recorded in full.
    pub observations: Vec<Observation>,
    /// For each of these, the number of skipped observations directly before it.
    pub skipped_before: Vec<u32>,
    /// The number of skipped observations after the last one.
    pub skipped_after: u32,
    /// Keys taken out after the observations.
    pub forgotten: Vec<Fingerprint>,
}

impl LoggedObservations {
    /// Returns the number of observations, skipped ones included.
    pub fn count(&self) -> u64 {
        let skipped = self.skipped_before.iter().copied().map(u64::from);
        skipped.sum::<u64>() + self.observations.len() as u64 + u64::from(self.skipped_after)
    }

    /// Removes all observations and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.step = None;
        self.observations.clear();
        self.skipped_before.clear();
        self.skipped_after = 0;
        self.forgotten.clear();
    }
}
