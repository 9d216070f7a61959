//! What [`concurrency`](crate::concurrency) provides, for the model checker `shuttle`.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};

use dedupstore::store::{CreateOptions, OpenOptions, StoreError};
pub use shuttle::sync::mpsc::{Receiver, Sender, channel};
pub use shuttle::thread::{Builder, JoinHandle};
pub use std::sync::mpsc::RecvTimeoutError;

use super::disk::{self, NamedDisk};
pub use super::events::{Events, Poll, Waker};
pub use super::network::{Listener, Socket};

/// A store on a simulated disk.
pub type Store = dedupstore::store::Store<NamedDisk>;

/// Creates a store on the disk of this name.
pub fn create_store(
    options: &OpenOptions,
    path: &Path,
    create: &CreateOptions,
) -> Result<Store, StoreError> {
    options.create_on(disk::named(path)?, create)
}

/// Opens the store on the disk of this name.
pub fn open_store(options: &OpenOptions, path: &Path) -> Result<Store, StoreError> {
    options.open_on(disk::named(path)?)
}

/// Closes a store. Its disk stays.
pub fn delete_store(store: Store) -> Result<(), StoreError> {
    drop(store);
    Ok(())
}

/// Receives a message that is there. Otherwise lets other threads run, and the time is over:
/// `shuttle` has no clock.
pub fn receive_within<T>(receiver: &Receiver<T>, _time: Duration) -> Result<T, RecvTimeoutError> {
    receiver.try_recv().map_err(|error| match error {
        TryRecvError::Empty => {
            shuttle::thread::yield_now();
            RecvTimeoutError::Timeout
        }
        TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
    })
}

/// Returns always the same time, so that a schedule can be repeated.
pub fn now() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}
