//! The memory of a long crawl: *have I met this key before?*
//!
//! A filter answers that question in bounded memory and is sometimes wrong; how
//! often, and in which direction, is what its parameters decide. This crate holds
//! the filters as pure algorithms over bytes, a store that makes their state survive,
//! and a laboratory that measures them against exact truth.
//!
//! ```
//! use dedupstore::{FilterSpec, SeenSet, Verdict};
//!
//! let spec: FilterSpec = "bloom:k=4".parse()?;
//! let mut seen = SeenSet::in_memory(&spec, 8 * 1024 * 1024, 0)?;
//!
//! assert_eq!(seen.observe(b"https://harbour.example/"), Verdict::New);
//! assert_eq!(seen.observe(b"https://harbour.example/"), Verdict::Seen);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layers
//!
//! [`store`], [`advise`] → [`lab`] → [`theory`] → [`filter`] → [`bytes`], [`fingerprint`], [`rng`]. An arrow never points
//! up. Everything but the store's disk, which is not part of a WebAssembly build, is pure: no
//! files, no clock, no threads, no global randomness. The same state and the same observations
//! give the same bytes on every target.

pub mod advise;
pub mod audit;
pub mod bytes;
pub mod figures;
pub mod filter;
pub mod fingerprint;
pub mod lab;
pub mod lines;
#[cfg(any(test, target_family = "wasm"))]
mod narrow_xxh3;
mod prefetch;
pub mod region;
pub mod rng;
mod seen_set;
pub mod store;
pub mod theory;

pub use filter::registry;
pub use filter::{
    AnyFilter, BuildError, FilterSpec, Observation, Registers, SpecError, Verdict, state_digest,
};
pub use fingerprint::{Fingerprint, HashScheme, KeyHasher};
pub use region::{Memory, Region};
pub use seen_set::{CreateError, SeenSet};

/// The README's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
