//! A set in memory as the [`SeenKeys`] of `filter`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use dedupstore::filter::{AnyFilter, Registers};
use dedupstore::{KeyHasher, Observation, SeenSet, Verdict};

use crate::error::Failure;
use crate::line_filter::{SeenKeys, Status, clock_unix_seconds};
use crate::machine_clock::{TimeSource, unix_seconds};

/// A set that ends with the process, so nothing is lost if keys are recorded before their lines
/// are delivered. It is locked once per batch, so that the metrics can look at it.
pub struct MemoryBackend {
    set: Arc<Mutex<SeenSet>>,
    time: TimeSource,
}

impl MemoryBackend {
    pub fn new(set: SeenSet, time: TimeSource) -> Self {
        MemoryBackend {
            set: Arc::new(Mutex::new(set)),
            time,
        }
    }

    fn lock(&self) -> MutexGuard<'_, SeenSet> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeenKeys for MemoryBackend {
    const DELIVERS_BEFORE_RECORDING: bool = false;

    /// Large enough to hide memory latency, small enough for the first-level cache.
    fn batch_limit(&self) -> usize {
        256
    }

    fn hasher(&self) -> KeyHasher {
        self.lock().hasher()
    }

    fn observe_then<T>(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        deliver: impl FnOnce(&[Verdict], &Registers) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut set = self.lock();
        if set.filter().needs().tick {
            match self.time {
                TimeSource::Machine => set.advance_clock(unix_seconds()),
                TimeSource::Lines => set.set_machine_time(unix_seconds()),
            }
        }
        set.observe_batch(observations, verdicts);
        deliver(verdicts, set.registers())
    }

    fn filter(&self) -> AnyFilter {
        self.lock().filter().clone()
    }

    fn status(&mut self) -> Status {
        status_of(&self.lock())
    }

    fn look(&self) -> impl Fn() -> Option<Status> + Send + 'static {
        let set = Arc::clone(&self.set);
        move || match set.try_lock() {
            Ok(set) => Some(status_of(&set)),
            Err(TryLockError::Poisoned(set)) => Some(status_of(&set.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

fn status_of(set: &SeenSet) -> Status {
    let audit = set.audit();
    Status {
        audited_fpr: audit.as_ref().and_then(|audit| audit.fpr),
        audited_fnr: audit.as_ref().and_then(|audit| audit.fnr),
        new: set.registers().new_count(),
        seen: set.registers().seen_count(),
        load: set.load(),
        drop_chance: set.false_positive_rate(),
        clock: set.clock_report(),
        clock_unix_seconds: clock_unix_seconds(set.filter(), set.registers()),
        store: None,
    }
}
