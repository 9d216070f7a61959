//! One seen-set for many machines, on Redis Cluster or Valkey.
//!
//! Several crawlers share one memory of keys on servers that they already run. Nothing is installed
//! there: every request is a plain command of Redis, so any managed Redis or Valkey works, with or
//! without a cluster. The filter is divided into slices ([`dedupstore::sites`]); each slice is one
//! Redis string. The engine's simulation of sites is the specification: verdicts and messages are the
//! same.
//!
//! ```no_run
//! use dedupstore_cluster::{Access, ClusterAddress, ClusterStore};
//!
//! let address: ClusterAddress = "redis://127.0.0.1:7000/links".parse()?;
//! let mut store = ClusterStore::open(&address, Access::of(&address)?)?;
//! let key = store.hasher().fingerprint(b"https://harbour.example/");
//! let mut verdicts = Vec::new();
//! store.observe_batch(&[key], &mut verdicts)?;
//! # Ok::<(), dedupstore_cluster::ClusterError>(())
//! ```

mod address;
mod batch;
mod cell_plan;
mod claims;
mod counters;
mod durability;
mod error;
mod generations;
mod hash_slot;
mod inspection;
mod inspection_json;
mod layout;
mod leaf;
mod node;
mod rebuild;
mod router;
mod server_kind;
mod slices;
mod store;
mod topology;
mod window;

pub use address::{ClusterAddress, Credentials};
pub use claims::Claimed;
pub use counters::Counters;
pub use durability::{Acknowledgement, Degrade};
pub use error::ClusterError;
pub use inspection::{Inspection, SliceReport};
pub use layout::{CreateOptions, Layout, Recording};
pub use leaf::{Leaf, LeafMisses};
pub use node::Access;
pub use rebuild::Rebuild;
pub use router::RouterCounts;
pub use server_kind::ServerKind;
pub use slices::Slices;
pub use store::ClusterStore;
pub use window::Window;
