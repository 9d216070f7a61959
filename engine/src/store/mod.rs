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

mod backup;
mod checkpoint;
mod checksum;
mod claims;
mod create;
mod directory;
mod durable;
mod error;
mod examination;
mod finding;
pub mod format;
mod frame;
mod handle;
mod handover;
mod image;
mod inspect;
mod keep;
mod layout;
mod live;
mod log;
mod mark;
mod medium;
mod merge;
pub mod mutant;
mod padded;
mod pending;
mod plant;
mod read_only;
mod recovery;
mod repair;
mod replay;
mod shared;
mod snapshot;
mod superblock;
mod verification;
mod view;
mod vital_signs;
mod worker;

pub use backup::{BackupReport, backup};
pub use checksum::StoreId;
pub use claims::{Claim, Ticket};
pub use create::CreateOptions;
pub use directory::Directory;
pub use durable::Durability;
pub use error::{Damage, StoreError};
pub use examination::verify;
pub use finding::{Finding, Severity};
pub use handle::{OpenOptions, Store};
pub use image::Backing;
pub use inspect::{Inspection, inspect, inspect_on};
pub use layout::Layout;
pub use medium::{Medium, StoreFile};
pub use merge::{MergeError, MergeReport, merge};
pub use pending::Pending;
pub use read_only::ReadOnlyStore;
pub use recovery::RecoveryReport;
pub use repair::{Loss, RepairReport, repair};
pub use replay::TornTail;
pub use shared::SharedStore;
pub use superblock::Parameters;
