//! The store on a disk and its one writer: files, memory maps, locks and threads.

mod accessors;
mod background_check;
mod backup;
mod block_queue;
mod checkpoint;
mod checkpoint_thread;
mod checkpointing;
mod claimed_keys;
mod claims;
mod concurrency;
mod create;
mod directory;
mod durability;
#[cfg(feature = "interleavings")]
mod explored;
mod file_access_at;
mod forgetting;
mod grow;
mod handle;
mod leftovers;
mod live_region;
mod loading;
mod log_tail;
mod log_thread;
#[cfg(target_os = "linux")]
mod log_window;
mod merge;
mod new_directory;
mod observation_time;
mod open_options;
mod path_context;
mod pending;
mod progress;
mod quarantine;
mod read_only;
mod recovery;
mod repair;
mod shared;
mod sync_handle;
mod sync_thread;
mod thread;
mod unfinished;
mod writer_lock;

pub use backup::{BackupReport, backup};
#[cfg(feature = "interleavings")]
pub use block_queue::{BlockQueue, Copies};
pub use claims::{Claim, Ticket};
pub use directory::{Directory, holds_store};
pub use durability::Durability;
pub use grow::{GrowReport, grow};
pub use handle::Store;
pub use leftovers::{Leftover, leftovers};
pub use loading::Backing;
pub use merge::{MergeError, MergeReport, merge};
pub use open_options::OpenOptions;
pub use pending::Pending;
pub use read_only::{ReadOnlyStore, inspect, inspect_exactly, verify};
pub use recovery::RecoveryReport;
pub use repair::{RepairReport, repair};
pub use shared::{SharedStore, shard_of};
pub use sync_handle::SyncHandle;
pub use unfinished::remove_unfinished;
