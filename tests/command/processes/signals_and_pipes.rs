//! Ends that are no accidents: signals and closed pipes.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use dedupstore::Verdict;
use dedupstore::store::{OpenOptions, Store};

use super::{create, dedupstore, open_closed, place, standard_error};
use crate::DEDUPSTORE;

/// A running `filter`, fed by hand.
fn start(store: &Path) -> (Child, ChildStdin) {
    let mut child = dedupstore([&"filter".into(), &store.to_owned()])
        .stdin(Stdio::piped())
        .spawn()
        .expect("started");
    let stdin = child.stdin.take().expect("piped");
    (child, stdin)
}

fn signal(child: &Child, name: &str) {
    let number = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &number]).status();
    assert!(sent.expect("sent").success());
}

#[track_caller]
fn exit_code_within(child: &mut Child, limit: Duration) -> Option<i32> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("known") {
            return status.code();
        }
        assert!(started.elapsed() < limit, "it goes on");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// It waits for input that does not come: the signal must not wait with it.
#[test]
fn a_signal_closes_the_store_while_it_waits() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let (_directory, store) = place();
        create(&store, "1MiB", "64KiB");
        let (mut child, mut stdin) = start(&store);
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        for line in ["one\n", "two\n"] {
            stdin.write_all(line.as_bytes()).expect("fed");
            let mut answer = String::new();
            stdout.read_line(&mut answer).expect("answered");
            assert_eq!(answer, line);
        }
        signal(&child, name);
        let limit = Duration::from_secs(10);
        assert_eq!(exit_code_within(&mut child, limit), Some(code));
        let store = open_closed(&store);
        assert_eq!(store.sequence(), 2);
        assert_eq!(store.contains(b"two"), Verdict::Seen);
    }
}

/// It never waits: there is always another batch.
#[test]
fn a_signal_closes_the_store_while_it_works() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let (_directory, store) = place();
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
        feeder.join().expect("stopped");
        let printed = reader.join().expect("read") as u64;
        let store = open_closed(&store);
        assert!(printed > 0);
        assert_eq!(store.registers().new_count(), printed);
    }
}

/// Nobody reads what it prints, so the batch cannot end; whoever asks twice means it.
#[test]
fn a_second_signal_ends_it_at_once() {
    let (_directory, store) = place();
    create(&store, "1MiB", "64KiB");
    let (mut child, mut stdin) = start(&store);
    let feeder = std::thread::spawn(move || {
        let lines: String = (0..200_000).map(|i| format!("{i}\n")).collect();
        let _ = stdin.write_all(lines.as_bytes());
    });
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().expect("known").is_none());
    signal(&child, "INT");
    let limit = Duration::from_secs(5);
    assert_eq!(exit_code_within(&mut child, limit), Some(130));
    feeder.join().expect("stopped");
    Store::open(&store, OpenOptions::default()).expect("whole");
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let (_directory, store) = place();
    let script = "yes | head -n 1000000 | \"$0\" filter \"$1\" | head -n 1";
    let output = Command::new("sh")
        .args(["-c", script, DEDUPSTORE])
        .arg(&store)
        .output()
        .expect("a shell");
    assert_eq!(output.stdout, b"y\n");
    let said = standard_error(&output);
    assert!(said.starts_with("dedupstore: made "), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    open_closed(&store);
}

/// What did not get through the pipe is printed by the next run.
#[test]
fn what_was_not_delivered_is_not_recorded() {
    let (directory, store) = place();
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

    let recovered = Store::open(&store, OpenOptions::default()).expect("whole");
    let delivered = recovered.sequence();
    assert!(delivered > 0, "what was delivered is kept");
    // What we read, what our buffer and what the pipe may have held; the batch that was being
    // written is longer than the two.
    let through = (read.len() + (8 << 10) + (64 << 10)).min(lines.len());
    let through = lines.as_bytes()[..through].iter();
    let through = through.filter(|&&byte| byte == b'\n').count() as u64;
    assert!(
        delivered <= through,
        "{delivered} recorded, {through} delivered at the most"
    );
    drop(recovered);
    let output = dedupstore([&"filter".into(), &store, &input])
        .output()
        .expect("started");
    let rest = String::from_utf8_lossy(&output.stdout);
    assert_eq!(rest.lines().count() as u64, 200_000 - delivered);
    assert!(lines.ends_with(&*rest));
}

/// Nothing more is printed, so no write would ever fail: it must look by itself.
#[test]
fn a_reader_that_leaves_ends_it_at_once() {
    let (_directory, store) = place();
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
            .expect("a shell");
        assert_eq!(output.stdout, b"y\n");
        assert_eq!(standard_error(&output), "");
        assert!(started.elapsed() < Duration::from_secs(20), "{script}");
    }
    let store = open_closed(&store);
    assert_eq!(store.registers().new_count(), 1);
    // A few batches pass before the reader's end shows; a thousand million lines do not.
    assert!(store.sequence() < 100_000_000, "{}", store.sequence());
}

/// The reader takes one line and leaves; what waits in front of us is never read.
#[test]
fn waiting_for_input_ends_when_the_reader_leaves() {
    let (_directory, store) = place();
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
        stdin.write_all(b"one\n").expect("fed");
        let mut answer = String::new();
        stdout.read_line(&mut answer).expect("answered");
        drop(stdout);
        let limit = Duration::from_secs(10);
        assert_eq!(exit_code_within(&mut child, limit), Some(0));
        drop(stdin);
    }
    assert_eq!(open_closed(&store).sequence(), 1);
}

/// A reader that leaves in the middle of a batch leaves a closed store behind.
#[test]
fn a_reader_that_leaves_in_the_middle_leaves_a_closed_store() {
    let (directory, store) = place();
    create(&store, "4MiB", "1MiB");
    let input = directory.path().join("input");
    let lines: String = (0..1_000_000).map(|i| format!("line {i}\n")).collect();
    std::fs::write(&input, &lines).expect("written");
    let output = Command::new("sh")
        .args(["-c", "\"$0\" filter \"$1\" \"$2\" | head -n 1", DEDUPSTORE])
        .args([&store, &input])
        .output()
        .expect("a shell");
    assert_eq!(output.stdout, b"line 0\n");
    assert_eq!(standard_error(&output), "");
    assert!(open_closed(&store).sequence() < 100_000);
}
