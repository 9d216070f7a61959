//! Starting the store's threads.

use super::concurrency::thread::{Builder, JoinHandle};
use crate::store::error::StoreError;

/// Starts a thread whose name is "dedupstore" and its task.
pub fn spawn<T: Send + 'static>(
    task: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, StoreError> {
    Builder::new()
        .name(format!("dedupstore {task}"))
        .spawn(body)
        .map_err(StoreError::Thread)
}
