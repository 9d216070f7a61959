//! Explores the interleavings of a store's threads.
//!
//! The store's threads run inside the model checker `shuttle`: one at a time, and at each operation
//! on a lock, an atomic, a channel or the disk, a schedule decides which one continues. At any moment
//! the machine may crash, and what is recovered is compared with a model, as in the crash laboratory.
//!
//! - [`schedule`]: a seed decides which thread continues.
//! - [`medium`]: the simulated disk, with a decision before each effect of a call.
//! - [`one_store`]: a writer, its store's threads, readers, and others that sync.
//! - [`readers`]: what readers beside the writer see.
//! - [`shared_store`]: several clients of one shared store.
//! - [`exploration`]: runs the scenarios of many seeds.
//!
//! A seed determines everything, so a failure is repeated by its seed.
#![cfg(feature = "explore")]

pub mod exploration;
pub mod medium;
pub mod one_store;
pub mod readers;
pub mod schedule;
pub mod shared_store;
