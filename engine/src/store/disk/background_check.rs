//! Checking the blocks of an image while the store is in use.

use std::sync::Arc;

use super::concurrency::thread::JoinHandle;
use super::progress::Progress;
use super::thread::spawn;
use crate::store::error::StoreError;
use crate::store::format::image::verify_blocks;
use crate::store::format::superblock::Superblock;
use crate::store::medium::Medium;

/// A check of every block that runs while the store is in use. A bad block poisons the store.
///
/// **Invariant:** no checkpoint starts before the check has ended, because a checkpoint would
/// write corrupt blocks with correct checksums.
pub struct BackgroundCheck {
    thread: Option<JoinHandle<Result<(), StoreError>>>,
}

impl BackgroundCheck {
    /// Starts the check of an image; without `threads`, runs it here.
    pub fn start<M: Medium>(
        progress: &Arc<Progress<M>>,
        image: Superblock,
        threads: bool,
    ) -> Result<Self, StoreError> {
        let progress = Arc::clone(progress);
        let check =
            move || verify_blocks(&progress.medium, &image).map_err(|error| progress.poison(error));
        if !threads {
            check()?;
            return Ok(BackgroundCheck { thread: None });
        }
        Ok(BackgroundCheck {
            thread: Some(spawn("check", check)?),
        })
    }

    /// Waits for the check to end and returns what it found.
    pub fn wait(mut self) -> Result<(), StoreError> {
        match self.thread.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(error),
            Some(Err(_)) => Err(StoreError::Poisoned {
                cause: "the background check of the image stopped early".to_owned(),
            }),
        }
    }
}

/// Waits for the thread. It holds the medium and with it the lock: a store that was dropped
/// and is opened again must not be in use.
impl Drop for BackgroundCheck {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
