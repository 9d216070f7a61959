//! An approximate, crash-safe seen-set for crawlers: *has this key occurred before?*
//!
//! A filter answers in bounded memory and is sometimes wrong. It can report a new key as seen
//! (a false positive) or a repeated key as new (a false negative); its parameters decide how
//! often. This crate has the filters of the literature on duplicate detection in streams, a
//! store that keeps their state across crashes and power loss, and a laboratory that measures
//! their error rates.
//!
//! # Quick start
//!
//! In memory:
//!
//! ```
//! use dedupstore::SeenSet;
//!
//! let mut seen = SeenSet::builder("bloom:k=4")?.memory("64MiB").build()?;
//!
//! assert!(seen.observe("https://harbour.example/").is_new());
//! assert!(seen.observe("https://harbour.example/").is_seen());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! On disk:
//!
//! ```no_run
//! use dedupstore::store::{CreateOptions, Store};
//!
//! let options = CreateOptions::new("bloom:k=4")?.memory("1MiB");
//! let mut seen = Store::open_or_create("links.dds", &options)?;
//! if seen.observe("https://harbour.example/")?.is_new() {
//!     // fetch it
//! }
//! seen.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which type do I want?
//!
//! | You want | Use |
//! |---|---|
//! | a set that ends with the process | [`SeenSet`] |
//! | a set that survives crashes and restarts | [`store::Store`] |
//! | the same for many threads at once | [`store::SharedStore`] |
//! | to look up a few keys while another process writes | [`store::KeyLookup`] |
//! | the whole state, to read it while another process writes | [`store::ReadOnlyStore`] |
//! | the algorithm over memory of your own | [`AnyFilter`] with a [`Region`] and [`Registers`] |
//! | to compare filters on a stream, or to measure a filter of your own | [`lab`] |
//! | to choose a filter for your memory and your stream | [`advise`] |
//!
//! The directory `examples` has a crawl loop with claims, many threads on a shared store, a
//! storage medium of one's own, and advice from a sample of a log.
//!
//! # Feature flags
//!
//! None is on by default.
//!
//! | Feature | What it adds |
//! |---|---|
//! | `normalization` | [`lines::Normalization`] can bring URLs into one spelling (with the crate `url`) |
//! | `all-filters` | all filters but `bloom`, `stable`, `rlbsbf`, `blocked` and `word`, and the division of `sqf` among machines (on by default) |
//! | `patterns` | `lines::KeyPattern`: keys by regular expression (with the crate `regex`) |
//! | `mutants` | bugs that the crash tests plant in the store; only for tests of this crate |
//!
//! # Layers
//!
//! A module uses only modules below it:
//!
//! | Modules | What they do |
//! |---|---|
//! | [`advise`] | chooses a filter and its parameters |
//! | [`store`], [`lab`] | makes a state durable; measures filters against exact truth |
//! | [`SeenSet`], [`sites`] | a filter with its memory and hash function; a filter on many machines |
//! | [`audit`], [`theory`] | measures the error rates of a live filter; predicts them |
//! | [`filter`], [`lines`] | the algorithms; keys from lines of text |
//! | [`fingerprint`], [`region`], [`rng`] | hashing, memory, random numbers |
//!
//! Everything except the store's code for disks is pure: it uses no files, no clock, no threads
//! and no global randomness, and it builds for WebAssembly. The same state and the same
//! observations give the same bytes on every target.

// Without all filters, and without vector instructions, some code has no user.
#![cfg_attr(
    any(
        not(feature = "all-filters"),
        not(any(target_arch = "x86_64", target_arch = "aarch64"))
    ),
    allow(dead_code)
)]

pub mod advise;
pub mod audit;
mod byte_size;
mod bytes;
pub mod filter;
pub mod fingerprint;
pub mod lab;
pub mod lines;
mod prefetch;
mod quantity;
pub mod region;
pub mod rng;
mod seen_set;
mod simd;
pub mod sites;
pub mod store;
pub mod theory;
#[cfg(any(test, target_family = "wasm"))]
mod wasm_xxh3;
#[cfg(not(target_family = "wasm"))]
mod workers;

pub use byte_size::{ByteSize, ByteSizeError};
pub use filter::registry;
pub use filter::{
    AnyFilter, BuildError, DEFAULT_FILTER, DEFAULT_MEMORY, FilterSpec, Observation, Registers,
    SpecError, Verdict, state_digest,
};
pub use fingerprint::{Fingerprint, HashScheme, KeyHasher};
pub use quantity::quantity;
pub use region::{Memory, Region};
pub use seen_set::{CreateError, SeenSet, SeenSetBuilder};

/// The README's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
