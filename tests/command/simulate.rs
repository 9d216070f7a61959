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
        // The pages of a crawl have an importance, which some filters use.
        let depth = "--field 1 --importance-field 2 --importance-format depth";
        let (with, reading): (&[&str], Vec<&str>) = match stream.starts_with("crawl") {
            true => (&["--with-importance"], depth.split(' ').collect()),
            false => (&[], Vec::new()),
        };
        let text = run(
            &[&["generate", stream, "--seed", "3"], with, &count[..]].concat(),
            b"",
        )
        .stdout;
        let from_text = run(&[&["simulate"], &filters[..], &reading].concat(), &text);
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

fn text_of(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", standard_error(output));
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// The times are those that `simulate --stream` uses.
#[test]
fn generate_prints_the_time_before_each_key() {
    let generate = |stream: &str, options: &[&str]| {
        let arguments = [&["generate", stream, "--count", "9"], options].concat();
        text_of(&run(&arguments, b""))
    };
    let times = |text: &str| -> Vec<String> {
        let time = |line: &str| line.split_once('\t').expect("a tab").0.to_owned();
        text.lines().map(time).collect()
    };
    let burst = generate("burst:60:1:2", &["--with-time"]);
    assert_eq!(times(&burst), ["0", "1", "2", "3", "3", "4", "4", "5", "6"]);
    let uniform = generate("uniform:60", &["--with-time"]);
    assert_eq!(
        times(&uniform),
        ["0", "1", "2", "3", "4", "5", "6", "7", "8"]
    );
    let keys = |text: &str| -> String {
        let key = |line: &str| line.split_once('\t').expect("a tab").1.to_owned() + "\n";
        text.lines().map(key).collect()
    };
    assert_eq!(keys(&burst), generate("burst:60:1:2", &[]));
    assert_eq!(
        generate("importance-linear:60", &["--with-time"])
            .lines()
            .map(|line| line.split('\t').count())
            .collect::<Vec<_>>(),
        [3; 9]
    );
    let refused = run(
        &["generate", "uniform:60", "--with-time", "--as", "clicks"],
        b"",
    );
    assert_eq!(refused.status.code(), Some(2));
    let message = standard_error(&refused);
    assert!(message.contains("the lines of --as clicks"), "{message}");
}

/// The setting of the paper on windows, with the rates of an independent simulator.
#[test]
fn simulate_has_the_rates_of_the_paper_s_windows() {
    let simulate = |memory_bits: &str, filter: &str| -> serde_json::Value {
        let stream = ["simulate", "--stream", "uniform:16.85", "--count", "100000"];
        let setting = ["--memory-bits", memory_bits, "--filter", filter, "--json"];
        let text = text_of(&run(&[&stream[..], &setting].concat(), b""));
        serde_json::from_str(&text).expect("an object")
    };
    let rate = |run: &serde_json::Value, key: &str| run[key].as_f64().expect("a rate");
    // 8,490 timers of 10 bits.
    let timers = simulate("84900", "window:k=4,span=1000,step=1,clock=count");
    assert!((rate(&timers, "fpr") - 0.0164).abs() < 0.0018, "{timers}");
    assert_eq!(timers["fn"], 0);
    // Among 16,850 first occurrences, the standard error is 0.0009.
    assert!((rate(&timers, "fpr_fresh") - rate(&timers, "predicted_fpr")).abs() < 0.0027);
    assert_eq!(timers["predicted_fnr"], 0.0);
    let equal = simulate("60000", "window:k=8,span=1000,step=1,clock=count,equal=2");
    assert!((rate(&equal, "fpr") - 0.0024).abs() < 0.0005, "{equal}");
    assert!((rate(&equal, "fnr") - 0.064).abs() < 0.010, "{equal}");
    assert!(equal["predicted_fpr"].is_null(), "there is no formula");
    // One key per second is the same as a window of keys.
    let seconds = simulate("84900", "window:k=4,span=1000,step=1");
    assert_eq!(seconds["fp"], timers["fp"]);
    // The same counts over the same keys, by the definition alone: a key is a duplicate if the
    // filter itself delivered it within the span.
    assert_eq!(
        (timers["fp"].as_u64(), timers["distinct"].as_u64()),
        counted_by_definition("window:k=4,span=1000,step=1,clock=count", 84_900)
    );
}

/// Counts false positives and new keys of `uniform:16.85` with seed 1.
fn counted_by_definition(filter: &str, memory_bits: u64) -> (Option<u64>, Option<u64>) {
    let generated = run(&["generate", "uniform:16.85", "--count", "100000"], b"");
    let mut set = dedupstore::SeenSet::builder(filter)
        .expect("a filter")
        .memory_bits(memory_bits)
        .seed(1)
        .build()
        .expect("small");
    let mut delivered = std::collections::HashMap::new();
    let (mut dropped, mut new) = (0, 0);
    for (position, key) in text_of(&generated).lines().enumerate() {
        let is_new = match delivered.get(key) {
            Some(at) => position - at >= 1000,
            None => true,
        };
        let verdict = set.observe(key);
        new += u64::from(is_new);
        dropped += u64::from(is_new && verdict.is_seen());
        if verdict.is_new() {
            delivered.insert(key.to_owned(), position);
        }
    }
    (Some(dropped), Some(new))
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
