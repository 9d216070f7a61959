//! Writes docs/filters: `cargo xtask filter-pages`.

use std::fs;

use dedupstore_tools::filter_pages::pages;
use dedupstore_tools::root;

fn main() {
    let directory = root().join("docs/filters");
    fs::create_dir_all(&directory).expect("docs/filters can be created");
    for (name, text) in pages() {
        fs::write(directory.join(&name), text).expect("docs/filters can be written");
        println!("docs/filters/{name}");
    }
}
