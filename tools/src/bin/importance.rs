//! Writes docs/IMPORTANCE.md: `cargo xtask importance`.

use std::fs;

use dedupstore_tools::importance::{cells, document};
use dedupstore_tools::root;

fn main() {
    let path = root().join("docs/IMPORTANCE.md");
    fs::write(&path, document(&cells())).expect("docs/IMPORTANCE.md can be written");
    println!("{}", path.display());
}
