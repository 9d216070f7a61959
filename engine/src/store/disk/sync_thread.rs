//! The thread that syncs the log at an interval.

use std::sync::Arc;
use std::time::Duration;

use super::concurrency::thread::JoinHandle;
use super::progress::Progress;
use super::thread::spawn;
use crate::store::error::StoreError;
use crate::store::medium::Medium;

/// A thread that syncs the log at an interval until this is dropped.
pub struct SyncThread<M: Medium> {
    progress: Arc<Progress<M>>,
    thread: Option<JoinHandle<()>>,
}

impl<M: Medium> SyncThread<M> {
    pub fn start(progress: &Arc<Progress<M>>, interval: Duration) -> Result<Self, StoreError> {
        let shared = Arc::clone(progress);
        let thread = spawn("sync", move || shared.sync_until_stopped(interval))?;
        Ok(SyncThread {
            progress: Arc::clone(progress),
            thread: Some(thread),
        })
    }
}

impl<M: Medium> Drop for SyncThread<M> {
    fn drop(&mut self) {
        self.progress.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
