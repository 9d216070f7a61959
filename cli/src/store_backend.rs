//! A store as the memory of `filter`: lines are delivered first and recorded after.

use dedupstore::store::{OpenOptions, Store, StoreError};
use dedupstore::{KeyHasher, Observation, Verdict};

use crate::error::Failure;
use crate::interruption::Closable;
use crate::sieve::{Remembers, StoreTally, Tally};

/// A batch shares one flush and one append to the log; more than this gains nothing.
const BATCH: usize = 16 << 10;

/// A store that a signal closes.
pub struct Stored {
    store: Closable<Store>,
    hasher: KeyHasher,
    batch_limit: usize,
    /// Whether verdicts were given that could not be delivered.
    undelivered: bool,
    /// What an error is told to be about.
    path: std::path::PathBuf,
}

impl Stored {
    pub fn new(store: Store) -> Self {
        let path = store.medium().path().to_owned();
        let (hasher, batch_limit) = (store.hasher(), store.batch_limit().min(BATCH));
        let place = path.clone();
        let close = move |store: Store| match store.close() {
            Ok(()) => None,
            Err(error) => {
                eprintln!("dedupstore: {}", Failure::store(&place)(error));
                Some(2)
            }
        };
        Stored {
            store: Closable::new(store, close),
            hasher,
            batch_limit,
            undelivered: false,
            path,
        }
    }

    /// Folds the log into the image and ends. A store that stopped at a failure is left as it
    /// is, for the next run to recover.
    pub fn close(self) -> Result<(), Failure> {
        let Some(store) = self.store.take() else {
            return Ok(());
        };
        match self.undelivered {
            false => store.close(),
            // Memory is ahead of the log by what nobody got. Opened again, it is not; and the
            // next run finds nothing to recover.
            true => {
                drop(store);
                Store::open(&self.path, OpenOptions::default()).and_then(Store::close)
            }
        }
        .map_err(Failure::store(&self.path))?;
        match self.store.exit_code() {
            Some(code) => Err(Failure::Signal(code)),
            None => Ok(()),
        }
    }

    fn gone(&self) -> Failure {
        let cause = "it is being closed".to_owned();
        Failure::store(&self.path)(StoreError::Poisoned { cause })
    }
}

impl Remembers for Stored {
    const DELIVERS_FIRST: bool = true;

    fn batch_limit(&self) -> usize {
        self.batch_limit
    }

    fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    fn judge<T>(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        deliver: impl FnOnce(&[Verdict]) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let path = &self.path;
        let failed = |error| Failure::store(path)(error);
        let mut held = self.store.hold();
        if observations.is_empty() {
            return deliver(verdicts);
        }
        let store = held.as_mut().ok_or_else(|| self.gone())?;
        let pending = store
            .observe_pending(observations, verdicts)
            .map_err(failed)?;
        match deliver(pending.verdicts()) {
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

    fn tally(&mut self) -> Tally {
        let held = self.store.hold();
        let audit = held.as_ref().and_then(|store| store.audit());
        match held.as_ref() {
            Some(store) => Tally {
                audited_fpr: audit.as_ref().and_then(|audit| audit.fpr),
                audited_fnr: audit.as_ref().and_then(|audit| audit.fnr),
                new: store.registers().new_count(),
                seen: store.registers().seen_count(),
                load: store.load(),
                drop_chance: store.drop_chance(),
                store: Some(StoreTally {
                    generation: store.generation(),
                    checkpoint_unix_seconds: store.checkpoint_unix_seconds(),
                    durable: store.durable_sequence(),
                    recovered: store.recovery().replayed,
                }),
            },
            None => Tally::default(),
        }
    }
}
