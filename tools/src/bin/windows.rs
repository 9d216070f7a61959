//! Writes docs/WINDOWS.md: `cargo xtask windows`.

use std::fs;

use dedupstore_tools::root;
use dedupstore_tools::windows::{cells, document};

fn main() {
    let path = root().join("docs/WINDOWS.md");
    fs::write(&path, document(&cells())).expect("docs/WINDOWS.md can be written");
    println!("{}", path.display());
}
