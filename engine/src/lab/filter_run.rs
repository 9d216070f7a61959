//! A filter in a simulation, and its results.

use super::scoreboard::{Scoreboard, share};
use super::weights::Weights;
use super::window_truth::WindowTruth;
use crate::filter::{Observation, Verdict};
use crate::seen_set::SeenSet;

/// A filter in a simulation, and its results.
#[derive(Debug)]
pub struct FilterRun {
    pub(super) set: SeenSet,
    pub(super) memory_bits: u64,
    pub(super) scoreboard: Scoreboard,
    pub(super) nanoseconds: u64,
    pub(super) window: Option<WindowedRun>,
}

/// What only a run of a filter with a window has.
#[derive(Debug)]
pub(super) struct WindowedRun {
    pub truth: WindowTruth,
    /// First occurrences in the stream that were reported as Seen.
    pub first_seen: u64,
    pub first: u64,
}

impl FilterRun {
    /// The filter and its state.
    pub fn set(&self) -> &SeenSet {
        &self.set
    }

    /// The memory of the filter.
    pub fn memory_bits(&self) -> u64 {
        self.memory_bits
    }

    /// The errors weighted by importance.
    pub fn weights(&self) -> &Weights {
        self.scoreboard.weights()
    }

    /// The time spent in the filter; 0 if the run was not timed.
    pub fn nanoseconds(&self) -> u64 {
        self.nanoseconds
    }

    /// The counts of wrong verdicts.
    pub fn scoreboard(&self) -> &Scoreboard {
        &self.scoreboard
    }

    /// The false positive rate among first occurrences in the stream. It differs from the
    /// [scoreboard](FilterRun::scoreboard)'s only if the filter has a window: then a key that was
    /// wrongly reported as Seen is new at each occurrence until it is delivered, and a key that
    /// was forgotten is new again.
    pub fn fpr_of_first_occurrences(&self) -> Option<f64> {
        match &self.window {
            None => self.scoreboard.fpr(),
            Some(window) => share(window.first_seen, window.first),
        }
    }

    /// Not generic over clocks, so that the loops of every filter are compiled once and the page
    /// loads them once.
    #[inline(never)]
    pub(super) fn observe(&mut self, observations: &[Observation], verdicts: &mut [Verdict]) {
        self.set.observe_batch(observations, verdicts);
    }
}

impl WindowedRun {
    pub fn count(&mut self, first: &[bool], verdicts: &[Verdict]) {
        for (&first, verdict) in first.iter().zip(verdicts) {
            self.first += u64::from(first);
            self.first_seen += u64::from(first & verdict.is_seen());
        }
    }
}
