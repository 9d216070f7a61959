//! Filters whose state survives kill -9, power loss and restarts.
//!
//! A store is a directory of six files: `lock`, two images of the region, two logs of
//! observations, and a mark that says how many observations are durable. The files have their
//! final size from creation on. `docs/FORMAT.md` describes every byte, the order of writes, and
//! what each crash leaves behind.
//!
//! **Guarantees.** After a crash, opening the store recovers exactly the state after some
//! prefix of the observations. That prefix contains every observation that was acknowledged as
//! durable. Corruption is detected and reported. After a failed write or sync, the handle is
//! poisoned: every call fails until the store is opened again.
//!
//! ```
//! use dedupstore::store::{CreateOptions, Store};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("links.dds");
//! let options = CreateOptions::new("bloom:k=4")?.memory("1MiB");
//! let mut store = Store::create(&path, &options)?;
//! assert!(store.observe("https://harbour.example/")?.is_new());
//! store.close()?;
//!
//! let mut store = Store::open(&path)?;
//! assert!(store.observe("https://harbour.example/")?.is_seen());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The format, recovery and inspection are pure functions over a [`Medium`], so that a browser
//! creates and reads the same stores. Code that needs a disk or threads is not part of a
//! WebAssembly build.
// WebAssembly builds do not write logs and checkpoints, but share the code of the format.
#![cfg_attr(target_family = "wasm", allow(dead_code, unused_imports))]

// The store on any medium: pure code, like the rest of the engine.
mod create;
mod error;
mod file_access;
pub mod format;
mod in_memory;
mod inspect;
mod inspection;
mod key_lookup;
mod lazy_region;
mod lock;
mod log;
mod log_extent;
mod medium;
#[cfg(feature = "mutants")]
#[doc(hidden)]
pub mod mutant;
#[cfg(not(feature = "mutants"))]
mod mutant;
mod names;
mod newest_image;
mod remedy;
mod repair_error;
mod replay;
mod snapshot;
mod verify;
mod window_inspection;
mod zero_extended;

// The store on a disk: not part of a WebAssembly build.
#[cfg(not(target_family = "wasm"))]
mod disk;

pub use create::{CreateOption, CreateOptions, FilePart, InitialFiles};
pub use error::{Damage, NotAStoreReason, Place, StoreError};
pub use format::checksum::StoreId;
pub use format::layout::Layout;
pub use format::superblock::Parameters;
pub use in_memory::InMemory;
pub use inspect::{inspect_exactly_on, inspect_on};
pub use inspection::{GrowthInspection, Inspection};
pub use key_lookup::KeyLookup;
pub use medium::{LogWindow, Medium, StoreFile};
#[doc(hidden)]
pub use names::{LOCK, check_names};
pub use remedy::Remedy;
pub use repair_error::{Loss, RepairError};
pub use replay::TornTail;
pub use verify::{Finding, Severity, verify_on};
pub use window_inspection::{Leaving, WindowInspection};

/// Parts of a store that the model checker also runs alone.
#[cfg(all(feature = "interleavings", not(target_family = "wasm")))]
#[doc(hidden)]
pub mod explored {
    pub use super::disk::{BlockQueue, Copies};
}

#[cfg(not(target_family = "wasm"))]
pub use disk::{
    Backing, BackupReport, Claim, Directory, Durability, GrowReport, Leftover, MergeError,
    MergeReport, OpenOptions, Pending, ReadOnlyStore, RecoveryReport, RepairReport, SharedStore,
    Store, SyncHandle, Ticket, backup, grow, holds_store, inspect, inspect_exactly, leftovers,
    merge, remove_unfinished, repair, shard_of, verify,
};
