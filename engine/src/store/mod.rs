//! A state that survives kill -9, power loss and restarts.
//!
//! A store is a directory of six files: `lock`, two images of the region, two logs of
//! observations, and a mark of what is durable. They have their final size from the moment
//! of creation. `docs/FORMAT.md` describes every byte, the order of writes, and what each
//! crash leaves behind.
//!
//! **What is promised.** After any crash, opening the store gives the state after some
//! prefix of the observations that were appended, exactly; and that prefix holds at least
//! every observation that was acknowledged as durable. Damage to a file is noticed, not
//! taken for a state. After a failed write or sync the handle refuses to go on.
//!
//! ```
//! use dedupstore::store::{CreateOptions, OpenOptions, Store};
//! use dedupstore::Verdict;
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("links.dds");
//! let options = CreateOptions::new("bloom:k=4".parse()?, 8 * 64 * 1024);
//! let mut store = Store::create(&path, &options, OpenOptions::default())?;
//! assert_eq!(store.observe(b"https://harbour.example/")?, Verdict::New);
//! store.close()?;
//!
//! let mut store = Store::open(&path, OpenOptions::default())?;
//! assert_eq!(store.observe(b"https://harbour.example/")?, Verdict::Seen);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The format, recovery and inspection are pure functions over a [`Medium`], so that a
//! browser makes and reads the same stores; what needs a disk or a thread is not in a
//! WebAssembly build.
// Who writes logs and checkpoints is native, but the format is one.
#![cfg_attr(target_family = "wasm", allow(dead_code))]

// What a store is, over any medium: pure, like the rest of the engine.
mod beginning;
mod checksum;
mod create;
mod error;
mod examination;
mod explanation;
mod finding;
pub mod format;
mod frame;
mod image;
mod in_memory;
mod inspect;
mod layout;
mod log;
mod mark;
mod medium;
pub mod mutant;
mod names;
mod origin;
mod padded;
mod plant;
mod replay;
mod report;
mod snapshot;
mod superblock;

// What lives on a disk is no part of a WebAssembly build.
#[cfg(not(target_family = "wasm"))]
mod disk;
#[cfg(not(target_family = "wasm"))]
mod live;

pub use beginning::{Beginning, Part};
pub use checksum::StoreId;
pub use create::CreateOptions;
pub use error::{Damage, Loss, StoreError};
pub use examination::verify;
pub use explanation::named;
pub use finding::{Finding, Severity};
pub use in_memory::InMemory;
pub use inspect::{Inspection, inspect_on};
pub use layout::Layout;
pub use medium::{Medium, StoreFile};
pub use names::{LOCK, check_names};
pub use replay::TornTail;
pub use superblock::Parameters;

#[cfg(not(target_family = "wasm"))]
pub use disk::{
    Backing, BackupReport, Claim, Directory, Durability, MergeError, MergeReport, OpenOptions,
    Pending, ReadOnlyStore, RecoveryReport, RepairReport, SharedStore, Store, Ticket, backup,
    inspect, merge, repair,
};
