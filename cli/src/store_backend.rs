//! A store as the [`SeenKeys`] of `filter`: lines are delivered first and recorded after.

use dedupstore::filter::Registers;
use dedupstore::store::{Store, StoreError};
use dedupstore::{KeyHasher, Observation, Verdict};

use crate::drop_guard::FilterState;
use crate::error::Failure;
use crate::line_filter::{SeenKeys, Status, StoreStatus};
use crate::signals::CloseOnSignal;

/// A batch shares one flush and one append to the log; larger batches gain nothing.
const BATCH_LIMIT: usize = 16 << 10;

/// A store that is closed on SIGINT and SIGTERM.
pub struct StoreBackend {
    store: CloseOnSignal<Store>,
    hasher: KeyHasher,
    cells: u64,
    batch_limit: usize,
    /// Whether a batch could not be delivered.
    undelivered: bool,
    /// The store's path, for error messages.
    path: std::path::PathBuf,
}

impl StoreBackend {
    pub fn new(store: Store) -> Self {
        let path = store.medium().path().to_owned();
        let (hasher, batch_limit) = (store.hasher(), store.batch_limit().min(BATCH_LIMIT));
        let cells = store.filter().cells();
        let store_path = path.clone();
        let close = move |store: Store| match store.close() {
            Ok(()) => None,
            Err(error) => {
                eprintln!("dedupstore: {}", Failure::store(&store_path)(error));
                Some(2)
            }
        };
        StoreBackend {
            store: CloseOnSignal::new(store, close),
            hasher,
            cells,
            batch_limit,
            undelivered: false,
            path,
        }
    }

    /// Takes a checkpoint and closes the store. A store that failed is not changed; the next
    /// run recovers it.
    pub fn close(self) -> Result<(), Failure> {
        let Some(store) = self.store.take() else {
            return Ok(());
        };
        match self.undelivered {
            false => store.close(),
            // Memory holds undelivered verdicts; reopening discards them. The checkpoint then
            // leaves nothing to recover for the next run.
            true => {
                drop(store);
                Store::open(&self.path).and_then(Store::close)
            }
        }
        .map_err(Failure::store(&self.path))?;
        match self.store.exit_code() {
            Some(code) => Err(Failure::Signal(code)),
            None => Ok(()),
        }
    }

    fn closed(&self) -> Failure {
        let cause = "it is being closed".to_owned();
        Failure::store(&self.path)(StoreError::Poisoned { cause })
    }
}

fn state_of(store: &Store) -> FilterState<'_> {
    FilterState {
        filter: store.filter(),
        registers: store.registers(),
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
        deliver: impl FnOnce(&[Verdict], FilterState<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let path = &self.path;
        let failed = |error| Failure::store(path)(error);
        let mut guard = self.store.lock();
        let store = guard.as_mut().ok_or_else(|| self.closed())?;
        if observations.is_empty() {
            return deliver(verdicts, state_of(store));
        }
        let pending = store
            .observe_pending(observations, verdicts)
            .map_err(failed)?;
        match deliver(pending.verdicts(), state_of(pending.store())) {
            Ok(delivered) => {
                pending.commit().map_err(failed)?;
                Ok(delivered)
            }
            Err(error) => {
                self.undelivered = true;
                Err(error)
            }
        }
    }

    fn cells(&self) -> u64 {
        self.cells
    }

    fn status(&mut self) -> Status {
        let guard = self.store.lock();
        let audit = guard.as_ref().and_then(|store| store.audit());
        match guard.as_ref() {
            Some(store) => Status {
                audited_fpr: audit.as_ref().and_then(|audit| audit.fpr),
                audited_fnr: audit.as_ref().and_then(|audit| audit.fnr),
                new: store.registers().new_count(),
                seen: store.registers().seen_count(),
                load: store.load(),
                drop_chance: store.false_positive_rate(),
                store: Some(StoreStatus {
                    generation: store.generation(),
                    checkpoint_unix_seconds: store.checkpoint_unix_seconds(),
                    durable: store.durable_sequence(),
                    recovered: store.recovery().replayed,
                }),
            },
            None => Status::default(),
        }
    }

    fn status_at(&mut self, registers: &Registers) -> Status {
        let status = self.status();
        match self.store.lock().as_ref() {
            Some(store) => status.at(store.filter(), registers),
            None => status,
        }
    }
}
