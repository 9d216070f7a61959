//! `simulate --slices`: a Bloom filter on many sites.

use std::process::Output;

use dedupstore_tests::fixture;
use serde_json::Value;

use crate::run_command::{run, standard_error};

fn simulate(arguments: &str, more: &[&str]) -> Output {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    run(&[&["simulate"], &arguments[..], more].concat(), b"")
}

fn text_of(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", standard_error(output));
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn rows(arguments: &str) -> Vec<Value> {
    let text = text_of(&simulate(arguments, &["--json"]));
    let parse = |line| serde_json::from_str(line).expect("an object");
    text.lines().map(parse).collect()
}

const STREAM: &str = "--stream shuffle:20 --count 20k --memory-bits 33940";

#[test]
fn slices_print_their_errors_messages_and_load() {
    let found = rows(&format!(
        "{STREAM} --slices horizontal:40 --slices vertical:40 --slices diced:8x5 \
         --slices diced:8x5,order=v-h --slices general:40,k1=2"
    ));
    let names: Vec<&str> = found
        .iter()
        .filter_map(|it| it["slices"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "horizontal:40",
            "vertical:40",
            "diced:8x5",
            "diced:8x5,order=v-h",
            "general:40,k1=2"
        ]
    );
    for row in &found {
        for key in [
            "filter",
            "memory_bits",
            "stream",
            "distinct",
            "repeats",
            "fpr",
            "fnr",
            "fpr_n",
            "fnr_n",
            "load",
            "predicted_fpr",
            "predicted_fnr",
            "messages_test",
            "messages_set",
            "messages_claim",
            "unanswered",
            "bits",
            "fairness",
            "hottest",
        ] {
            assert!(row[key].is_number() || row[key].is_string(), "{key}: {row}");
        }
        assert_eq!(
            (&row["schema"], &row["sites"], &row["fn"]),
            (&1.into(), &40.into(), &0.into())
        );
        assert_eq!(row["count"], 20_000);
    }
    assert_eq!(found[0]["messages_test"], 1.0);
    let tests = |row: &Value| row["messages_test"].as_f64().expect("a number");
    // Four bits on 40, 5 and 8 sites, and two slices of 40.
    for (row, expected) in [(1, 3.853), (2, 2.952), (3, 3.311), (4, 1.975)] {
        assert!(
            (tests(&found[row]) - expected).abs() < 0.03,
            "{}",
            found[row]
        );
    }
}

#[test]
fn failed_sites_are_judged_by_each_rule() {
    let found = rows(&format!(
        "{STREAM} --slices vertical:40 --failed 8 --rule seen --rule new --rule live-zero:x=0 \
         --rule live-zero:x=4 --rule x-of-k:x=2 --rule unknown"
    ));
    let [seen, new, zero, all, printed, unknown] = &found[..] else {
        panic!("six rules");
    };
    let errors = |row: &Value| (row["fp"].as_u64(), row["fn"].as_u64());
    assert_eq!(errors(seen), errors(zero));
    assert_eq!(errors(new), errors(all));
    assert_eq!(seen["fn"], 0);
    assert!(printed["fp"].as_u64() > seen["fp"].as_u64().map(|it| 5 * it));
    assert_eq!(unknown["fn"], 0);
    assert!(unknown["unknown"].as_u64() > Some(1000), "{unknown}");
    assert_eq!(seen["unknown"], 0);
    let table = text_of(&simulate(
        &format!("{STREAM} --slices vertical:40 --failed 8 --rule unknown"),
        &[],
    ));
    for word in [
        "8 sites failed",
        "rule",
        "unknown",
        "tests/key",
        "fairness",
        "hottest",
    ] {
        assert!(table.contains(word), "{word}: {table}");
    }
}

#[test]
fn a_log_is_simulated_on_sites_and_drawn() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = directory.path().join("report.html");
    let log = fixture("crawl.log");
    let (log, page_name) = (log.to_str().expect("text"), page.to_str().expect("text"));
    let options = ["--html", page_name, "--csv"];
    let csv = text_of(&simulate(
        &format!(
            "{log} --memory 4KiB --slices vertical:10 --slices horizontal:10 --testing pipelined --primitive claim"
        ),
        &options,
    ));
    assert_eq!(csv.lines().count(), 3);
    assert!(
        csv.lines()
            .next()
            .is_some_and(|it| it.contains("messages_test,messages_set"))
    );
    let page = std::fs::read_to_string(page).expect("a page");
    for word in [
        "bloom:k=4 vertical:10",
        "bloom:k=4 horizontal:10",
        "messages_test",
    ] {
        assert!(page.contains(word), "{word}");
    }
}

#[test]
fn impossible_slices_are_refused() {
    for (arguments, expected) in [
        ("--slices vertical", "for example vertical:40 or diced:8x5"),
        (
            "--slices vertical:4 --failed 5",
            "vertical:4 has only 4 sites",
        ),
        (
            "--slices vertical:4 --filter stable",
            "use for example --filter bloom:k=4",
        ),
        (
            "--slices vertical:4 --filter bloom:layout=partitioned",
            "whose bits are shared",
        ),
        ("--slices general:5,k1=3", "k1 must divide k = 4"),
        (
            "--slices vertical:4 --rule live-zero:x=5",
            "x must be 0 to 4",
        ),
        ("--slices vertical:4 --rule x", "the rules are: seen, new"),
        ("--slices vertical:99999", "there must be 1 to 33940"),
        ("--failed 5", "--slices"),
        ("--slices vertical:4 --window 7d", "--window"),
    ] {
        let output = simulate(&format!("{STREAM} {arguments}"), &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        let message = standard_error(&output);
        assert!(message.contains(expected), "{arguments}: {message}");
    }
}
