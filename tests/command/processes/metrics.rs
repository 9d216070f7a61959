//! Metrics of a running `filter`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::{create, dedupstore, open_closed, signal, store_path, succeed};

/// Returns the value of a metric.
fn value(path: &Path, name: &str) -> Option<f64> {
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[track_caller]
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const NEW: &str = "dedupstore_items_total{verdict=\"new\"}";

fn start(arguments: &[&str]) -> Child {
    dedupstore(arguments)
        .stdin(Stdio::piped())
        .spawn()
        .expect("started")
}

/// The last lines before a pause are in the metrics although no block follows them.
#[test]
fn metrics_are_written_while_the_input_idles() {
    let (directory, store) = store_path();
    create(&store, "1MiB", "64KiB");
    let path = directory.path().join("m.prom");
    let metrics = [
        "--metrics",
        path.to_str().expect("text"),
        "--metrics-every",
        "20ms",
    ];
    let with_store = ["filter", store.to_str().expect("text")];
    for command in [&["filter"][..], &with_store] {
        let mut child = start(&[command, &metrics].concat());
        let mut stdin = child.stdin.take().expect("piped");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        for count in 1..=3 {
            writeln!(stdin, "line {count}").expect("written");
            stdout.read_line(&mut String::new()).expect("read");
            wait_until("the line is counted", || {
                value(&path, NEW) == Some(f64::from(count))
            });
        }
        let written = || {
            fs::metadata(&path)
                .and_then(|file| file.modified())
                .expect("a file")
        };
        let before = written();
        wait_until("the file is replaced", || written() > before);
        drop(stdin);
        assert!(child.wait().expect("ended").success());
    }
}

/// The reader does not read, so the batch cannot end.
#[test]
fn metrics_are_written_while_the_output_is_blocked() {
    let (directory, store) = store_path();
    create(&store, "1MiB", "64KiB");
    let path = directory.path().join("m.prom");
    let input = directory.path().join("input");
    let lines: String = (0..200_000).map(|i| format!("line {i}\n")).collect();
    fs::write(&input, lines).expect("written");
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let mut child = dedupstore([
        "filter".to_owned(),
        text(&store),
        text(&input),
        "--metrics".to_owned(),
        text(&path),
        "--metrics-every".to_owned(),
        "20ms".to_owned(),
    ])
    .spawn()
    .expect("started");
    wait_until("something is read", || {
        value(&path, "dedupstore_read_bytes_total").is_some_and(|bytes| bytes > 0.0)
    });
    let written = || {
        fs::metadata(&path)
            .and_then(|file| file.modified())
            .expect("a file")
    };
    let before = written();
    wait_until("the file is replaced", || written() > before);
    child.kill().expect("killed");
    child.wait().expect("ended");
}

#[test]
fn a_run_goes_on_without_metrics_and_says_so_once() {
    let (directory, _) = store_path();
    let folder = directory.path().join("metrics");
    fs::create_dir(&folder).expect("created");
    let path = folder.join("m.prom");
    let mut child = start(&[
        "filter",
        "--metrics",
        path.to_str().expect("text"),
        "--metrics-every",
        "10ms",
    ]);
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = |text: &str| {
        writeln!(stdin, "{text}").expect("written");
        let mut printed = String::new();
        stdout.read_line(&mut printed).expect("read");
        assert_eq!(printed.trim_end(), text);
    };
    let mut message = || {
        let mut message = String::new();
        stderr.read_line(&mut message).expect("read");
        message
    };
    line("one");
    fs::rename(&folder, directory.path().join("elsewhere")).expect("moved");
    let warning = message();
    assert!(warning.contains("cannot write metrics to"), "{warning}");
    line("two");
    // Several intervals without another message.
    std::thread::sleep(Duration::from_millis(100));
    fs::create_dir(&folder).expect("created");
    let recovered = message();
    assert!(recovered.contains("metrics are written to"), "{recovered}");
    line("three");
    drop(stdin);
    assert!(child.wait().expect("ended").success());
    assert_eq!(message(), "", "nothing more");
    assert_eq!(value(&path, NEW), Some(3.0));
}

/// The close takes a checkpoint and makes everything durable.
#[test]
fn the_last_metrics_are_those_of_the_closed_store() {
    let check = |path: &Path, store: &Path| {
        let store = open_closed(store);
        let generation = store.generation() as f64;
        assert_eq!(value(path, "dedupstore_checkpoints"), Some(generation));
        assert_eq!(value(path, "dedupstore_durable_observations"), Some(2.0));
        assert_eq!(value(path, NEW), Some(2.0));
    };
    let (directory, store) = store_path();
    create(&store, "1MiB", "64KiB");
    let path = directory.path().join("m.prom");
    let input = directory.path().join("input");
    fs::write(&input, "a\nb\n").expect("written");
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let metrics = ["--metrics".to_owned(), text(&path)];
    succeed(
        [
            &["filter".to_owned(), text(&store), text(&input)],
            &metrics[..],
        ]
        .concat(),
    );
    check(&path, &store);

    // Also after a signal.
    fs::remove_dir_all(&store).expect("removed");
    create(&store, "1MiB", "64KiB");
    let arguments = [&["filter".to_owned(), text(&store)], &metrics[..]].concat();
    let mut child = dedupstore(arguments)
        .stdin(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    for line in ["a\n", "b\n"] {
        stdin.write_all(line.as_bytes()).expect("written");
        stdout.read_line(&mut String::new()).expect("read");
    }
    signal(&child, "TERM");
    assert_eq!(child.wait().expect("ended").code(), Some(143));
    check(&path, &store);
}

#[test]
fn metrics_of_a_log_with_times_count_what_the_clock_did_not_follow() {
    let (directory, store) = store_path();
    let path = directory.path().join("m.prom");
    let input = directory.path().join("input");
    let march = 1_772_323_200;
    let old = "1771000000 b\n1771000001 c\n";
    let far = "4294967000 d\n";
    fs::write(&input, format!("{march} a\n{old}{far}- e\n")).expect("written");
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let options = "--memory 64KiB --window 7d --field 2 --time-field 1 --metrics";
    let options = options.split(' ').map(str::to_owned);
    let mut arguments = vec!["filter".to_owned(), text(&store), text(&input)];
    arguments.extend(options.chain([text(&path)]));
    succeed(arguments);
    for (name, expected) in [
        ("dedupstore_late_total", 2.0),
        ("dedupstore_ahead_total", 1.0),
        ("dedupstore_lines_without_time_total", 1.0),
        // The step of 14 hours began two hours before.
        ("dedupstore_window_clock_seconds", 1_772_316_000.0),
    ] {
        assert_eq!(value(&path, name), Some(expected), "{name}");
    }
    // Without a window there is no clock.
    let plain = [
        "filter".to_owned(),
        text(&input),
        "--metrics".to_owned(),
        text(&path),
    ];
    succeed(plain.to_vec());
    assert_eq!(value(&path, "dedupstore_window_clock_seconds"), None);
    assert_eq!(value(&path, "dedupstore_late_total"), Some(0.0));
}
