//! `simulate --tree`.

use std::fs;

use dedupstore_tests::fixture;
use serde_json::Value;

use crate::run_command::{run, standard_error};

fn access_log() -> String {
    fixture("access.log").to_str().expect("UTF-8").to_owned()
}

/// The summaries of trees over the access log: keys are paths, producers are addresses.
fn over_access_log(options: &[&str]) -> Vec<Value> {
    let log = access_log();
    let common = ["simulate", &log, "--field", "7", "--json", "--quiet"];
    let output = run(&[&common, options].concat(), b"");
    assert_eq!(output.status.code(), Some(0), "{}", standard_error(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    let summaries = text.lines().map(serde_json::from_str);
    summaries.map(|it| it.expect("an object")).collect()
}

#[test]
fn a_tree_over_a_log_takes_producers_from_a_field() {
    let trees = [
        "--tree",
        "dense:levels=3,fanout=4",
        "--tree",
        "sparse:levels=3,fanout=4",
    ];
    let by_address = over_access_log(&[&trees[..], &["--producer-field", "1"]].concat());
    let random = over_access_log(&trees);
    for summary in by_address.iter().chain(&random) {
        assert_eq!(summary["count"], 1260);
        assert_eq!(summary["distinct"], 70);
        assert_eq!((&summary["fp"], &summary["fn"]), (&0.into(), &0.into()));
        assert_eq!(summary["differs_from_single"], 0);
        assert_eq!(summary["nodes"], 21);
        let levels = summary["levels"].as_array().expect("levels");
        let sum = |key: &str| levels.iter().filter_map(|it| it[key].as_u64()).sum::<u64>();
        assert_eq!(sum("hits"), 1260 - 70);
        assert_eq!(levels[2]["accesses"].as_u64(), Some(1260 + sum("sets") / 3));
    }
    assert_ne!(by_address[0]["levels"], random[0]["levels"]);
}

#[test]
fn a_table_and_a_page_show_the_levels() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = directory.path().join("trees.html");
    let page = page.to_str().expect("UTF-8");
    let log = access_log();
    let tree = "dense:levels=3,fanout=4";
    let arguments = [
        "simulate",
        &log,
        "--field",
        "7",
        "--producer-field",
        "1",
        "--tree",
        tree,
        "--html",
        page,
    ];
    let output = run(&arguments, b"");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(standard_error(&output), "");
    assert!(
        text.contains("1,260 keys, 70 distinct, 1,190 repeats"),
        "{text}"
    );
    assert!(
        text.contains("dense:levels=3,fanout=4,k=4, 64 KiB per node"),
        "{text}"
    );
    let page = fs::read_to_string(page).expect("written");
    assert!(page.contains("<h2>dense:levels=3,fanout=4,k=4, 64 KiB per node</h2>"));
    assert!(page.contains("<td>1,260</td>"));
}

#[test]
fn options_that_do_not_fit_a_tree_are_refused() {
    let log = access_log();
    for (options, expected) in [
        (&["--tree", "thick"][..], "the trees are: dense, sparse"),
        (&["--tree", "dense:fanuot=4"], "it has: levels, fanout, k"),
        (
            &["--tree", "dense", "--filter", "bloom"],
            "cannot be used with",
        ),
        (
            &["--tree", "dense", "--window", "7d"],
            "cannot be used with",
        ),
        (&["--producer-field", "1"], "--tree <SPEC>"),
        (
            &["--tree", "dense:root-slices=9", "--memory-bits", "8"],
            "9 slices and only 8",
        ),
    ] {
        let output = run(&[&["simulate", &log], options].concat(), b"");
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(message.contains(expected), "{options:?}: {message}");
    }
}

#[test]
fn lines_without_a_producer_are_reported() {
    let simulate = ["simulate", "--tree", "dense"];
    let with_field = [&simulate[..], &["--producer-field", "2"]].concat();
    let output = run(&with_field, b"a x\nb\na y\n");
    assert!(standard_error(&output).contains("1 of 3 lines have no producer in field 2"));
    let output = run(&simulate, b"a x\n");
    assert!(standard_error(&output).contains("each key comes from a random leaf"));
}
