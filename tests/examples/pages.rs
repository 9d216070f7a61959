//! Writes docs/filters: `cargo run --release -p dedupstore-tests --example pages`.

use std::fs;

use dedupstore_tests::pages::pages;
use dedupstore_tests::root;

fn main() {
    let place = root().join("docs/filters");
    fs::create_dir_all(&place).expect("a place");
    for (name, text) in pages() {
        fs::write(place.join(&name), text).expect("written");
        println!("docs/filters/{name}");
    }
}
