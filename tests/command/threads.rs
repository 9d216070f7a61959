//! `filter --threads`: the output, the store and the counts do not depend on the number of threads.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::DEDUPSTORE;
use crate::compressed_inputs::gzip;

const LINES: u64 = 12_000;

/// A directory with logs.
struct Logs(TempDir);

impl Logs {
    /// Writes a log of several blocks in different forms. Some lines have no key, no time or no
    /// importance; the last one has no end.
    fn new() -> Self {
        let logs = Logs(TempDir::new().expect("a directory"));
        let (mut log, mut json) = (String::new(), String::new());
        for i in 0..LINES {
            let page = i * i % 9973;
            let url = format!(
                "HTTPS://site-{}.example/a/../pages/entry-{page}.html",
                page % 97
            );
            log += &match i % 251 {
                7 => "short\n".to_owned(),
                8 => format!("never\tdeep\t{url}\n"),
                9 => format!("{}\t{}\t{url}{}\n", i * 60, i % 7, "x".repeat(400)),
                _ => format!("{}\t{}\t{url}\n", 1_700_000_000 + i * 60, i % 7),
            };
            json += &match i % 17 {
                3 => format!("{{\"time\": {i}}}\n"),
                _ => format!("{{\"time\": {i}, \"page\": {{\"url\": \"{url}\"}}}}\n"),
            };
        }
        log += "1700000000\t3\tunterminated";
        logs.write("log", log.as_bytes());
        logs.write("json", json.as_bytes());
        logs.write("nul", log.replace('\n', "\0").as_bytes());
        let compressed = gzip(log.as_bytes());
        logs.write("log.gz", &compressed);
        logs.write("cut.gz", &compressed[..compressed.len() / 2]);
        logs
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.path().join(name), bytes).expect("written");
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(DEDUPSTORE);
        command.current_dir(self.0.path());
        command.args(arguments.split_whitespace());
        command
    }

    /// Returns the exit code, the output and the messages of a run. Figures that depend on the
    /// speed are left out.
    fn run(&self, arguments: &str) -> (Option<i32>, Vec<u8>, Vec<Value>) {
        let output = self.command(arguments).output().expect("a run");
        let messages = String::from_utf8_lossy(&output.stderr);
        let message = |line: &str| match serde_json::from_str::<Value>(line) {
            Ok(mut statistics) => {
                for timing in ["seconds", "lines_per_second"] {
                    statistics[timing] = Value::Null;
                }
                statistics
            }
            Err(_) => line.into(),
        };
        let messages = messages.lines().map(message).collect();
        (output.status.code(), output.stdout, messages)
    }
}

/// The options of a run, and the exit code that is expected.
const RUNS: &[(&str, i32)] = &[
    ("log", 0),
    ("log -d", 0),
    ("log --annotate", 0),
    ("log --line-buffered", 0),
    ("log --filter blocked", 0),
    ("log --field 3", 0),
    ("log --field 3,2 --normalize crawl", 0),
    ("log --field 3 --normalize whatwg", 0),
    ("log --key-regex entry-([0-9]+)", 0),
    ("nul -z --field 3", 0),
    ("json --json-key page.url", 0),
    ("log --field 3 --window 3d --time-field 1", 0),
    ("log --field 3 --filter ibf --importance-field 2", 0),
    ("log --field 3 --memory 4KiB --max-fpr 1%", 3),
    ("log --field 3 --max-line 100", 0),
    ("log json log.gz log", 0),
    ("log cut.gz json", 2),
    ("cut.gz", 2),
];

#[test]
fn runs_do_not_depend_on_the_number_of_threads() {
    let logs = Logs::new();
    for (options, code) in RUNS {
        let run = |threads: usize| {
            logs.run(&format!(
                "filter {options} --stats json --threads {threads}"
            ))
        };
        let expected = run(1);
        assert_eq!(expected.0, Some(*code), "{options}: {:?}", expected.2);
        assert!(!expected.1.is_empty(), "{options}");
        for threads in 2..=8 {
            assert!(run(threads) == expected, "{options}, {threads} threads");
        }
    }
}

#[test]
fn a_store_does_not_depend_on_the_number_of_threads() {
    let logs = Logs::new();
    let options = "--field 3 --window 3d --time-field 1";
    let run = |threads: usize| {
        let store = format!("{threads}.dds");
        logs.run(&format!(
            "create {store} --memory 256KiB --seed 5 {options}"
        ));
        let printed = logs.run(&format!(
            "-q filter {store} log cut.gz log --threads {threads}"
        ));
        let verified = logs.run(&format!("verify {store}"));
        assert_eq!(verified.0, Some(0), "{:?}", verified.1);
        let inspected = logs.run(&format!("inspect {store} --json")).1;
        let inspected: Value = serde_json::from_slice(&inspected).expect("an object");
        let figures = ["observations", "new", "seen", "load", "distinct_estimate"];
        (printed, figures.map(|name| inspected[name].clone()))
    };
    let expected = run(1);
    assert!(expected.1[0].as_u64() > Some(LINES), "{:?}", expected.1);
    for threads in [2, 3, 8] {
        assert!(run(threads) == expected, "{threads} threads");
    }
}

/// Starts a run whose input and output are pipes.
fn start(logs: &Logs, arguments: &str) -> Child {
    let mut command = logs.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::null()).spawn().expect("started")
}

/// Returns the exit code of a run that must end soon.
fn exit_code(mut child: Child) -> Option<i32> {
    for _ in 0..2000 {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("killed");
    panic!("it does not end");
}

/// Returns different lines, which are large blocks for a pipe.
fn many_lines(site: u64, count: u64) -> String {
    let line = |i: u64| format!("https://site-{site}.example/{i}\n");
    (0..count).map(line).collect()
}

#[test]
fn a_line_after_large_blocks_is_printed_at_once() {
    let logs = Logs::new();
    let mut child = start(&logs, "-q filter --threads 4");
    let mut input = child.stdin.take().expect("piped");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    for round in 0..3 {
        let many = many_lines(round, 30_000);
        std::thread::scope(|scope| {
            scope.spawn(|| input.write_all(many.as_bytes()).expect("written"));
            for expected in many.split_inclusive('\n') {
                line.clear();
                output.read_line(&mut line).expect("a line");
                assert_eq!(line, expected);
            }
        });
        for number in 0..20 {
            let slow = format!("slow-{round}-{number}\n");
            input.write_all(slow.as_bytes()).expect("written");
            line.clear();
            output.read_line(&mut line).expect("a line");
            assert_eq!(line, slow);
        }
    }
    drop(input);
    assert_eq!(exit_code(child), Some(0));
}

/// A thread may wait for input when the run ends.
#[test]
fn a_limit_ends_the_run_while_the_input_stays_open() {
    let logs = Logs::new();
    for store in ["", "a.dds"] {
        let options = "--memory 16KiB --max-fpr 1% --threads 3";
        let mut child = start(&logs, &format!("-q filter {store} {options}"));
        let mut input = child.stdin.take().expect("piped");
        let mut output = child.stdout.take().expect("piped");
        let reader = std::thread::spawn(move || {
            let mut printed = Vec::new();
            output.read_to_end(&mut printed).map(|_| printed)
        });
        // The run may end before it has read everything.
        let all = many_lines(0, 50_000);
        let _ = input.write_all(all.as_bytes());
        assert_eq!(exit_code(child), Some(3));
        let printed = reader.join().expect("no panic").expect("read");
        assert!(!printed.is_empty() && printed.len() < all.len());
    }
}

#[test]
fn a_closed_pipe_ends_the_run_while_the_input_stays_open() {
    let logs = Logs::new();
    for store in ["", "a.dds"] {
        let mut child = start(&logs, &format!("-q filter {store} --threads 3"));
        let mut input = child.stdin.take().expect("piped");
        let mut output = child.stdout.take().expect("piped");
        let mut first = [0; 1000];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _ = input.write_all(many_lines(0, 30_000).as_bytes());
            });
            output.read_exact(&mut first).expect("read");
            drop(output);
        });
        assert_eq!(exit_code(child), Some(0));
        drop(input);
    }
    // Nothing is recorded that was not delivered, except in the pipe.
    let printed = logs.run("-q filter a.dds log --threads 3");
    assert_eq!(printed.0, Some(0));
    assert_eq!(logs.run("verify a.dds").0, Some(0));
}

#[test]
fn a_slow_reader_gets_every_line_once() {
    let logs = Logs::new();
    let expected = logs.run("-q filter log json --threads 1").1;
    let mut child = start(&logs, "-q filter b.dds log json --threads 4");
    let mut output = child.stdout.take().expect("piped");
    let mut printed = Vec::new();
    let mut piece = vec![0; 100_000];
    loop {
        std::thread::sleep(Duration::from_millis(10));
        match output.read(&mut piece).expect("read") {
            0 => break,
            count => printed.extend_from_slice(&piece[..count]),
        }
    }
    assert_eq!(exit_code(child), Some(0));
    assert!(printed == expected);
}
