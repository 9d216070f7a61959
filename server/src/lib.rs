//! Serves stores of dedupstore over the Redis protocol.
//!
//! One thread, the event loop, reads and writes all sockets, parses requests and hashes
//! keys. Each store has a thread of its own, its one writer. The event loop gathers
//! the keys of all clients into one batch per store; while the store works on it, the next one grows.
//!
//! **Guarantee.** A reply means that the keys are in the store's log, and survive the end of the
//! process. With `Durability::Every`, and after WAITAOF, they survive a power loss.

mod batch;
mod claims;
mod client;
mod client_stream;
mod command;
mod concurrency;
mod connection;
mod counters;
mod describe;
mod event_loop;
#[cfg(feature = "interleavings")]
pub mod explored;
mod inspector;
#[cfg(not(feature = "interleavings"))]
mod listener;
#[cfg(feature = "mutants")]
pub mod mutant;
#[cfg(not(feature = "mutants"))]
mod mutant;
mod password;
pub mod resp;
mod server;
pub mod server_address;
mod session;
mod settings;
#[cfg(not(feature = "interleavings"))]
mod socket;
mod store_name;
mod store_thread;
mod stores;
mod tls;

pub use client::{Client, ClientError, HashedTicket};
pub use counters::Counters;
pub use resp::request::RequestLimits;
pub use server::{Handle, Server, StartError, Summary};
pub use server_address::{AddressError, ServerAddress};
pub use settings::{EventLog, Limits, NewStore, Reserve, Settings};
pub use store_name::name_of;
pub use store_thread::StoreSettings;
pub use tls::{TlsError, server_tls};
