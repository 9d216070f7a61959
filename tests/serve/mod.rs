//! Attacks on `dedupstore serve` and measurements of it, with real processes: `cargo xtask serve`.

pub mod bench;
pub mod checkpoint;
pub mod crowd;
pub mod frames;
pub mod kills;
mod process;
mod wire;

pub use process::{ServerProcess, cpu_seconds, resident_bytes};
pub use wire::Wire;
