//! Stores as the command line uses them when nothing goes wrong.

use std::io::{BufRead, BufReader, Write};
use std::process::{Output, Stdio};

use dedupstore::store::{OpenOptions, Store};

use super::{create, dedupstore, open_closed, place, standard_error, succeed};

/// Runs with standard input to the end.
fn feed(arguments: &[&str], input: &str) -> Output {
    let mut child = dedupstore(arguments)
        .stdin(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("fed");
    drop(stdin);
    child.wait_with_output().expect("ended")
}

fn printed(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

#[test]
fn a_store_is_made_where_there_is_none_and_remembers() {
    let (_directory, path) = place();
    let with_slash = format!("{}/", path.display());
    let name = path.to_str().expect("text");
    let first = feed(&["filter", &with_slash, "--memory", "1MiB"], "a\nb\na\n");
    assert_eq!(printed(&first), "a\nb\n");
    let said = standard_error(&first);
    for part in [
        "made",
        name,
        "blocked:k=6,cap=85",
        "1 MiB of memory",
        "never grows",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said:?}");
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
fn statistics_count_this_run() {
    let (_directory, path) = place();
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
    let (_directory, path) = place();
    let name = path.to_str().expect("text");
    create(&path, "64KiB", "64KiB");
    for _ in 0..2 {
        let output = feed(&["filter", name, "--field", "2"], "alone\nalone\n");
        assert_eq!(printed(&output), "alone\nalone\n");
    }
    assert_eq!(open_closed(&path).sequence(), 0);
}

#[test]
fn looking_up_records_nothing() {
    let (_directory, path) = place();
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
fn a_slow_input_is_answered_at_once() {
    let (_directory, path) = place();
    create(&path, "64KiB", "64KiB");
    let mut child = dedupstore([&"filter".into(), &path])
        .stdin(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    for line in ["one\n", "two\n", "three\n"] {
        stdin.write_all(line.as_bytes()).expect("fed");
        let mut answer = String::new();
        stdout.read_line(&mut answer).expect("answered");
        assert_eq!(answer, line);
    }
    drop(stdin);
    assert!(child.wait().expect("ended").success());
}

#[test]
fn what_was_recovered_is_said() {
    let (_directory, path) = place();
    let name = path.to_str().expect("text");
    create(&path, "64KiB", "64KiB");
    let crash = || {
        let mut store = Store::open(&path, OpenOptions::default()).expect("opened");
        store.observe(b"a").expect("observed");
        drop(store);
    };
    crash();
    let said = standard_error(&feed(&["filter", name], "a\n"));
    assert!(said.contains("1 observation was recovered"), "{said}");
    crash();
    assert_eq!(standard_error(&feed(&["-q", "filter", name], "a\n")), "");
}
