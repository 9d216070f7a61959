//! The threads, channels, sockets, stores and times of a server.
//!
//! They are those of the standard library and of mio. With the feature `interleavings` they are those
//! of a model checker, as in `store/disk/concurrency.rs` of the engine: then a server works only
//! inside it, with simulated sockets and disks.

#[cfg(feature = "interleavings")]
pub use crate::explored::concurrency::*;
#[cfg(not(feature = "interleavings"))]
pub use standard::*;

#[cfg(not(feature = "interleavings"))]
mod standard {
    use std::path::Path;
    pub use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    pub use std::thread::{Builder, JoinHandle};
    use std::time::{Duration, Instant};

    use dedupstore::store::{CreateOptions, OpenOptions, StoreError};
    pub use mio::{Events, Poll, Waker};

    pub use crate::listener::Listener;
    pub use crate::socket::Socket;

    /// A store on a disk.
    pub type Store = dedupstore::store::Store;

    /// Creates a store.
    pub fn create_store(
        options: &OpenOptions,
        path: &Path,
        create: &CreateOptions,
    ) -> Result<Store, StoreError> {
        options.create(path, create)
    }

    /// Opens a store.
    pub fn open_store(options: &OpenOptions, path: &Path) -> Result<Store, StoreError> {
        options.open(path)
    }

    /// Closes a store and deletes its files.
    pub fn delete_store(store: Store) -> Result<(), StoreError> {
        store.delete()
    }

    /// Waits for a message, and at most for a time.
    pub fn receive_within<T>(
        receiver: &Receiver<T>,
        time: Duration,
    ) -> Result<T, RecvTimeoutError> {
        receiver.recv_timeout(time)
    }

    /// Returns the current time.
    pub fn now() -> Instant {
        Instant::now()
    }
}
