//! Lines that are longer than `--max-line`.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::DEDUPSTORE;
use crate::compressed_inputs::{gzip, write};
use crate::run_command::{assert_fails, assert_prints, run, standard_error};

#[test]
fn longer_lines_are_printed_and_not_judged() {
    let long = "x".repeat(700_000);
    let input = format!("a\n{long}\nlimit\na\n{long}\nlimit\nlonger\nb");
    let max = ["--max-line", "5"];
    let print = |options: &[&str]| {
        let arguments = [&["filter"], &max[..], options].concat();
        let output = run(&arguments, input.as_bytes());
        assert_eq!(output.status.code(), Some(0));
        let message = standard_error(&output);
        assert!(
            message.contains("3 lines are longer than 5B and were treated as new"),
            "{message}"
        );
        String::from_utf8(output.stdout).expect("text")
    };
    let new = format!("a\n{long}\nlimit\n{long}\nlonger\nb");
    assert!(print(&[]) == new);
    assert!(print(&["--threads", "2"]) == new);
    assert_eq!(print(&["-d"]), "a\nlimit\n");
    let annotated = format!(
        "new\ta\nnew\t{long}\nnew\tlimit\nseen\ta\nnew\t{long}\nseen\tlimit\nnew\tlonger\nnew\tb"
    );
    assert!(print(&["--annotate"]) == annotated);
    let output = run(
        &["-q", "filter", "--stats", "json", "--max-line", "5"],
        input.as_bytes(),
    );
    let stats: serde_json::Value = serde_json::from_slice(&output.stderr).expect("one object");
    assert_eq!(
        (&stats["lines"], &stats["too_long"]),
        (&8.into(), &3.into())
    );
    assert_fails(&["filter", "--max-line", "0"], &["at least one byte"]);
}

/// A line end is added where the end of a file has ended a long line.
#[test]
fn a_long_line_at_the_end_of_a_file_is_not_glued_to_the_next_one() {
    let directory = TempDir::new().expect("a directory");
    let (_, first) = write(&directory, "first", b"too long");
    let (_, second) = write(&directory, "second", b"b\n");
    let arguments = ["-q", "filter", "--max-line", "4", &first, &second, &first];
    assert_prints(&arguments, b"", b"too long\nb\ntoo long");
    let (_, zero) = write(&directory, "zero", b"too long\0b\0b\0");
    let arguments = ["-q", "filter", "-z", "--max-line", "4", &first, &zero];
    assert_prints(&arguments, b"", b"too long\0too long\0b\0");
}

#[test]
fn longer_lines_with_a_store_are_delivered_and_not_recorded() {
    let directory = TempDir::new().expect("a directory");
    let store = directory.path().join("links.dds");
    let store = store.to_str().expect("text");
    let arguments = [
        "-q",
        "filter",
        store,
        "--memory",
        "64KiB",
        "--max-line",
        "4",
    ];
    for expected in ["a\ntoo long\nb\n", "too long\n"] {
        assert_prints(&arguments, b"a\ntoo long\nb\n", expected.as_bytes());
    }
    let keys = run(&["contains", store], b"a\nb\ntoo long\n");
    assert_eq!(keys.stdout, b"seen\ta\nseen\tb\nnew\ttoo long\n");
}

/// Returns the peak of the memory of a process in bytes.
#[cfg(target_os = "linux")]
fn peak_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("running");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
    1024 * kibibytes
        .expect("a number")
        .parse::<u64>()
        .expect("a number")
}

/// A small gzip file can hold one line of many gigabytes.
#[cfg(target_os = "linux")]
#[test]
fn one_huge_line_takes_little_more_memory_than_the_limit() {
    const LINE_BYTES: usize = 300 << 20;
    const MAX_LINE_BYTES: u64 = 16 << 20;
    const FILTER_BYTES: u64 = 1 << 20;
    // What the program takes for itself, unoptimized.
    const REST_BYTES: u64 = 16 << 20;
    let bomb = gzip(&vec![b'x'; LINE_BYTES]);
    assert!(bomb.len() < 4 << 20);
    let mut child = Command::new(DEDUPSTORE)
        .args(["-q", "filter", "--max-line", "16MiB", "--memory", "1MiB"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = child.stdout.take().expect("piped");
    let feeder = std::thread::spawn(move || {
        stdin.write_all(&bomb).expect("written");
        // Still open, so that the process waits for more.
        stdin
    });
    let mut printed = vec![0; LINE_BYTES];
    stdout.read_exact(&mut printed).expect("printed");
    assert!(printed.iter().all(|&byte| byte == b'x'));
    let peak = peak_memory(child.id());
    let limit = 2 * MAX_LINE_BYTES + FILTER_BYTES + REST_BYTES;
    assert!(peak <= limit, "{peak} bytes of {limit}");
    drop(feeder.join().expect("joined"));
    assert!(child.wait().expect("ended").success());
}
