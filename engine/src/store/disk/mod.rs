//! A store on a disk and its one writer: files, maps, locks, and threads that write.

mod appending;
mod backup;
mod checkpoint;
mod claims;
mod directory;
mod durable;
mod handle;
mod handover;
mod keep;
mod loading;
mod making;
mod merge;
mod pending;
mod read_only;
mod recovery;
mod repair;
mod shared;
mod verification;
mod view;
mod vital_signs;
mod worker;

pub use backup::{BackupReport, backup};
pub use claims::{Claim, Ticket};
pub use directory::Directory;
pub use durable::Durability;
pub use handle::{OpenOptions, Store};
pub use loading::Backing;
pub(super) use loading::{THREADS_FROM_BYTES, fill_by_threads};
pub use merge::{MergeError, MergeReport, merge};
pub use pending::Pending;
pub use read_only::{ReadOnlyStore, inspect};
pub use recovery::RecoveryReport;
pub use repair::{RepairReport, repair};
pub use shared::SharedStore;
