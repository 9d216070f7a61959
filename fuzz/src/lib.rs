//! Hostile bytes for everything that parses: stores, filters, keys, times, URLs, protocols.
//!
//! A [`Target`] is a plain function over bytes. It panics if the code under test panics or
//! disagrees with a second implementation. The same functions run in three ways:
//!
//! - in the tests, from a kept corpus with a fixed seed;
//! - by `cargo xtask fuzz`, on stable Rust, guided by the coverage that the compiler's
//!   SanitizerCoverage pass records;
//! - by `cargo fuzz`, where it and nightly Rust are installed.
//!
//! Each execution must stay within a limit of memory and of processor time that is proportional to
//! the input.

mod allocation;
mod campaign;
pub mod corpus;
#[cfg(feature = "coverage")]
mod coverage;
mod execution;
mod mutation;
mod target;
pub mod targets;

pub use campaign::{Campaign, Report};
pub use execution::{Failure, Measured, execute, record_panics};
pub use mutation::Mutator;
pub use target::Target;
pub use targets::TARGETS;
