//! What `inspect` shows and refuses.

use serde_json::Value;

use crate::run_command::{assert_fails, run};
use crate::store_commands::WorkingDirectory;

fn inspected(directory: &WorkingDirectory, store: &str) -> Value {
    let text = directory.prints(&format!("inspect {store} --json"), "");
    serde_json::from_str(&text).expect("an object")
}

/// Every key was New in each of the merged stores, but it is one key.
#[test]
fn a_store_merged_with_overlapping_ones_predicts_each_key_once() {
    let keys = |range: std::ops::Range<u32>| -> String {
        range
            .map(|key| format!("https://harbour.example/{key}\n"))
            .collect()
    };
    for filter in ["blocked", "bloom", "counting"] {
        let directory = WorkingDirectory::new();
        for (store, keys) in [("a.dds", keys(0..6000)), ("b.dds", keys(3000..9000))] {
            let create = format!("create {store} --memory 64KiB --seed 1 --filter {filter}");
            directory.prints(&create, "");
            directory.prints(&format!("filter {store}"), &keys);
        }
        for (sources, distinct) in [("a.dds a.dds", 6000), ("a.dds b.dds", 9000)] {
            directory.prints(&format!("merge both.dds {sources}"), "");
            let found = inspected(&directory, "both.dds");
            let predicted = found["predicted_distinct"].as_u64().expect("a number");
            let tolerance = distinct / 25;
            assert!(
                predicted.abs_diff(distinct) < tolerance,
                "{filter} {sources}: {predicted}"
            );
            let ratio = |one: &str, other: &str| {
                let rate = |name: &str| found[name].as_f64().expect("a number");
                rate(one) / rate(other)
            };
            let load = ratio("predicted_load", "load");
            assert!((0.98..1.02).contains(&load), "{filter} {sources}: {load}");
            std::fs::remove_dir_all(directory.path("both.dds")).expect("removed");
        }
    }
}

/// It would be taken for a store or a file.
#[test]
fn a_time_after_a_space_is_refused_with_the_right_spelling() {
    for (arguments, spelling) in [
        (&["inspect", "--watch", "5", "a.dds"][..], "--watch=5s "),
        (&["inspect", "a.dds", "--watch", "500ms"], "--watch=500ms "),
        (&["filter", "a.dds", "--wait", "30s"], "--wait=30s "),
        (&["verify", "--wait", "2m", "a.dds"], "--wait=2m "),
    ] {
        assert_fails(arguments, &[spelling, "equals sign"]);
    }
    // A file of that name is a file, and after `--` everything is.
    let directory = WorkingDirectory::new();
    std::fs::write(directory.path("5s"), "a\n").expect("written");
    assert_eq!(
        directory.prints("-q filter a.dds --memory 64KiB --wait 5s", ""),
        "a\n"
    );
    let output = run(&["filter", "--", "--wait", "5s"], b"");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("cannot open --wait"), "{message}");
}
