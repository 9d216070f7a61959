//! `simulate`, `generate` and commands that only print.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Output, Stdio};

use dedupstore_tests::fixture;

use crate::DEDUPSTORE;
use crate::run_command::{run, standard_error};

#[test]
fn generate_ends_quietly_when_the_pipe_is_closed() {
    let mut child = Command::new(DEDUPSTORE)
        .args(["generate", "shuffle:100", "--count", "100M"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdout = child.stdout.take().expect("piped");
    stdout.read_exact(&mut [0; 10]).expect("some output");
    drop(stdout);
    let output = child.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(standard_error(&output), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("a device");
    let output = Command::new(DEDUPSTORE)
        .args(["generate", "shuffle:50"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .expect("started");
    assert_eq!(output.status.code(), Some(2));
    assert!(standard_error(&output).contains("No space left"));
}

/// A generated stream, read back from its text, gives the same numbers as `--stream`.
#[test]
fn a_generated_log_gives_the_numbers_of_its_stream() {
    let filters = [
        "--filter", "all", "--memory", "1KiB", "--seed", "3", "--json",
    ];
    let count = ["--count", "20k"];
    let rates = |output: &Output| -> Vec<(String, u64, u64, u64)> {
        let text = String::from_utf8_lossy(&output.stdout);
        let rows = text.lines().map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).expect("an object");
            let number = |key: &str| row[key].as_u64().expect(key);
            (
                row["filter"].to_string(),
                number("distinct"),
                number("fp"),
                number("fn"),
            )
        });
        rows.collect()
    };
    for stream in ["shuffle:60", "uniform:30", "zipf:1.1:5000", "crawl:3:200"] {
        let text = run(
            &[&["generate", stream, "--seed", "3"], &count[..]].concat(),
            b"",
        )
        .stdout;
        let from_text = run(&[&["simulate"], &filters[..]].concat(), &text);
        let direct = [&["simulate", "--stream", stream], &filters[..], &count[..]].concat();
        let direct = rates(&run(&direct, b""));
        assert!(!direct.is_empty());
        assert_eq!(rates(&from_text), direct, "{stream}");
    }
}

#[test]
fn simulate_prints_every_json_key() {
    let log = fixture("crawl.log");
    let output = run(
        &[
            "simulate",
            log.to_str().expect("text"),
            "--memory",
            "2KiB",
            "--json",
        ],
        b"",
    );
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("an object");
        for key in [
            "schema",
            "filter",
            "memory_bits",
            "stream",
            "count",
            "distinct",
            "repeats",
            "fp",
            "fn",
            "fpr",
            "fnr",
            "fpr_n",
            "fnr_n",
            "load",
            "predicted_fpr",
            "predicted_fnr",
            "wfp",
            "wfn",
            "ns_per_observation",
        ] {
            assert!(row.get(key).is_some(), "{key} is missing in {line}");
        }
        assert_eq!(
            (&row["count"], &row["memory_bits"]),
            (&10_000.into(), &16_384.into())
        );
    }
}

/// The fixture is the output of this command.
#[test]
fn the_crawl_log_fixture_can_be_generated() {
    let generated = run(
        &[
            "generate",
            "crawl:24:300",
            "--count",
            "10000",
            "--seed",
            "1",
        ],
        b"",
    );
    let expected = fs::read(fixture("crawl.log")).expect("a file");
    assert!(generated.stdout == expected);
}

#[test]
fn help_and_completions_are_printed() {
    for arguments in [
        &["--help"][..],
        &["filter", "--help"],
        &["simulate", "--help"],
        &["generate", "--help"],
        &["filters"],
        &["filters", "bloom"],
        &["filters", "--json"],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["completions", "fish"],
        &["completions", "powershell"],
    ] {
        let output = run(arguments, b"");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(output.stdout.len() > 200, "{arguments:?}");
    }
}

#[test]
fn every_command_means_the_same_filter_by_blocked() {
    let filters = |arguments: &[&str]| -> Vec<String> {
        let stream = [
            "simulate",
            "--stream",
            "shuffle:50",
            "-n",
            "100",
            "--memory",
            "1KiB",
        ];
        let output = run(&[&stream, arguments, &["--json"]].concat(), b"");
        let text = String::from_utf8_lossy(&output.stdout);
        let rows = text.lines().map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).expect("an object");
            row["filter"].as_str().expect("a filter").to_owned()
        });
        rows.collect()
    };
    let default = dedupstore::DEFAULT_FILTER.to_owned();
    assert_eq!(
        filters(&["--filter", "blocked"]),
        std::slice::from_ref(&default)
    );
    assert!(filters(&["--filter", "all"]).contains(&default));
}
