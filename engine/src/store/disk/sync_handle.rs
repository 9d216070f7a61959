//! Waiting for durability without holding the store.

use std::sync::Arc;

use super::handle::Store;
use super::progress::Progress;
use crate::store::error::StoreError;
use crate::store::medium::Medium;

/// Syncs a store that another thread goes on using: syncing needs no access to the filter.
///
/// ```
/// use dedupstore::store::{CreateOptions, Store};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("links.dds");
/// let mut store = Store::create(&path, &CreateOptions::new("bloom:k=4")?.memory("1MiB"))?;
/// store.observe("https://harbour.example/")?;
/// let handle = store.sync_handle()?;
/// std::thread::scope(|scope| {
///     let synced = scope.spawn(|| handle.sync());
///     store.observe("https://harbour.example/quay")?;
///     synced.join().expect("no panic")
/// })?;
/// assert!(store.durable_sequence() >= 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SyncHandle<M: Medium> {
    progress: Arc<Progress<M>>,
}

impl<M: Medium> Store<M> {
    /// Returns a handle that syncs everything observed so far. Waits until the log's file holds it,
    /// and for no sync.
    pub fn sync_handle(&mut self) -> Result<SyncHandle<M>, StoreError> {
        self.appender.drain()?;
        let progress = Arc::clone(&self.progress);
        Ok(SyncHandle { progress })
    }
}

impl<M: Medium> SyncHandle<M> {
    /// Makes everything durable that was observed before the handle was made.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.progress.sync(true)
    }

    /// Returns the sequence number up to which everything is durable.
    pub fn durable_sequence(&self) -> u64 {
        self.progress.durable()
    }
}

impl<M: Medium> std::fmt::Debug for SyncHandle<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SyncHandle")
            .field("durable_sequence", &self.durable_sequence())
            .finish_non_exhaustive()
    }
}
