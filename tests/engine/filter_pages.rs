//! The committed pages of docs/filters match what the generator writes.

use std::collections::BTreeSet;
use std::fs;

use dedupstore_tests::root;
use dedupstore_tools::filter_pages::pages;

#[test]
fn the_filter_pages_are_up_to_date() {
    let directory = root().join("docs/filters");
    let committed: BTreeSet<String> = fs::read_dir(&directory)
        .expect("docs/filters")
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let pages = pages();
    let names: BTreeSet<String> = pages.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(
        committed, names,
        "one page per filter, and the list of them"
    );
    for (name, text) in pages {
        let committed = fs::read_to_string(directory.join(&name)).expect("the page");
        let difference = committed.lines().zip(text.lines()).find(|(a, b)| a != b);
        assert!(
            committed == text,
            "docs/filters/{name} is out of date, first difference {difference:?}: run \
             `cargo xtask filter-pages`"
        );
    }
}
