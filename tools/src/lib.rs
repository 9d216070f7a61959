//! Programs that measure the filters and write docs/TRADEOFFS.md, docs/WINDOWS.md,
//! docs/IMPORTANCE.md and docs/filters, or print the table of docs/GROWTH.md, and the library that
//! they share with the tests.

pub mod filling;
pub mod filter_pages;
pub mod golden;
pub mod growth;
pub mod importance;
pub mod importance_speed;
pub mod tradeoff;
pub mod windows;

use std::path::{Path, PathBuf};

/// The root directory of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
