//! Verdicts first, the record after: for those who must deliver in between.

use super::appending::Appending;
use super::handle::Store;
use crate::audit::Trace;
use crate::filter::{Observation, Verdict};
use crate::store::error::StoreError;
use crate::store::layout::LOG_START;
use crate::store::log::LogWriter;
use crate::store::medium::Medium;
use crate::store::superblock::LogPosition;

impl<M: Medium> Store<M> {
    /// Decides about many keys without recording them yet: they are recorded by
    /// [`Pending::commit`], once whatever hangs on the verdicts is done. Until then a crash
    /// forgets them. At most [`batch_limit`](Store::batch_limit) at a time.
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
        self.make_room(observations.len())?;
        let trace = self.trace();
        self.apply(observations, verdicts);
        Ok(Pending {
            store: self,
            observations,
            verdicts,
            trace,
            settled: false,
        })
    }

    /// How many observations [`observe_pending`](Store::observe_pending) takes at the most.
    pub fn batch_limit(&self) -> usize {
        let empty = LogWriter::new(
            self.active.store_id,
            &self.active.layout,
            LogPosition {
                epoch: 0,
                offset: LOG_START,
                chain: 0,
                sequence: 0,
            },
            0,
        );
        empty.room(self.frame_kind())
    }
}

/// Verdicts given and not recorded; see [`Store::observe_pending`]. Dropping it leaves
/// memory ahead of the log: the store then refuses to go on, and opening it again brings
/// back what was recorded.
#[must_use = "what is not committed is forgotten"]
pub struct Pending<'a, M: Medium> {
    store: &'a mut Store<M>,
    observations: &'a [Observation],
    verdicts: &'a [Verdict],
    trace: Trace,
    settled: bool,
}

impl<M: Medium> Pending<'_, M> {
    /// What was decided.
    pub fn verdicts(&self) -> &[Verdict] {
        self.verdicts
    }

    /// Records the observations: on return they are in the log, and a kill of the process
    /// does not undo that.
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.settled = true;
        let payload = self
            .store
            .payload(self.observations, self.verdicts, self.trace);
        self.store.append(payload, Appending::put_now)?;
        self.store.after_append()
    }
}

impl<M: Medium> Drop for Pending<'_, M> {
    fn drop(&mut self) {
        if !self.settled && !self.observations.is_empty() {
            self.store.progress.poison(StoreError::Poisoned {
                cause: "verdicts were given up before they were recorded".to_owned(),
            });
        }
    }
}
