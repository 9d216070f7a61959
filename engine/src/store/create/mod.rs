//! Creating a store: its options and the initial contents of its files.

mod agreement;
mod from_snapshot;
mod initial_files;
mod options;

pub use agreement::CreateOption;
#[cfg(not(target_family = "wasm"))]
pub(in crate::store) use agreement::agree;
pub use from_snapshot::create_from_snapshot;
pub use initial_files::{FilePart, InitialFiles};
pub use options::CreateOptions;
