//! The time of observations, for stores whose filter has a window.
//!
//! A frame of the log carries one step, so a batch becomes one frame per step. Replay moves the
//! clock to the step of a frame before it applies the frame. The clock thus follows from the log
//! alone.

use super::claims::Claim;
use super::handle::Store;
use crate::filter::{ClockReport, Observation, Verdict, tick_of};
use crate::fingerprint::Fingerprint;
use crate::store::error::StoreError;
use crate::store::medium::Medium;

impl<M: Medium> Store<M> {
    /// Reports whether a key is new at a time, in seconds since 1970, and records it.
    ///
    /// Only filters with a window that is measured in seconds use the time. Their clock never
    /// runs backwards: a key that comes late counts at the present step, so it is remembered
    /// longer and never shorter. A time that is more than a window ahead counts at the present
    /// step, unless it is the first one since the store was opened, is close to the machine's
    /// clock, or agrees with the time before it; see [`clock_report`](Store::clock_report).
    pub fn observe_at(
        &mut self,
        key: impl AsRef<[u8]>,
        seconds: u64,
    ) -> Result<Verdict, StoreError> {
        let fingerprint = self.hasher().fingerprint(key.as_ref());
        self.observe_one(at(fingerprint, seconds))
    }

    /// Reports whether a key would be new at a time, in seconds since 1970. A time before the
    /// present step means the present step. Records nothing.
    pub fn contains_at(&self, key: impl AsRef<[u8]>, seconds: u64) -> Verdict {
        let fingerprint = self.hasher().fingerprint(key.as_ref());
        self.contains_observation(at(fingerprint, seconds))
    }

    /// [Claims](Store::claim) a key at a time, in seconds since 1970. The commit records the key
    /// at this time.
    pub fn claim_at(&mut self, key: impl AsRef<[u8]>, seconds: u64) -> Claim {
        let fingerprint = self.hasher().fingerprint(key.as_ref());
        self.claim_observation(at(fingerprint, seconds))
    }

    /// Moves the clock of the window to a time, in seconds since 1970, that is known to be right:
    /// without confirmation, however far ahead. Takes effect with the next observation.
    /// [`observe`](Store::observe) does this with the time of the machine.
    pub fn advance_clock(&mut self, seconds: u64) {
        self.time.advance(tick_of(seconds));
    }

    /// Returns how the times of observations were handled since the store was opened.
    pub fn clock_report(&self) -> ClockReport {
        self.time.report()
    }

    /// Returns an observation at the machine's time, if the filter needs a time.
    pub(super) fn observation_now(&mut self, fingerprint: Fingerprint) -> Observation {
        self.follow_machine_clock();
        fingerprint.into()
    }

    /// Moves the clock of the window to the machine's time, if the filter needs a time.
    pub(super) fn follow_machine_clock(&mut self) {
        if self.time.is_needed() {
            let now = self.medium().unix_seconds();
            self.time.advance(tick_of(now));
        }
    }

    /// Decides about a key at its time. Records nothing.
    pub(super) fn contains_observation(&self, observation: Observation) -> Verdict {
        if !self.time.is_needed() {
            return self.contains_fingerprint(observation.fingerprint);
        }
        let mut registers = self.registers.clone();
        registers.advance_clock(self.time.step_of(observation.tick));
        self.filter
            .contains(self.live.bytes(), &registers, observation.fingerprint)
    }
}

fn at(fingerprint: Fingerprint, seconds: u64) -> Observation {
    Observation {
        fingerprint,
        tick: tick_of(seconds),
        importance: 0,
    }
}
