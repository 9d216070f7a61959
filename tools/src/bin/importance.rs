//! Writes docs/IMPORTANCE.md: `cargo xtask importance`.

use std::fs;

use dedupstore_tools::importance::{cells, document};
use dedupstore_tools::importance_speed::{section_in, with_section};
use dedupstore_tools::root;

fn main() {
    let path = root().join("docs/IMPORTANCE.md");
    let before = fs::read_to_string(&path).expect("docs/IMPORTANCE.md can be read");
    let text = with_section(&document(&cells()), section_in(&before));
    fs::write(&path, text).expect("docs/IMPORTANCE.md can be written");
    println!("{}", path.display());
}
