//! `advise`, and `create` with a log.

use std::fs;
use std::process::Command;

use dedupstore_tests::fixture;
use serde_json::Value;
use tempfile::TempDir;

use crate::DEDUPSTORE;
use crate::run_command::{assert_fails, run, standard_error};

fn log() -> String {
    fixture("crawl.log").display().to_string()
}

#[track_caller]
fn text(arguments: &[&str]) -> String {
    let output = run(arguments, b"");
    assert_eq!(output.status.code(), Some(0), "{}", standard_error(&output));
    String::from_utf8(output.stdout).expect("text")
}

#[track_caller]
fn object(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(arguments)).expect("an object")
}

#[test]
fn advise_says_which_rates_decide() {
    let of = |by: &[&'static str]| -> Vec<&'static str> {
        let asked = ["advise", "--expect", "1M", "--memory", "2000000"];
        [&asked[..], by].concat()
    };
    let mean = text(&of(&[]));
    assert!(
        mean.contains("Ranked by the means over the stream; --by end"),
        "{mean}"
    );
    assert!(
        mean.contains("At its end the false positive rate is"),
        "{mean}"
    );
    let end = text(&of(&["--by", "end"]));
    assert!(
        end.contains("Expected at the end of the stream, with all keys"),
        "{end}"
    );
    assert!(end.starts_with("Choose quotient:bits=13"), "{end}");
    let json = object(&of(&["--by", "end", "--json"]));
    assert_eq!(json["rates_by"], "end");
    assert_eq!(json["choice"]["end_fpr"], json["fpr"]);
    assert_eq!(object(&of(&["--json"]))["rates_by"], "mean");
}

#[test]
fn create_for_a_log_leaves_room_for_four_times_its_keys() {
    let directory = TempDir::new().expect("a directory");
    let store = |name: &str| directory.path().join(name).display().to_string();
    let log = log();
    let bits = |name: &str| object(&["inspect", &store(name), "--json"])["memory_bits"].as_u64();

    let created = text(&["create", &store("a.dds"), "--for", &log]);
    assert!(
        created.contains("with 8,576 distinct keys in it"),
        "{created}"
    );
    assert!(
        created.contains("room for 4 times the 2,144 distinct keys of the log"),
        "{created}"
    );
    text(&["create", &store("b.dds"), "--expect", "8576"]);
    assert_eq!(bits("a.dds"), bits("b.dds"));

    let created = text(&["create", &store("c.dds"), "--for", &log, "--expect", "1M"]);
    assert!(created.contains("1,000,000 distinct keys"), "{created}");
    assert!(!created.contains("room for"), "{created}");
    text(&["create", &store("d.dds"), "--expect", "1M"]);
    assert_eq!(bits("c.dds"), bits("d.dds"));

    let created = text(&["create", &store("e.dds"), "--for", &log, "--fpr", "10%"]);
    assert!(bits("e.dds") < bits("a.dds"), "{created}");
    let memory = ["--memory", "4KiB"];
    let created = text(&[&["create", &store("f.dds"), "--for", &log], &memory[..]].concat());
    assert!(created.contains("for 8,576 distinct keys"), "{created}");
    assert_eq!(bits("f.dds"), Some(8 * 4096));
    let sampled = ["create", &store("g.dds"), "--for", &log, "--expect", "100k"];
    let created = text(&[&sampled[..], &memory[..], &["--prefer", "no-repeats"]].concat());
    assert!(created.contains("for 100,000 distinct keys"), "{created}");
}

#[test]
fn a_log_without_keys_is_refused_and_nothing_is_created() {
    let directory = TempDir::new().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("empty.log"), "").expect("written");
    fs::write(path("short.log"), "a\nb\nc\n").expect("written");
    let store = path("a.dds");
    for start in [&["create", &store, "--for"][..], &["advise"][..]] {
        let with = |arguments: &[&str]| -> Vec<String> {
            let all = start.iter().chain(arguments);
            all.map(|word| (*word).to_owned()).collect()
        };
        let fails = |arguments: Vec<String>, parts: &[&str]| {
            let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            assert_fails(&words, parts);
        };
        fails(
            with(&[&path("empty.log")]),
            &["empty.log has no lines", "--expect N"],
        );
        fails(
            with(&[&path("short.log"), "--field", "7"]),
            &["none of the 3 lines of", "has a key", "check --field"],
        );
        fails(
            with(&[&path("short.log"), "--json-key", "url"]),
            &["check --json-key"],
        );
    }
    assert!(!directory.path().join("a.dds").exists());
}

/// The choice is the cheapest row of its table, or a sentence says why another one is not chosen;
/// and every filter that a sentence names is in the table.
#[test]
fn the_table_of_advise_agrees_with_its_choice() {
    let log = log();
    let questions: [&[&str]; 8] = [
        &["--memory", "64MiB"],
        &["--memory", "256MiB", "--expect", "100M"],
        &["--memory", "16MiB", "--expect", "100M"],
        &["--memory", "64MiB", "--expect", "100M", "--max-fpr", "1%"],
        &["--memory", "32MiB", "--expect", "100M", "--cost-fn", "10"],
        &[&log, "--memory", "512B"],
        &[&log, "--memory", "1KiB"],
        &[&log, "--memory", "2KiB", "--max-fnr", "1%"],
    ];
    for question in questions {
        let arguments = [&["advise"], question].concat();
        let page = text(&arguments);
        let (said, table) = page.split_once("\nfilter ").expect("a table");
        let rows: Vec<Vec<&str>> = table
            .lines()
            .skip(1)
            .take_while(|line| !line.is_empty())
            .map(|line| {
                line.split("  ")
                    .map(str::trim)
                    .filter(|it| !it.is_empty())
                    .collect()
            })
            .collect();
        let advice = object(&[&arguments[..], &["--json"]].concat());
        let choice = advice["choice"]["cost"].as_f64().expect("a number");
        assert_eq!(rows[0][0], advice["filter"].as_str().expect("a filter"));
        let others = [&advice["runners_up"], &advice["compared"]];
        let others = others
            .iter()
            .flat_map(|list| list.as_array().expect("a list"));
        let cheapest = others
            .map(|other| other["cost"].as_f64().expect("a number"))
            .fold(f64::INFINITY, f64::min);
        assert_eq!(
            cheapest + 1e-8 < choice,
            said.contains("Not the cheapest: "),
            "{page}"
        );
        assert_eq!(
            advice["cheaper"].is_null(),
            !said.contains("Not the cheapest: ")
        );
        for word in said.split([' ', ';']) {
            let word = word.trim_end_matches(['.', ',', ':']);
            let is_filter = word.contains(":") && word.parse::<dedupstore::FilterSpec>().is_ok();
            assert!(
                !is_filter || rows.iter().any(|row| row[0] == word),
                "{word} is not in the table: {page}"
            );
        }
    }
}

#[test]
fn advise_says_that_rates_are_means_and_the_bound_is_for_the_end() {
    let page = text(&["advise", &log(), "--memory", "1KiB"]);
    for part in [
        "Expected over the whole stream: ",
        "at the end of the stream, when it holds all keys",
        "The other rates are means over the stream",
    ] {
        assert!(page.contains(part), "`{part}` is not in {page}");
    }
}

#[test]
fn advise_reports_a_memory_that_is_too_small_in_bytes() {
    assert_fails(
        &["advise", "--memory", "1"],
        &[
            "needs at least 8 B of memory; 1 B is too little",
            "--memory",
        ],
    );
}

/// The address space is limited, so that no filter of 1 GiB can be allocated.
#[cfg(target_os = "linux")]
#[test]
fn advise_reports_a_lack_of_memory_as_such() {
    let script = format!(
        "ulimit -v 700000; exec '{DEDUPSTORE}' advise '{}' --memory 1GiB",
        log()
    );
    let output = Command::new("sh").args(["-c", &script]).output();
    let output = output.expect("started");
    let message = standard_error(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("cannot allocate 1 GiB of memory"),
        "{message}"
    );
}
