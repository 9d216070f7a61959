//! Measures how long filters that use importance take, and writes that into docs/IMPORTANCE.md:
//! `cargo xtask importance-speed DATE AND MACHINE`.

use std::fs;

use dedupstore_tools::importance_speed::{FULL, measure, section, with_section};
use dedupstore_tools::root;

fn main() {
    let machine = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let section = section(&measure(&FULL), &FULL, &machine);
    print!("{section}");
    let path = root().join("docs/IMPORTANCE.md");
    let document = fs::read_to_string(&path).expect("docs/IMPORTANCE.md can be read");
    fs::write(&path, with_section(&document, &section)).expect("docs/IMPORTANCE.md can be written");
}
