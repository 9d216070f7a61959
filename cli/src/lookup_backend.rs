//! A store as the [`SeenKeys`] of `filter --dry-run`: it is only read.

use std::path::{Path, PathBuf};

use dedupstore::filter::{AnyFilter, Registers};
use dedupstore::store::{CreateOptions, Directory, KeyLookup, Parameters, StoreError};
use dedupstore::{KeyHasher, Observation, Verdict};
use dedupstore_view::CreateCommand;

use crate::error::Failure;
use crate::line_filter::{SeenKeys, Status, clock_unix_seconds};
use crate::machine_clock::{TimeSource, unix_seconds};

/// A store whose new keys are remembered in memory only.
pub struct LookupBackend {
    store: KeyLookup<Directory>,
    /// The store's path, for error messages.
    path: PathBuf,
}

impl LookupBackend {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let store = KeyLookup::open(path).map_err(Failure::store(path))?;
        Ok(LookupBackend {
            store,
            path: path.to_owned(),
        })
    }

    /// Moves the clock of a window to the time of the machine, unless lines have their own time.
    pub fn follow(&mut self, time: TimeSource) {
        if time == TimeSource::Machine {
            self.store.advance_clock(unix_seconds());
        }
    }

    /// Returns what was chosen when the store was created.
    pub fn parameters(&self) -> &Parameters {
        self.store.parameters()
    }

    /// Returns the command that creates another store like this one.
    pub fn like_it(&self) -> CreateCommand {
        CreateCommand::like(self.store.parameters(), self.store.max_fpr())
    }

    /// Checks that the store agrees with every option that is set.
    pub fn check_agreement(&self, options: &CreateOptions) -> Result<(), StoreError> {
        self.store.check_agreement(options)
    }
}

impl SeenKeys for LookupBackend {
    const DELIVERS_BEFORE_RECORDING: bool = false;

    fn batch_limit(&self) -> usize {
        256
    }

    fn hasher(&self) -> KeyHasher {
        self.store.hasher()
    }

    fn observe_then<T>(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        deliver: impl FnOnce(&[Verdict], &Registers) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.store
            .observe_unrecorded(observations, verdicts)
            .map_err(Failure::store(&self.path))?;
        deliver(verdicts, self.store.registers())
    }

    fn filter(&self) -> AnyFilter {
        self.store.filter().clone()
    }

    fn status(&mut self) -> Status {
        Status {
            new: self.store.registers().new_count(),
            seen: self.store.registers().seen_count(),
            load: self.store.load(),
            drop_chance: self.store.false_positive_rate(),
            clock: self.store.clock_report(),
            clock_unix_seconds: clock_unix_seconds(self.store.filter(), self.store.registers()),
            ..Status::default()
        }
    }

    /// The metrics get by with what each block publishes.
    fn look(&self) -> impl Fn() -> Option<Status> + Send + 'static {
        || None
    }
}
