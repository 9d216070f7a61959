//! The pages of docs/filters are what the registry and the laboratory say now.

use std::collections::BTreeSet;
use std::fs;

use dedupstore_tests::pages::pages;
use dedupstore_tests::root;

#[test]
fn the_filters_pages_are_up_to_date() {
    let place = root().join("docs/filters");
    let kept: BTreeSet<String> = fs::read_dir(&place)
        .expect("docs/filters")
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let pages = pages();
    let names: BTreeSet<String> = pages.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(kept, names, "a page a filter, and the list of them");
    for (name, text) in pages {
        let kept = fs::read_to_string(place.join(&name)).expect("there");
        let difference = kept.lines().zip(text.lines()).find(|(a, b)| a != b);
        assert!(
            kept == text,
            "docs/filters/{name} is out of date, first in {difference:?}: run \
             `cargo run --release -p dedupstore-tests --example pages`"
        );
    }
}
