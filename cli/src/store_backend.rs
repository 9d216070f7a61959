//! A store as the [`SeenKeys`] of `filter`: lines are delivered first and recorded after.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dedupstore::filter::{AnyFilter, Registers};
use dedupstore::store::{Store, StoreError};
use dedupstore::{KeyHasher, Observation, Verdict};

use crate::error::Failure;
use crate::line_filter::{SeenKeys, Status, StoreStatus, clock_unix_seconds};
use crate::machine_clock::{TimeSource, unix_seconds};
use crate::metrics::Metrics;
use crate::signals::{CloseOnSignal, OnSignal, arrived};
use crate::standard_error;

/// A batch shares one flush and one append to the log; larger batches gain nothing.
const BATCH_LIMIT: usize = 16 << 10;

/// A store that is closed on SIGINT and SIGTERM.
pub struct StoreBackend {
    store: CloseOnSignal<OpenStore>,
    hasher: KeyHasher,
    filter: AnyFilter,
    batch_limit: usize,
    /// Whether the clock of a window follows that of the machine.
    follows_machine: bool,
    /// The store's path, for error messages.
    path: PathBuf,
}

struct OpenStore {
    store: Store,
    path: PathBuf,
    /// Whether a batch could not be delivered. Memory then holds verdicts that must not be
    /// recorded.
    undelivered: bool,
    /// Written for the last time after the store is closed.
    metrics: Option<Arc<Metrics>>,
}

impl StoreBackend {
    pub fn new(store: Store, time: TimeSource) -> Self {
        let path = store.medium().path().to_owned();
        let (hasher, batch_limit) = (store.hasher(), store.batch_limit().min(BATCH_LIMIT));
        let filter = store.filter().clone();
        StoreBackend {
            store: CloseOnSignal::new(OpenStore {
                store,
                path: path.clone(),
                undelivered: false,
                metrics: None,
            }),
            hasher,
            follows_machine: filter.needs().tick && time == TimeSource::Machine,
            filter,
            batch_limit,
            path,
        }
    }

    /// Takes a checkpoint and closes the store. A store that failed is not changed; the next
    /// run recovers it.
    pub fn close(self) -> Result<(), Failure> {
        if let Some(store) = self.store.take() {
            store.close_and_report()?;
        }
        match arrived() {
            Some(code) => Err(Failure::Signal(code)),
            None => Ok(()),
        }
    }

    fn closed(&self) -> Failure {
        let cause = "it is being closed".to_owned();
        Failure::store(&self.path)(StoreError::Poisoned { cause })
    }
}

impl OpenStore {
    /// Closes the store, then writes the metrics for the last time.
    fn close_and_report(self) -> Result<(), Failure> {
        let metrics = self.metrics.clone();
        let path = self.path.clone();
        let closed = self.close_store();
        if let Some(metrics) = metrics {
            metrics.finish(closed.as_ref().ok().copied());
        }
        closed.map(|_| ()).map_err(Failure::store(&path))
    }

    /// Closes the store; returns the status of the closed store.
    fn close_store(self) -> Result<Status, StoreError> {
        let mut store = match self.undelivered {
            false => self.store,
            // Opening again discards the undelivered verdicts. The checkpoint then leaves nothing
            // to recover for the next run.
            true => {
                drop(self.store);
                Store::open(&self.path)?
            }
        };
        store.settle()?;
        Ok(status_of(&store))
    }
}

impl OnSignal for OpenStore {
    fn checkpoint(&mut self) {
        if let Err(error) = self.store.checkpoint() {
            // The next batch fails, too, and ends the run.
            standard_error::failure(&Failure::store(&self.path)(error));
        }
    }

    fn close(self) -> Option<u8> {
        let failure = self.close_and_report().err()?;
        standard_error::failure(&failure);
        Some(2)
    }
}

impl SeenKeys for StoreBackend {
    const DELIVERS_BEFORE_RECORDING: bool = true;

    fn batch_limit(&self) -> usize {
        self.batch_limit
    }

    fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    fn observe_then<T>(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        deliver: impl FnOnce(&[Verdict], &Registers) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let path: &Path = &self.path;
        let failed = |error| Failure::store(path)(error);
        let mut guard = self.store.lock();
        let open = guard.as_mut().ok_or_else(|| self.closed())?;
        if observations.is_empty() {
            return deliver(verdicts, open.store.registers());
        }
        if self.follows_machine {
            open.store.advance_clock(unix_seconds());
        }
        let pending = open
            .store
            .observe_pending(observations, verdicts)
            .map_err(failed)?;
        match deliver(pending.verdicts(), pending.store().registers()) {
            Ok(delivered) => {
                pending.commit().map_err(failed)?;
                Ok(delivered)
            }
            Err(error) => {
                drop(pending);
                // Before the lock is released: the signal thread may be the one that closes.
                open.undelivered = true;
                Err(error)
            }
        }
    }

    fn filter(&self) -> AnyFilter {
        self.filter.clone()
    }

    fn status(&mut self) -> Status {
        let guard = self.store.lock();
        guard
            .as_ref()
            .map_or_else(Status::default, |open| status_of(&open.store))
    }

    fn look(&self) -> impl Fn() -> Option<Status> + Send + 'static {
        self.store.look(|open| status_of(&open.store))
    }

    fn finish_metrics_at_close(&mut self, metrics: &Arc<Metrics>) -> bool {
        if let Some(open) = self.store.lock().as_mut() {
            open.metrics = Some(Arc::clone(metrics));
        }
        true
    }
}

fn status_of(store: &Store) -> Status {
    let audit = store.audit();
    Status {
        audited_fpr: audit.as_ref().and_then(|audit| audit.fpr),
        audited_fnr: audit.as_ref().and_then(|audit| audit.fnr),
        new: store.registers().new_count(),
        seen: store.registers().seen_count(),
        load: store.load(),
        drop_chance: store.false_positive_rate(),
        clock: store.clock_report(),
        clock_unix_seconds: clock_unix_seconds(store.filter(), store.registers()),
        store: Some(StoreStatus {
            generation: store.generation(),
            checkpoint_unix_seconds: store.checkpoint_unix_seconds(),
            durable: store.durable_sequence(),
            recovered: store.recovery().replayed,
        }),
    }
}
