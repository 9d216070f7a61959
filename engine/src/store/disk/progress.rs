//! How far the log is appended and durable.

use std::sync::atomic::Ordering;
use std::sync::{OnceLock, PoisonError};
use std::time::Duration;

use super::concurrency::{AtomicU64, Condvar, Mutex, MutexGuard, lock, wait_at_most_while};
use crate::store::error::StoreError;
use crate::store::file_access::FileAccess;
use crate::store::format::checksum::StoreId;
use crate::store::format::mark::Mark;
use crate::store::medium::{Medium, StoreFile};
use crate::store::mutant::{Mutant, planted};

/// The state that the writer and the threads share: how far the log is appended and durable,
/// and whether the store is poisoned.
pub struct Progress<M> {
    pub medium: M,
    store_id: StoreId,
    /// The number of observations in the log's file. Counted without a lock, once per frame.
    appended: AtomicU64,
    shared: Mutex<Shared>,
    changed: Condvar,
    durable: AtomicU64,
    /// Locked during a sync of a log, so that marks are written in order and a failed sync is noticed.
    mark: Mutex<Mark>,
    failure: OnceLock<String>,
}

#[derive(Clone, Copy, Debug)]
struct Shared {
    /// The epochs of the oldest log with unsynced frames and of the current log.
    epochs: (u64, u64),
    stopping: bool,
}

impl<M: Medium> Progress<M> {
    /// Starts with a log that ends at `sequence` in `epoch` and is durable.
    pub fn new(medium: M, store_id: StoreId, mark: Mark, sequence: u64, epoch: u64) -> Self {
        Progress {
            medium,
            store_id,
            appended: AtomicU64::new(sequence),
            shared: Mutex::new(Shared {
                epochs: (epoch, epoch),
                stopping: false,
            }),
            changed: Condvar::new(),
            durable: AtomicU64::new(sequence),
            mark: Mutex::new(mark),
            failure: OnceLock::new(),
        }
    }

    /// Returns the number of durable observations.
    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Fails if the store is poisoned.
    pub fn check(&self) -> Result<(), StoreError> {
        match self.failure.get() {
            None => Ok(()),
            Some(cause) => Err(match self.medium.deleted_file() {
                // Opening again would recover nothing.
                Some(file) => StoreError::Deleted { file },
                None => StoreError::Poisoned {
                    cause: cause.clone(),
                },
            }),
        }
    }

    /// Poisons the store: from now on every call fails, because memory and disk may differ.
    /// Returns the error.
    pub fn poison(&self, error: StoreError) -> StoreError {
        if planted(Mutant::NotPoisoned) {
            return error;
        }
        let _ = self.failure.set(error.to_string());
        let _guard = lock(&self.shared);
        if !planted(Mutant::NoWakeAfterFailure) {
            self.changed.notify_all();
        }
        error
    }

    /// Returns the number of observations in the log's file.
    pub fn appended(&self) -> u64 {
        // Acquire: a sync after this covers the frames and knows their logs.
        self.appended.load(Ordering::Acquire)
    }

    /// Records that the log is written up to here.
    #[inline]
    pub fn note_appended(&self, sequence: u64) {
        self.appended.store(sequence, Ordering::Release);
    }

    /// Records that the next frame is in the log of this epoch.
    pub fn note_switched(&self, epoch: u64) {
        lock(&self.shared).epochs.1 = epoch;
    }

    /// Syncs what has been appended and writes the mark. With `sync_mark`, syncs the mark too:
    /// a lost mark matters only if a crash and corruption coincide. Fails if a file was deleted:
    /// a sync of a deleted file succeeds, and yet nothing survives.
    pub fn sync(&self, sync_mark: bool) -> Result<(), StoreError> {
        if planted(Mutant::CheckedBeforeLock) {
            self.check()?;
        }
        let mut mark = self.lock_syncing()?;
        if let Some(file) = self.medium.deleted_file() {
            return Err(self.poison(StoreError::Deleted { file }));
        }
        // In this order: frames up to the sequence number are in logs that the epochs include.
        let early = planted(Mutant::EpochsBeforeSequence).then(|| lock(&self.shared).epochs);
        let sequence = self.appended();
        let epochs = early.unwrap_or_else(|| lock(&self.shared).epochs);
        let result = self.sync_up_to(&mut mark, sequence, epochs, sync_mark);
        result.map_err(|error| self.poison(error))
    }

    /// Syncs both logs, for a checkpoint.
    pub fn sync_logs(&self) -> Result<(), StoreError> {
        let _guard = match planted(Mutant::CheckpointSyncsAlone) {
            true => None,
            false => Some(self.lock_syncing()?),
        };
        for log in [StoreFile::Log0, StoreFile::Log1] {
            let synced = self.medium.sync_file(log);
            synced.map_err(|error| self.poison(error))?;
        }
        Ok(())
    }

    /// Waits for any other sync of a log. Fails if the store is poisoned by then: the operating
    /// system drops what it could not write and reports that once, to one of two threads that sync
    /// the same file. To the other one it would report success.
    fn lock_syncing(&self) -> Result<MutexGuard<'_, Mark>, StoreError> {
        let mark = lock(&self.mark);
        if !planted(Mutant::CheckedBeforeLock) {
            self.check()?;
        }
        Ok(mark)
    }

    fn sync_up_to(
        &self,
        mark: &mut Mark,
        sequence: u64,
        (oldest, current): (u64, u64),
        sync_mark: bool,
    ) -> Result<(), StoreError> {
        if planted(Mutant::AcknowledgedBeforeSync) {
            self.durable.fetch_max(sequence, Ordering::AcqRel);
        }
        if planted(Mutant::MarkBeforeSync) && sequence > mark.sequence {
            mark.advance(&self.medium, &self.store_id, sequence)?;
        }
        for epoch in oldest..=current {
            let older = epoch < current;
            if planted(Mutant::NoSyncOfLog) || (older && planted(Mutant::NoSyncOfOlderLog)) {
                continue;
            }
            let file = StoreFile::log(epoch);
            self.medium.sync_file(file)?;
        }
        if sequence > mark.sequence && !planted(Mutant::MarkNotMoved) {
            mark.advance(&self.medium, &self.store_id, sequence)?;
        }
        if sync_mark {
            self.medium.sync_file(StoreFile::Mark)?;
        }
        let mut shared = lock(&self.shared);
        shared.epochs.0 = shared.epochs.0.max(current);
        self.durable.fetch_max(sequence, Ordering::AcqRel);
        if !planted(Mutant::NoWakeAfterSync) {
            self.changed.notify_all();
        }
        Ok(())
    }

    /// Waits until `sequence` observations are durable.
    pub fn wait(&self, sequence: u64) -> Result<(), StoreError> {
        let mut shared = lock(&self.shared);
        while self.durable() < sequence {
            self.check()?;
            shared = self
                .changed
                .wait(shared)
                .unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Ends [`sync_until_stopped`](Progress::sync_until_stopped).
    pub fn stop(&self) {
        lock(&self.shared).stopping = true;
        self.changed.notify_all();
    }

    /// Syncs at an interval until stopped or poisoned: the body of the sync thread.
    pub fn sync_until_stopped(&self, interval: Duration) {
        loop {
            let guard = lock(&self.shared);
            let shared =
                wait_at_most_while(&self.changed, &self.shared, guard, interval, |shared| {
                    !shared.stopping
                });
            let stopping = shared.stopping;
            drop(shared);
            if stopping || self.failure.get().is_some() {
                return;
            }
            if self.appended() > self.durable() {
                // A failure poisons the store, so the next call reports it.
                let _ = self.sync(true);
            }
        }
    }
}
