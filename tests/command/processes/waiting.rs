//! Stores that another process uses: who uses them, and waiting for it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{create, dedupstore, standard_error, store_path, succeed};

/// A `filter` that has recorded some lines and waits for more.
struct Writer {
    child: Child,
    stdin: Option<ChildStdin>,
    /// Kept open: a closed pipe ends `filter`.
    _stdout: BufReader<ChildStdout>,
}

impl Writer {
    fn start(store: &Path, lines: u64) -> Self {
        let arguments = ["filter", store.to_str().expect("text"), "--sync", "every"];
        let mut child = dedupstore(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .expect("started");
        let mut stdin = child.stdin.take().expect("piped");
        let text: String = (0..lines).map(|line| format!("{line}\n")).collect();
        stdin.write_all(text.as_bytes()).expect("written");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        for _ in 0..lines {
            let mut line = String::new();
            assert!(stdout.read_line(&mut line).expect("read") > 0);
        }
        Writer {
            child,
            stdin: Some(stdin),
            _stdout: stdout,
        }
    }

    fn end(mut self) {
        drop(self.stdin.take());
        assert!(self.child.wait().expect("ended").success());
    }
}

fn inspected(store: &str, options: &[&str]) -> Value {
    let output = succeed([&["inspect", store, "--json"], options].concat());
    serde_json::from_slice(&output.stdout).expect("an object")
}

/// Inspects until the store has so many observations.
fn inspected_with(store: &str, observations: u64) -> Value {
    let started = Instant::now();
    loop {
        let found = inspected(store, &[]);
        if found["live_observations"] == observations {
            return found;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{found}");
    }
}

#[test]
fn the_error_names_the_process_that_uses_the_store() {
    let (_directory, path) = store_path();
    create(&path, "64KiB", "64KiB");
    let store = path.to_str().expect("text");
    let writer = Writer::start(&path, 10);
    let holder = format!("in use by another process (PID {})", writer.child.id());
    for command in ["filter", "checkpoint", "verify", "repair"] {
        let output = dedupstore([command, store]).output().expect("started");
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(&holder), "{command}: {message}");
        assert!(message.contains("--wait"), "{command}: {message}");
    }
    writer.end();
    succeed(["verify", store]);
}

#[test]
fn wait_waits_until_the_writer_ends_or_the_time_is_over() {
    let (_directory, path) = store_path();
    create(&path, "64KiB", "64KiB");
    let store = path.to_str().expect("text");
    let writer = Writer::start(&path, 10);
    for command in ["filter", "checkpoint", "verify", "repair"] {
        let started = Instant::now();
        let output = dedupstore([command, store, "--wait=200ms"]).output();
        let output = output.expect("started");
        assert_eq!(output.status.code(), Some(2));
        assert!(started.elapsed() >= Duration::from_millis(200), "{command}");
        let message = standard_error(&output);
        assert!(message.contains("waiting until it ends"), "{message}");
    }
    let waiting = ["filter", "checkpoint", "verify", "repair"].map(|command| {
        dedupstore([command, store, "--wait"])
            .spawn()
            .expect("started")
    });
    std::thread::sleep(Duration::from_millis(300));
    writer.end();
    for mut child in waiting {
        assert!(child.wait().expect("ended").success());
    }
}

#[test]
fn no_create_fails_if_there_is_no_store() {
    let (directory, path) = store_path();
    let store = path.to_str().expect("text");
    for options in [&["--no-create"][..], &["--no-create", "--dry-run"]] {
        let output = dedupstore([&["filter", store], options].concat()).output();
        let output = output.expect("started");
        assert_eq!(output.status.code(), Some(2));
        assert!(standard_error(&output).contains("there is no store"));
    }
    let left = std::fs::read_dir(directory.path()).expect("there");
    assert_eq!(left.count(), 0);
    create(&path, "64KiB", "64KiB");
    succeed(["filter", store, "--no-create"]);
    let contradiction = dedupstore(["filter", store, "--no-create", "--seed", "2"]).output();
    let message = standard_error(&contradiction.expect("started"));
    assert!(message.contains("--seed 1"), "{message}");
}

#[test]
fn inspect_shows_the_log_of_a_running_writer() {
    let (_directory, path) = store_path();
    create(&path, "1MiB", "4MiB");
    let store = path.to_str().expect("text");
    let writer = Writer::start(&path, 20_000);
    let live = inspected_with(store, 20_000);
    assert_eq!(live["live_new"], 20_000);
    assert_eq!(live["live_seen"], 0);
    assert_eq!(live["checkpointed_sequence"], 0);
    assert_eq!(
        (&live["exact"], &live["observations"]),
        (&false.into(), &0.into())
    );
    assert!(live["live_load"].as_f64().expect("a number") > 0.0);
    let exact = inspected(store, &["--exact"]);
    assert_eq!(exact["exact"], true);
    assert_eq!(exact["observations"], 20_000);
    assert_eq!(exact["load"], live["live_load"]);
    let text = succeed(["inspect", store]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("Now\n  observations   20,000\n"), "{text}");
    writer.end();
}

#[test]
fn watch_shows_rates() {
    let (_directory, path) = store_path();
    create(&path, "1MiB", "4MiB");
    let store = path.to_str().expect("text");
    let mut writer = Writer::start(&path, 10);
    inspected_with(store, 10);
    let mut watch = dedupstore(["inspect", store, "--json", "--watch=400ms"])
        .spawn()
        .expect("started");
    let mut lines = BufReader::new(watch.stdout.take().expect("piped")).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("a line").expect("read");
        serde_json::from_str(&line).expect("an object")
    };
    let first = next();
    assert_eq!(first["observations_per_second"], Value::Null);
    let more: String = (0..1000).map(|line| format!("more {line}\n")).collect();
    let stdin = writer.stdin.as_mut().expect("open");
    stdin.write_all(more.as_bytes()).expect("written");
    let found = (0..20)
        .map(|_| next())
        .find(|it| it["live_observations"] == 1010);
    let found = found.expect("the lines are recorded");
    for rate in ["observations_per_second", "new_per_second"] {
        let per_second = found[rate].as_f64().expect("a number");
        assert!(
            (100.0..=2600.0).contains(&per_second),
            "{rate}: {per_second}"
        );
    }
    watch.kill().expect("killed");
    watch.wait().expect("ended");
    writer.end();
}
