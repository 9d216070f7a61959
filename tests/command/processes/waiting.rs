//! Stores that another process uses: who uses them, and waiting for it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{create, dedupstore, exit_code_within, signal, standard_error, store_path, succeed};

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

#[test]
fn watch_without_a_pause_is_refused() {
    let (_directory, path) = store_path();
    create(&path, "64KiB", "64KiB");
    let store = path.to_str().expect("text");
    for time in ["0s", "0ms", "1ms"] {
        let mut watch = dedupstore(["inspect", store, &format!("--watch={time}")])
            .stdout(Stdio::null())
            .spawn()
            .expect("started");
        // If it is accepted, it does not end by itself.
        let started = Instant::now();
        while watch.try_wait().expect("a status").is_none() {
            if started.elapsed() > Duration::from_secs(20) {
                watch.kill().expect("killed");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let output = watch.wait_with_output().expect("ended");
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(2), "{time}: {message}");
        assert!(message.contains("at least 10ms"), "{message}");
    }
}

#[test]
fn a_hangup_while_filter_waits_for_its_store_is_ignored() {
    let (_directory, path) = store_path();
    create(&path, "64KiB", "64KiB");
    let store = path.to_str().expect("text");
    let mut writer = Some(Writer::start(&path, 10));
    for (name, code) in [("TERM", 143), ("INT", 130), ("HUP", 0)] {
        let mut waiting = dedupstore(["filter", store, "--wait"])
            .spawn()
            .expect("started");
        let mut message = String::new();
        let mut stderr = BufReader::new(waiting.stderr.take().expect("piped"));
        stderr.read_line(&mut message).expect("read");
        assert!(message.contains("waiting until it ends"), "{message}");
        signal(&waiting, name);
        if name == "HUP" {
            std::thread::sleep(Duration::from_millis(200));
            assert_eq!(waiting.try_wait().expect("a status"), None);
            signal(&waiting, "HUP");
            // It goes on when the store is free.
            writer.take().expect("running").end();
        }
        let ended = exit_code_within(&mut waiting, Duration::from_secs(20));
        assert_eq!(ended, Some(code), "{name}");
    }
}

#[test]
fn after_waiting_in_vain_the_message_says_how_long_it_was() {
    let (_directory, path) = store_path();
    create(&path, "64KiB", "64KiB");
    let store = path.to_str().expect("text");
    let writer = Writer::start(&path, 10);
    let holder = format!("(PID {})", writer.child.id());
    for command in ["filter", "checkpoint", "verify", "repair"] {
        let output = dedupstore(["-q", command, store, "--wait=100ms"]).output();
        let output = output.expect("started");
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        for part in [&holder, "after waiting for 100ms", "--wait=1s,", "inspect"] {
            assert!(message.contains(part), "{command}: {message}");
        }
    }
    writer.end();
}

#[test]
fn inspect_beside_a_writer_says_which_figures_are_of_the_last_checkpoint() {
    let (_directory, path) = store_path();
    create(&path, "1MiB", "4MiB");
    let store = path.to_str().expect("text");
    let writer = Writer::start(&path, 1000);
    inspected_with(store, 1000);
    let text = |options: &[&str]| {
        let output = succeed([&["inspect", store], options].concat());
        String::from_utf8(output.stdout).expect("text")
    };
    let page = text(&[]);
    for part in [
        "\n  more           --exact shows the measured and predicted rates of now, too\n",
        "\nMeasured by the audit at the last checkpoint, with",
        "\nPredicted from the counts at the last checkpoint",
    ] {
        assert!(page.contains(part), "{part:?} is not in {page}");
    }
    for page in [text(&["--exact"]), {
        writer.end();
        text(&[])
    }] {
        assert!(page.contains("\nMeasured by the audit, with"), "{page}");
        assert!(page.contains("\nPredicted from these counts"), "{page}");
        assert!(!page.contains("--exact"), "{page}");
    }
}
