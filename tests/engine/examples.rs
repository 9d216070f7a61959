//! Runs the examples of the engine.

#[path = "../../engine/examples/advise_from_sample.rs"]
mod advise_from_sample;
#[path = "../../engine/examples/crawler.rs"]
mod crawler;
#[path = "../../engine/examples/custom_medium.rs"]
mod custom_medium;
#[path = "../../engine/examples/shared_store.rs"]
mod shared_store;

use std::fs;

use dedupstore_tests::root;

#[test]
fn the_crawler_runs_and_is_short() {
    crawler::main().expect("it runs");
    let text = fs::read_to_string(root().join("engine/examples/crawler.rs")).expect("a file");
    assert!(text.lines().count() <= 40);
}

#[test]
fn many_threads_share_a_store() {
    shared_store::main().expect("it runs");
}

#[test]
fn a_store_works_on_a_custom_medium() {
    custom_medium::main().expect("it runs");
}

#[test]
fn a_sample_leads_to_advice() {
    advise_from_sample::main().expect("it runs");
}

/// An example that no test includes would not be noticed when it breaks.
#[test]
fn every_example_is_run() {
    let files = fs::read_dir(root().join("engine/examples")).expect("a directory");
    assert_eq!(files.count(), 4);
}
