//! How far the log is durable, and the thread that pushes it on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::store::checksum::StoreId;
use crate::store::error::StoreError;
use crate::store::mark::Mark;
use crate::store::medium::{Medium, StoreFile};
use crate::store::mutant::{Mutant, planted};

/// When what was observed becomes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before every call returns.
    Every,
    /// At this interval, by a thread.
    Interval(Duration),
    /// When the operating system likes, and at checkpoints.
    None,
}

impl Default for Durability {
    fn default() -> Self {
        Durability::Interval(Duration::from_secs(1))
    }
}

/// What the writer, the syncing thread and those who wait share.
pub struct Progress<M> {
    pub medium: M,
    store_id: StoreId,
    appended: Mutex<Appended>,
    changed: Condvar,
    durable: AtomicU64,
    /// Held during a sync, so that marks are written in order.
    mark: Mutex<Mark>,
    failure: OnceLock<String>,
}

#[derive(Clone, Copy, Debug)]
struct Appended {
    sequence: u64,
    /// The oldest log with frames that were never synced, and the current one.
    epochs: (u64, u64),
    stopping: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M: Medium> Progress<M> {
    /// Of a store whose log ends at `sequence` in `epoch`, all of it durable.
    pub fn new(medium: M, store_id: StoreId, mark: Mark, sequence: u64, epoch: u64) -> Self {
        Progress {
            medium,
            store_id,
            appended: Mutex::new(Appended {
                sequence,
                epochs: (epoch, epoch),
                stopping: false,
            }),
            changed: Condvar::new(),
            durable: AtomicU64::new(sequence),
            mark: Mutex::new(mark),
            failure: OnceLock::new(),
        }
    }

    /// Observations that are durable.
    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// An error if anything has failed before.
    pub fn check(&self) -> Result<(), StoreError> {
        match self.failure.get() {
            None => Ok(()),
            Some(cause) => Err(StoreError::Poisoned {
                cause: cause.clone(),
            }),
        }
    }

    /// From now on every call fails: memory and disk may differ.
    pub fn poison(&self, error: StoreError) -> StoreError {
        if planted(Mutant::NotPoisoned) {
            return error;
        }
        let _ = self.failure.set(error.to_string());
        let _guard = locked(&self.appended);
        self.changed.notify_all();
        error
    }

    /// Observations that are in the log's file.
    #[cfg(test)]
    pub fn appended(&self) -> u64 {
        locked(&self.appended).sequence
    }

    /// The log has been written up to here.
    pub fn note_appended(&self, sequence: u64, epoch: u64) {
        let mut appended = locked(&self.appended);
        appended.sequence = sequence;
        appended.epochs.1 = epoch;
    }

    /// Syncs what has been appended and moves the mark. The mark itself is synced too if
    /// `sync_mark`; it only matters when a crash and rot come together.
    pub fn sync(&self, sync_mark: bool) -> Result<(), StoreError> {
        self.check()?;
        let mut mark = locked(&self.mark);
        let Appended {
            sequence, epochs, ..
        } = *locked(&self.appended);
        let result = self.sync_up_to(&mut mark, sequence, epochs, sync_mark);
        result.map_err(|error| self.poison(error))
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
            self.medium
                .sync(file)
                .map_err(|error| StoreError::on_file("sync", file, error))?;
        }
        if sequence > mark.sequence && !planted(Mutant::MarkNotMoved) {
            mark.advance(&self.medium, &self.store_id, sequence)?;
        }
        if sync_mark {
            self.medium
                .sync(StoreFile::Mark)
                .map_err(|error| StoreError::on_file("sync", StoreFile::Mark, error))?;
        }
        let mut appended = locked(&self.appended);
        appended.epochs.0 = appended.epochs.0.max(current);
        self.durable.fetch_max(sequence, Ordering::AcqRel);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits until an observation is durable.
    pub fn wait(&self, sequence: u64) -> Result<(), StoreError> {
        let mut appended = locked(&self.appended);
        while self.durable() < sequence {
            self.check()?;
            appended = self
                .changed
                .wait(appended)
                .unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    fn has_unsynced(&self, appended: &Appended) -> bool {
        appended.sequence > self.durable()
    }

    fn run(&self, interval: Duration) {
        loop {
            let appended = locked(&self.appended);
            let waited = self
                .changed
                .wait_timeout_while(appended, interval, |appended| !appended.stopping);
            let (appended, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let (stopping, unsynced) = (appended.stopping, self.has_unsynced(&appended));
            drop(appended);
            if stopping || self.failure.get().is_some() {
                return;
            }
            if unsynced {
                // A failure is told to whoever calls next.
                let _ = self.sync(true);
            }
        }
    }
}

/// A thread that syncs at an interval until it is dropped.
pub struct SyncThread<M: Medium> {
    progress: Arc<Progress<M>>,
    thread: Option<JoinHandle<()>>,
}

impl<M: Medium> SyncThread<M> {
    pub fn start(progress: &Arc<Progress<M>>, interval: Duration) -> Result<Self, StoreError> {
        let shared = Arc::clone(progress);
        let thread = std::thread::Builder::new()
            .name("dedupstore sync".to_owned())
            .spawn(move || shared.run(interval))
            .map_err(|error| StoreError::Io {
                operation: "start",
                place: "a thread".to_owned(),
                error,
            })?;
        Ok(SyncThread {
            progress: Arc::clone(progress),
            thread: Some(thread),
        })
    }
}

impl<M: Medium> Drop for SyncThread<M> {
    fn drop(&mut self) {
        locked(&self.progress.appended).stopping = true;
        self.progress.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
