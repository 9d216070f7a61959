//! What the tests at the top of the repository share.

pub mod campaign_options;
pub mod crash;
#[cfg(unix)]
pub mod serve;
#[cfg(unix)]
pub mod siege;

use std::path::{Path, PathBuf};

/// The top of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// A file kept with the project.
pub fn fixture(name: &str) -> PathBuf {
    root().join("fixtures").join(name)
}
