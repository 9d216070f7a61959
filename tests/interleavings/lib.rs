//! Explores the interleavings of a store's threads.
//!
//! The store's threads run inside the model checker `shuttle`: one at a time, and at each operation
//! on a lock, an atomic, a channel or the disk, a schedule decides which one continues. At any moment
//! the machine may crash, and what is recovered is compared with a model, as in the crash laboratory.
//!
//! - `schedule`: a seed decides which thread continues.
//! - `medium`: the simulated disk, with a decision before each effect of a call.
//! - `plan`: what a writer does with its store, and which call of the disk fails.
//! - `one_store`: a writer, its store's threads, readers, and others that sync.
//! - `readers`: what readers beside the writer see.
//! - `shared_store`: several clients of one shared store.
//! - `server`: several clients of a server, its event loop and its stores.
//! - `block_queue`: the queue from the writer to the checkpoint thread, alone.
//! - [`exploration`]: runs the scenarios of many seeds.
//! - [`planted`]: bugs, and the scenarios that must find them.
//!
//! A seed determines everything, so a failure is repeated by its seed.
#![cfg(feature = "explore")]

mod block_queue;
pub mod exploration;
mod medium;
mod one_store;
mod plan;
pub mod planted;
mod readers;
mod recovered_keys;
mod schedule;
mod server;
mod server_client;
mod shared_store;
