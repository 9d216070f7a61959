//! Signals: while the output is blocked, ignored ones, SIGHUP, SIGXFSZ; and a deleted store.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dedupstore::Verdict;
use dedupstore::store::Store;

use super::{
    create, dedupstore, exit_code_within, open_closed, signal, standard_error, store_path,
};
use crate::DEDUPSTORE;

const LINES: u64 = 200_000;
const LIMIT: Duration = Duration::from_secs(10);

/// Starts `filter` on a store with an input that is larger than a pipe.
fn start_with_large_input(directory: &Path, store: &Path) -> Child {
    let input = directory.join("input");
    let lines: String = (0..LINES).map(|i| format!("line {i}\n")).collect();
    fs::write(&input, lines).expect("written");
    dedupstore([&"filter".into(), &store.to_owned(), &input])
        .spawn()
        .expect("started")
}

/// Waits until a process sleeps, which it does when the pipe is full.
fn wait_until_blocked(child: &Child) {
    let state = || {
        let status = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("running");
        status
            .rsplit(')')
            .next()
            .and_then(|rest| rest.trim().chars().next())
    };
    let mut asleep = 0;
    while asleep < 20 {
        asleep = if state() == Some('S') { asleep + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Nobody reads the output, so the batch can never be delivered.
#[cfg(target_os = "linux")]
#[test]
fn one_signal_ends_a_run_whose_output_is_blocked() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let (directory, store) = store_path();
        create(&store, "4MiB", "1MiB");
        let mut child = start_with_large_input(directory.path(), &store);
        let mut stdout = child.stdout.take().expect("piped");
        wait_until_blocked(&child);
        signal(&child, name);
        assert_eq!(exit_code_within(&mut child, LIMIT), Some(code));
        let mut delivered = String::new();
        stdout.read_to_string(&mut delivered).expect("read");
        let delivered = delivered.matches('\n').count() as u64;
        // Closed, and nothing is recorded that was not delivered.
        let recorded = open_closed(&store).sequence();
        assert!(
            recorded <= delivered,
            "{recorded} recorded, {delivered} delivered"
        );
    }
}

/// A socket cannot be opened again, unlike a pipe.
#[cfg(target_os = "linux")]
#[test]
fn one_signal_ends_a_run_whose_output_is_a_blocked_socket() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    let (directory, store) = store_path();
    create(&store, "4MiB", "1MiB");
    let input = directory.path().join("input");
    let lines: String = (0..LINES).map(|i| format!("line {i}\n")).collect();
    fs::write(&input, &lines).expect("written");
    let start = || {
        let (ours, theirs) = UnixStream::pair().expect("a socket");
        let child = dedupstore([&"filter".into(), &store, &input])
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .expect("started");
        (child, ours)
    };
    let (mut child, mut reader) = start();
    wait_until_blocked(&child);
    signal(&child, "TERM");
    assert_eq!(exit_code_within(&mut child, LIMIT), Some(143));
    let mut delivered = String::new();
    reader.read_to_string(&mut delivered).expect("read");
    let recorded = open_closed(&store).sequence() as usize;
    assert!(recorded <= delivered.matches('\n').count());
    let (mut child, mut reader) = start();
    let mut rest = String::new();
    reader.read_to_string(&mut rest).expect("read");
    assert_eq!(rest.lines().count(), LINES as usize - recorded);
    assert!(lines.ends_with(&rest));
    assert_eq!(exit_code_within(&mut child, LIMIT), Some(0));
}

/// The rest of a batch is delivered to a reader that reads, so that no line is printed twice.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_lets_a_slow_reader_have_the_rest_of_the_batch() {
    let (directory, store) = store_path();
    create(&store, "4MiB", "1MiB");
    let mut child = start_with_large_input(directory.path(), &store);
    let mut stdout = child.stdout.take().expect("piped");
    wait_until_blocked(&child);
    signal(&child, "TERM");
    let mut delivered = Vec::new();
    let mut block = [0; 8192];
    loop {
        std::thread::sleep(Duration::from_millis(2));
        match stdout.read(&mut block).expect("read") {
            0 => break,
            count => delivered.extend_from_slice(&block[..count]),
        }
    }
    assert_eq!(exit_code_within(&mut child, LIMIT), Some(143));
    let delivered = delivered.iter().filter(|&&byte| byte == b'\n').count() as u64;
    assert!(delivered < LINES, "all of it was one batch");
    assert_eq!(open_closed(&store).sequence(), delivered);
}

/// The reader reads a little at a time, so the first signal waits for it.
#[cfg(target_os = "linux")]
#[test]
fn a_second_signal_ends_filter_at_once() {
    let (directory, store) = store_path();
    create(&store, "4MiB", "1MiB");
    let mut child = start_with_large_input(directory.path(), &store);
    let mut stdout = child.stdout.take().expect("piped");
    wait_until_blocked(&child);
    let reader = std::thread::spawn(move || {
        let mut block = [0; 4096];
        while stdout.read(&mut block).is_ok_and(|count| count > 0) {
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().expect("status").is_none());
    signal(&child, "INT");
    assert_eq!(
        exit_code_within(&mut child, Duration::from_secs(2)),
        Some(130)
    );
    reader.join().expect("joined");
    Store::open(&store).expect("opened");
}

/// Sends lines to `filter` and waits until they are printed.
fn deliver(child: &mut Child, lines: &[&str]) -> std::process::ChildStdin {
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    for line in lines {
        writeln!(stdin, "{line}").expect("written");
        stdout.read_line(&mut String::new()).expect("read");
    }
    // Still open, because a closed pipe would end the run.
    child.stdout = Some(stdout.into_inner());
    stdin
}

#[test]
fn a_hangup_takes_a_checkpoint_and_the_run_goes_on() {
    let (_directory, store) = store_path();
    create(&store, "1MiB", "64KiB");
    let mut child = dedupstore([&"filter".into(), &store])
        .stdin(Stdio::piped())
        .spawn()
        .expect("started");
    let stdin = deliver(&mut child, &["one", "two"]);
    let path = store.to_str().expect("text");
    let generation = || {
        let output = dedupstore(["inspect", path, "--json"]).output();
        let report = output.expect("started").stdout;
        let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
        report["generation"].as_u64().expect("a number")
    };
    let before = generation();
    signal(&child, "HUP");
    let started = Instant::now();
    while generation() == before {
        assert!(started.elapsed() < LIMIT, "no checkpoint");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.stdin = Some(stdin);
    let stdin = deliver(&mut child, &["three"]);
    drop(stdin);
    assert_eq!(exit_code_within(&mut child, LIMIT), Some(0));
    assert_eq!(open_closed(&store).sequence(), 3);
}

/// A shell starts the background jobs of a script with SIGINT ignored, so that Ctrl-C ends only
/// what is in the foreground.
#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let (_directory, store) = store_path();
    create(&store, "1MiB", "64KiB");
    let mut child = Command::new("sh")
        .args(["-c", "trap '' INT; exec \"$0\" filter \"$1\"", DEDUPSTORE])
        .arg(&store)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let stdin = deliver(&mut child, &["one"]);
    signal(&child, "INT");
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().expect("status").is_none());
    child.stdin = Some(stdin);
    let _stdin = deliver(&mut child, &["two"]);
    signal(&child, "TERM");
    assert_eq!(exit_code_within(&mut child, LIMIT), Some(143));
    assert_eq!(open_closed(&store).sequence(), 2);
}

/// The limit of `ulimit -f` sends SIGXFSZ, which would kill the process.
#[test]
fn create_above_the_limit_of_file_sizes_fails_and_leaves_nothing() {
    let (directory, store) = store_path();
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 100; exec \"$0\" create \"$1\"", DEDUPSTORE])
        .arg(&store)
        .output()
        .expect("started");
    let message = standard_error(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    for part in ["File too large", "ulimit -f"] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert_eq!(
        fs::read_dir(directory.path()).expect("a directory").count(),
        0
    );
}

#[test]
fn a_store_deleted_under_its_writer_ends_the_run_with_an_error() {
    for during_work in [false, true] {
        let (_directory, store) = store_path();
        create(&store, "1MiB", "64KiB");
        let mut child = dedupstore([&"filter".into(), &store])
            .stdin(Stdio::piped())
            .spawn()
            .expect("started");
        let mut stdin = deliver(&mut child, &["one"]);
        fs::remove_dir_all(&store).expect("removed");
        if during_work {
            // The sync thread looks once per second.
            std::thread::spawn(move || {
                for number in 0.. {
                    if writeln!(stdin, "{number}").is_err() {
                        return;
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
        } else {
            drop(stdin);
        }
        let mut stderr = child.stderr.take().expect("piped");
        assert_eq!(exit_code_within(&mut child, LIMIT), Some(2));
        let mut message = String::new();
        stderr.read_to_string(&mut message).expect("text");
        for part in ["was deleted", "what this run recorded is lost", "backup"] {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
        assert!(!store.exists());
    }
    // Also after a signal.
    let (_directory, store) = store_path();
    create(&store, "1MiB", "64KiB");
    let mut child = dedupstore([&"filter".into(), &store])
        .stdin(Stdio::piped())
        .spawn()
        .expect("started");
    let _stdin = deliver(&mut child, &["one"]);
    fs::remove_dir_all(&store).expect("removed");
    signal(&child, "TERM");
    assert_eq!(exit_code_within(&mut child, LIMIT), Some(2));
}

/// A batch that was not delivered must not be recorded, whichever thread closes the store.
#[cfg(target_os = "linux")]
#[test]
fn the_run_after_a_blocked_one_prints_what_was_not_delivered() {
    let (directory, store) = store_path();
    create(&store, "4MiB", "1MiB");
    let mut child = start_with_large_input(directory.path(), &store);
    let mut stdout = child.stdout.take().expect("piped");
    wait_until_blocked(&child);
    signal(&child, "TERM");
    assert_eq!(exit_code_within(&mut child, LIMIT), Some(143));
    let mut first = String::new();
    stdout.read_to_string(&mut first).expect("read");
    let input = directory.path().join("input");
    let output = dedupstore([&"filter".into(), &store, &input]).output();
    let second = String::from_utf8(output.expect("started").stdout).expect("text");
    // The reader of a pipe discards a last line without an end.
    let whole = &first[..first.rfind('\n').map_or(0, |end| end + 1)];
    let all: std::collections::HashSet<&str> = whole.lines().chain(second.lines()).collect();
    assert_eq!(all.len() as u64, LINES);
    assert_eq!(
        Store::open(&store).expect("opened").contains(b"line 0"),
        Verdict::Seen
    );
}
