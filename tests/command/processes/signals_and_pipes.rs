//! Signals and closed pipes.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use dedupstore::Verdict;
use dedupstore::store::Store;

use super::{
    create, dedupstore, exit_code_within, open_closed, signal, standard_error, store_path,
};
use crate::DEDUPSTORE;

/// Starts `filter` on a store; returns it and its standard input.
fn start(store: &Path) -> (Child, ChildStdin) {
    let mut child = dedupstore([&"filter".into(), &store.to_owned()])
        .stdin(Stdio::piped())
        .spawn()
        .expect("started");
    let stdin = child.stdin.take().expect("piped");
    (child, stdin)
}

/// The signal takes effect although `filter` waits for input.
#[test]
fn a_signal_closes_the_store_while_waiting_for_input() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let (_directory, store) = store_path();
        create(&store, "1MiB", "64KiB");
        let (mut child, mut stdin) = start(&store);
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        for line in ["one\n", "two\n"] {
            stdin.write_all(line.as_bytes()).expect("written");
            let mut printed = String::new();
            stdout.read_line(&mut printed).expect("read");
            assert_eq!(printed, line);
        }
        signal(&child, name);
        let limit = Duration::from_secs(10);
        assert_eq!(exit_code_within(&mut child, limit), Some(code));
        let store = open_closed(&store);
        assert_eq!(store.sequence(), 2);
        assert_eq!(store.contains(b"two"), Verdict::Seen);
    }
}

/// `filter` never waits, because there is always another batch.
#[test]
fn a_signal_closes_the_store_during_work() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let (_directory, store) = store_path();
        create(&store, "1MiB", "64KiB");
        let (mut child, mut stdin) = start(&store);
        let mut stdout = child.stdout.take().expect("piped");
        let feeder = std::thread::spawn(move || {
            for number in 0u64.. {
                let lines: String = (0..1000).map(|i| format!("{number}.{i}\n")).collect();
                if stdin.write_all(lines.as_bytes()).is_err() {
                    return;
                }
            }
        });
        let reader = std::thread::spawn(move || {
            let mut printed = Vec::new();
            stdout.read_to_end(&mut printed).expect("read");
            printed.iter().filter(|&&byte| byte == b'\n').count()
        });
        std::thread::sleep(Duration::from_millis(200));
        signal(&child, name);
        let limit = Duration::from_secs(10);
        assert_eq!(exit_code_within(&mut child, limit), Some(code));
        feeder.join().expect("joined");
        let printed = reader.join().expect("read") as u64;
        let store = open_closed(&store);
        assert!(printed > 0);
        assert_eq!(store.registers().new_count(), printed);
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let (_directory, store) = store_path();
    let script = "yes | head -n 1000000 | \"$0\" filter \"$1\" | head -n 1";
    let output = Command::new("sh")
        .args(["-c", script, DEDUPSTORE])
        .arg(&store)
        .output()
        .expect("started");
    assert_eq!(output.stdout, b"y\n");
    let message = standard_error(&output);
    assert!(message.starts_with("dedupstore: created "), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    open_closed(&store);
}

/// The next run prints the lines that did not get through the pipe.
#[test]
fn undelivered_lines_are_not_recorded() {
    let (directory, store) = store_path();
    create(&store, "4MiB", "1MiB");
    let input = directory.path().join("input");
    let lines: String = (0..200_000).map(|i| format!("line {i}\n")).collect();
    std::fs::write(&input, &lines).expect("written");
    let mut child = dedupstore([&"filter".into(), &store, &input])
        .spawn()
        .expect("started");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut read = String::new();
    for _ in 0..50_000 {
        stdout.read_line(&mut read).expect("read");
    }
    drop(stdout);
    let output = child.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(standard_error(&output), "");

    let recovered = Store::open(&store).expect("opened");
    let delivered = recovered.sequence();
    assert!(delivered > 0, "delivered lines were not recorded");
    // At most: the bytes read here, those in this buffer and those in the pipe. A batch is larger
    // than the buffer and the pipe together.
    let through = (read.len() + (8 << 10) + (64 << 10)).min(lines.len());
    let through = lines.as_bytes()[..through].iter();
    let through = through.filter(|&&byte| byte == b'\n').count() as u64;
    assert!(
        delivered <= through,
        "{delivered} recorded, at most {through} delivered"
    );
    drop(recovered);
    let output = dedupstore([&"filter".into(), &store, &input])
        .output()
        .expect("started");
    let rest = String::from_utf8_lossy(&output.stdout);
    assert_eq!(rest.lines().count() as u64, 200_000 - delivered);
    assert!(lines.ends_with(&*rest));
}

/// Nothing more is printed, so no write fails: `filter` must poll the pipe.
#[test]
fn a_closed_pipe_ends_filter_at_once() {
    let (_directory, store) = store_path();
    create(&store, "1MiB", "64KiB");
    for script in [
        "yes | head -n 1000000000 | \"$0\" filter \"$1\" | head -n 1",
        "yes | head -n 1000000000 | \"$0\" filter | head -n 1",
    ] {
        let started = Instant::now();
        let output = Command::new("sh")
            .args(["-c", script, DEDUPSTORE])
            .arg(&store)
            .output()
            .expect("started");
        assert_eq!(output.stdout, b"y\n");
        assert_eq!(standard_error(&output), "");
        assert!(started.elapsed() < Duration::from_secs(20), "{script}");
    }
    let store = open_closed(&store);
    assert_eq!(store.registers().new_count(), 1);
    // A few batches pass before the closed pipe is detected, but not a billion lines.
    assert!(store.sequence() < 100_000_000, "{}", store.sequence());
}

/// The reader takes one line and closes the pipe while `filter` waits for input.
#[test]
fn a_closed_pipe_ends_waiting_for_input() {
    let (_directory, store) = store_path();
    create(&store, "1MiB", "64KiB");
    for arguments in [
        vec!["filter", store.to_str().expect("text")],
        vec!["filter"],
    ] {
        let mut child = dedupstore(&arguments)
            .stdin(Stdio::piped())
            .spawn()
            .expect("started");
        let mut stdin = child.stdin.take().expect("piped");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        stdin.write_all(b"one\n").expect("written");
        let mut printed = String::new();
        stdout.read_line(&mut printed).expect("read");
        drop(stdout);
        let limit = Duration::from_secs(10);
        assert_eq!(exit_code_within(&mut child, limit), Some(0));
        drop(stdin);
    }
    assert_eq!(open_closed(&store).sequence(), 1);
}

#[test]
fn a_closed_pipe_during_a_batch_closes_the_store() {
    let (directory, store) = store_path();
    create(&store, "4MiB", "1MiB");
    let input = directory.path().join("input");
    let lines: String = (0..1_000_000).map(|i| format!("line {i}\n")).collect();
    std::fs::write(&input, &lines).expect("written");
    let output = Command::new("sh")
        .args(["-c", "\"$0\" filter \"$1\" \"$2\" | head -n 1", DEDUPSTORE])
        .args([&store, &input])
        .output()
        .expect("started");
    assert_eq!(output.stdout, b"line 0\n");
    assert_eq!(standard_error(&output), "");
    assert!(open_closed(&store).sequence() < 100_000);
}
