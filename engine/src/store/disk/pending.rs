//! Verdicts before the record, for callers that must deliver results in between.

use std::fmt;

use super::handle::Store;
use super::log_thread::LogAppender;
use crate::audit::LogPolicy;
use crate::filter::{Observation, Run, Verdict};
use crate::store::error::StoreError;
use crate::store::medium::Medium;

impl<M: Medium> Store<M> {
    /// Decides about many keys without recording them yet. Call [`Pending::commit`] to record
    /// them, after delivering what depends on the verdicts; a crash before that forgets them.
    /// Takes at most [`batch_limit`](Store::batch_limit) observations.
    ///
    /// # Panics
    /// If the two slices differ in length, or are longer than the limit.
    pub fn observe_pending<'a>(
        &'a mut self,
        observations: &'a [Observation],
        verdicts: &'a mut [Verdict],
    ) -> Result<Pending<'a, M>, StoreError> {
        assert_eq!(observations.len(), verdicts.len());
        assert!(observations.len() <= self.batch_limit());
        let runs = self.runs(observations);
        self.make_room(observations.len() + FRAME_COST * runs.len().saturating_sub(1))?;
        let log_policy = self.log_policy();
        let mut from = 0;
        for run in &runs {
            let range = from..run.end;
            self.apply(run.step, &observations[range.clone()], &mut verdicts[range]);
            from = run.end;
        }
        Ok(Pending {
            store: self,
            observations,
            verdicts,
            runs,
            log_policy,
            committed: false,
        })
    }

    /// Returns how many observations [`observe_pending`](Store::observe_pending) takes at most.
    pub fn batch_limit(&self) -> usize {
        match self.time.is_needed() {
            // In the worst case, every observation is in a frame of its own.
            true => (self.log.batch_limit() / (1 + FRAME_COST)).max(1),
            false => self.log.batch_limit(),
        }
    }
}

/// The length of a frame without its fingerprints is at most that of so many fingerprints.
const FRAME_COST: usize = 8;

/// Verdicts that are not recorded yet; see [`Store::observe_pending`].
///
/// Dropping it without a [commit](Pending::commit) poisons the store: memory holds verdicts
/// that the log does not. Opening the store again recovers what was recorded.
#[must_use = "observations are recorded only by `commit`"]
pub struct Pending<'a, M: Medium> {
    store: &'a mut Store<M>,
    observations: &'a [Observation],
    verdicts: &'a [Verdict],
    /// Each becomes a frame.
    runs: Vec<Run>,
    log_policy: LogPolicy,
    committed: bool,
}

impl<M: Medium> Pending<'_, M> {
    /// Returns the verdicts, in the order of the observations.
    pub fn verdicts(&self) -> &[Verdict] {
        self.verdicts
    }

    /// Returns the store as it will be after the [commit](Pending::commit), so that a caller can
    /// look at its load and error rates before deciding.
    pub fn store(&self) -> &Store<M> {
        self.store
    }

    /// Records the observations. On return they are in the log, so that killing the process
    /// does not undo them.
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.committed = true;
        let encoding = self.store.log.encoding();
        let mut from = 0;
        for run in &self.runs {
            let (observed, verdicts) = (
                &self.observations[from..run.end],
                &self.verdicts[from..run.end],
            );
            let payload = encoding.payload(run.step, observed, verdicts, self.log_policy);
            self.store.append(payload, LogAppender::put_now)?;
            from = run.end;
        }
        self.store.time.reuse(std::mem::take(&mut self.runs));
        self.store.after_append()
    }
}

impl<M: Medium> fmt::Debug for Pending<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("observations", &self.observations.len())
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl<M: Medium> Drop for Pending<'_, M> {
    fn drop(&mut self) {
        if !self.committed && !self.observations.is_empty() {
            self.store.progress.poison(StoreError::Poisoned {
                cause: "verdicts were dropped without being recorded".to_owned(),
            });
        }
    }
}
