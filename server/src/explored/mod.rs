//! A server inside a model checker: its threads, and simulated sockets and disks.
//!
//! [`provide`] gives the server a disk, [`connect`] gives a client a connection. Both are named by
//! paths, as real ones are. They belong to a thread of the operating system, on which the model
//! checker runs all threads of a schedule.

pub(crate) mod concurrency;
mod disk;
mod events;
mod network;

pub use disk::provide;
pub use network::{ClientSocket, connect};

/// Forgets all disks and listeners, before another schedule.
pub fn reset() {
    disk::reset();
    network::reset();
}
