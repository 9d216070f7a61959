//! Stores across runs of the command line, without crashes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Output, Stdio};

use dedupstore::store::Store;

use super::{create, dedupstore, open_closed, standard_error, store_path, succeed};

/// Runs a command with standard input until it ends.
fn feed(arguments: &[&str], input: &str) -> Output {
    let mut child = dedupstore(arguments)
        .stdin(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("written");
    drop(stdin);
    child.wait_with_output().expect("ended")
}

fn printed(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

#[test]
fn filter_creates_a_missing_store_and_remembers_keys() {
    let (_directory, path) = store_path();
    let with_slash = format!("{}/", path.display());
    let name = path.to_str().expect("text");
    let first = feed(&["filter", &with_slash, "--memory", "1MiB"], "a\nb\na\n");
    assert_eq!(printed(&first), "a\nb\n");
    let message = standard_error(&first);
    for part in [
        "created",
        name,
        "blocked:k=6,cap=85",
        "1 MiB of memory",
        "(fixed size)",
    ] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    for sync in ["every", "1s", "500ms", "none"] {
        let again = feed(&["filter", name, "--sync", sync], &format!("b\n{sync}"));
        assert_eq!(printed(&again), sync);
        assert_eq!(standard_error(&again), "");
    }
    let repeats = feed(&["filter", "-d", name, "-"], "a\nz\n");
    assert_eq!(printed(&repeats), "a\n");
    assert_eq!(open_closed(&path).sequence(), 3 + 4 * 2 + 2);
}

#[test]
fn statistics_count_only_this_run() {
    let (_directory, path) = store_path();
    let name = path.to_str().expect("text");
    create(&path, "64KiB", "64KiB");
    feed(&["filter", name], "a\nb\nc\n");
    let output = feed(&["filter", name, "--stats", "json"], "a\nd\na\n");
    let stats: serde_json::Value = serde_json::from_slice(&output.stderr).expect("an object");
    assert_eq!(
        (&stats["lines"], &stats["new"], &stats["seen"]),
        (&3.into(), &1.into(), &2.into())
    );
    let load = stats["load"].as_f64().expect("a number");
    assert!((load - 16.0 / (8.0 * 65_536.0)).abs() < 1e-5, "{load}");
}

#[test]
fn a_line_without_a_key_is_printed_and_not_recorded() {
    let (_directory, path) = store_path();
    let name = path.to_str().expect("text");
    succeed(["create", name, "--memory", "64KiB", "--field", "2"]);
    for _ in 0..2 {
        let output = feed(&["filter", name], "alone\nalone\n");
        assert_eq!(printed(&output), "alone\nalone\n");
    }
    assert_eq!(open_closed(&path).sequence(), 0);
}

#[test]
fn contains_records_nothing() {
    let (_directory, path) = store_path();
    let name = path.to_str().expect("text");
    create(&path, "64KiB", "64KiB");
    feed(&["filter", name], "a\nb\n");
    let all = succeed(["contains", name, "a", "b"]);
    assert_eq!(printed(&all), "seen\ta\nseen\tb\n");
    for _ in 0..2 {
        let some = feed(&["contains", name], "a\nx");
        assert_eq!(some.status.code(), Some(1));
        assert_eq!(printed(&some), "seen\ta\nnew\tx\n");
        assert_eq!(standard_error(&some), "");
    }
    assert_eq!(open_closed(&path).sequence(), 2);
}

#[test]
fn lines_of_a_slow_input_are_printed_at_once() {
    let (_directory, path) = store_path();
    create(&path, "64KiB", "64KiB");
    let mut child = dedupstore([&"filter".into(), &path])
        .stdin(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    for line in ["one\n", "two\n", "three\n"] {
        stdin.write_all(line.as_bytes()).expect("written");
        let mut printed = String::new();
        stdout.read_line(&mut printed).expect("read");
        assert_eq!(printed, line);
    }
    drop(stdin);
    assert!(child.wait().expect("ended").success());
}

#[test]
fn a_recovery_is_reported() {
    let (_directory, path) = store_path();
    let name = path.to_str().expect("text");
    create(&path, "64KiB", "64KiB");
    let crash = || {
        let mut store = Store::open(&path).expect("opened");
        store.observe(b"a").expect("observed");
        drop(store);
    };
    crash();
    let message = standard_error(&feed(&["filter", name], "a\n"));
    assert!(
        message.contains("recovered 1 observation from its log"),
        "{message}"
    );
    crash();
    assert_eq!(standard_error(&feed(&["-q", "filter", name], "a\n")), "");
}
