//! Checking an image after the store has been opened.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::durable::Progress;
use crate::store::error::StoreError;
use crate::store::image::check_blocks;
use crate::store::medium::Medium;
use crate::store::superblock::Superblock;

/// A check of every block that was put off, under way. A bad block poisons the store; no
/// checkpoint may be taken before the check has ended, lest it give rot a good checksum.
pub struct DeferredCheck {
    thread: Option<JoinHandle<Result<(), StoreError>>>,
}

impl DeferredCheck {
    pub fn start<M: Medium>(
        progress: &Arc<Progress<M>>,
        image: Superblock,
        threads: bool,
    ) -> Result<Self, StoreError> {
        let shared = Arc::clone(progress);
        let check = move || {
            let mut first = None;
            let checked = check_blocks(&shared.medium, &image, |damage| {
                first.get_or_insert(damage);
            });
            let found = first.map_or(Ok(()), |damage| Err(StoreError::Corrupt(damage)));
            checked.and(found).map_err(|error| shared.poison(error))
        };
        if !threads {
            check()?;
            return Ok(DeferredCheck { thread: None });
        }
        let thread = std::thread::Builder::new()
            .name("dedupstore check".to_owned())
            .spawn(check)
            .map_err(|error| StoreError::Io {
                operation: "start",
                place: "a thread".to_owned(),
                error,
            })?;
        Ok(DeferredCheck {
            thread: Some(thread),
        })
    }

    /// Waits for the check to end.
    pub fn wait(mut self) -> Result<(), StoreError> {
        match self.thread.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(error),
            Some(Err(_)) => Err(StoreError::Poisoned {
                cause: "the check of the image broke off".to_owned(),
            }),
        }
    }
}

/// The thread holds the medium, and with it the lock: who drops a store and opens it again
/// must not find it in use.
impl Drop for DeferredCheck {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
