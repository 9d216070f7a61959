//! The command line as a person or a script meets it: real processes, real files.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

use dedupstore_tests::fixture;
use tempfile::TempDir;

use crate::DEDUPSTORE;
use crate::running::{assert_prints, assert_refuses, run, standard_error};

#[test]
fn new_lines_come_out_in_order_with_their_bytes_untouched() {
    assert_prints(&["filter"], b"b\na\nb\nc\na\n", b"b\na\nc\n");
    assert_prints(&["filter"], b"a\r\nb\r\na\r\n", b"a\r\nb\r\n");
    assert_prints(&["filter"], b"\n\na\n\n", b"\na\n");
    assert_prints(&["filter"], b"", b"");
    assert_prints(
        &["filter"],
        b"\xff\xfe\0\x01\n\xff\xfe\0\x01\n\0\n",
        b"\xff\xfe\0\x01\n\0\n",
    );
}

#[test]
fn a_missing_last_newline_stays_missing() {
    assert_prints(&["filter"], b"a\nb", b"a\nb");
    assert_prints(&["filter"], b"a\nb\na", b"a\nb\n");
    assert_prints(&["filter"], b"a", b"a");
}

#[test]
fn files_are_read_in_order_and_a_line_ends_where_its_file_does() {
    let directory = TempDir::new().expect("a place");
    let (one, two) = (directory.path().join("one"), directory.path().join("two"));
    fs::write(&one, "a\nb").expect("written");
    fs::write(&two, "b\nc").expect("written");
    let (one, two) = (one.to_str().expect("text"), two.to_str().expect("text"));
    assert_prints(&["filter", one, two], b"", b"a\nb\nc");
    assert_prints(&["filter", one, "-", two], b"x\na\n", b"a\nb\nx\nc");
}

#[test]
fn repeats_annotations_and_nul_lines() {
    assert_prints(&["filter", "-d"], b"b\na\nb\nb\n", b"b\nb\n");
    assert_prints(
        &["filter", "--annotate"],
        b"b\na\nb",
        b"new\tb\nnew\ta\nseen\tb",
    );
    assert_prints(&["filter", "-z"], b"a\nb\0a\0a\nb\0", b"a\nb\0a\0");
    assert_prints(&["filter", "-0"], b"a\0a\0", b"a\0");
}

#[test]
fn keys_are_fields_where_asked_for() {
    assert_prints(
        &["filter", "--field", "2"],
        b"1 x\n2 y\n3  x\n",
        b"1 x\n2 y\n",
    );
    assert_prints(
        &["filter", "--field", "2", "--delimiter", ","],
        b"1,x,\n2,x\n3,y\n",
        b"1,x,\n3,y\n",
    );
    assert_prints(
        &["filter", "--field", "2", "-t", "\\t"],
        b"1\tx y\n2\tx y\n",
        b"1\tx y\n",
    );
}

#[test]
fn a_line_without_the_field_is_never_lost() {
    let output = run(&["filter", "--field", "2"], b"1 x\nalone\nalone\n2 x\n");
    assert_eq!(output.stdout, b"1 x\nalone\nalone\n");
    assert!(standard_error(&output).contains("2 lines had no such field"));
}

#[test]
fn a_line_of_a_hundred_megabytes_is_a_line() {
    let mut line = vec![b'x'; 100_000_000];
    line.push(b'\n');
    let mut input = line.clone();
    input.extend_from_slice(b"short\n");
    input.extend_from_slice(&line);
    let mut expected = line;
    expected.extend_from_slice(b"short\n");
    assert_prints(&["filter"], &input, &expected);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = Command::new(DEDUPSTORE)
        .args(["generate", "shuffle:100", "--count", "100M"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdout = child.stdout.take().expect("piped");
    stdout.read_exact(&mut [0; 10]).expect("some output");
    drop(stdout);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(standard_error(&output), "");
}

/// What came in must come out before more is waited for: `tail -f` has no end.
#[test]
fn a_slow_input_is_answered_at_once() {
    let mut child = Command::new(DEDUPSTORE)
        .arg("filter")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = child.stdout.take().expect("piped");
    for line in [b"one\n", b"two\n"] {
        stdin.write_all(line).expect("fed");
        let mut answer = [0; 4];
        stdout.read_exact(&mut answer).expect("answered");
        assert_eq!(&answer, line);
    }
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn statistics_are_one_object_on_standard_error() {
    let output = run(&["filter", "--stats", "json"], b"a\nb\na\n");
    let stats: serde_json::Value = serde_json::from_slice(&output.stderr).expect("one object");
    let number = |key: &str| stats[key].as_f64().unwrap_or(f64::NAN);
    assert_eq!(stats["schema"], 1);
    assert_eq!(
        (number("lines"), number("new"), number("seen")),
        (3.0, 2.0, 1.0)
    );
    assert_eq!(number("bytes"), 6.0);
    assert!(number("seconds") >= 0.0 && number("lines_per_second") > 0.0);
    assert!(number("load") > 0.0 && number("drop_chance") > 0.0);
    assert!(stats.get("estimated_fnr").is_some());
}

#[test]
fn what_cannot_be_is_said_and_nothing_is_printed() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().to_str().expect("text");
    assert_refuses(&["filter", path], &["is a directory"]);
    assert_refuses(
        &["filter", "/no/such/file"],
        &["/no/such/file", "No such file"],
    );
    assert_refuses(
        &["filter", "--memory", "0"],
        &["at least 64 bits", "--memory"],
    );
    assert_refuses(
        &["filter", "--memory", "lots"],
        &["64MiB, 2GB or 65536", "`lots`"],
    );
    assert_refuses(&["filter", "--memory", "900TB"], &["at most", "--memory"]);
    assert_refuses(
        &["filter", "--filter", "nonsense:k=x"],
        &["no filter `nonsense`", "bloom"],
    );
    assert_refuses(&["filter", "--filter", "blom"], &["did you mean `bloom`?"]);
    assert_refuses(
        &["filter", "--filter", "bloom:k=x"],
        &["`k`", "from 1 to 32", "`x`"],
    );
    assert_refuses(&["filter", "--field", "0"], &["counted from 1"]);
    assert_refuses(&["filter", "--nonsense"], &["--nonsense"]);
    assert_refuses(
        &["simulate", "--filter", "rlbs", "--stream", "shuffle:1"],
        &["rlbsbf"],
    );
    assert_refuses(&["generate", "shuffle:0"], &["above 0 and at most 100"]);
    assert_refuses(&[], &["Usage"]);
}

/// Where a good file comes first, a bad one still stops everything before it starts.
#[test]
fn every_file_is_checked_before_any_is_read() {
    let good = fixture("crawl.log");
    assert_refuses(
        &["filter", good.to_str().expect("text"), "/no/such/file"],
        &["/no/such/file"],
    );
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("secret");
    fs::write(&path, "a\n").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("changed");
    if File::open(&path).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    assert_refuses(
        &["filter", path.to_str().expect("text")],
        &["secret", "Permission denied"],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_not_a_silence() {
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("Linux has one");
    let output = Command::new(DEDUPSTORE)
        .args(["generate", "shuffle:50"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .expect("started");
    assert_eq!(output.status.code(), Some(2));
    assert!(standard_error(&output).contains("No space left"));
}

/// A generated stream simulated from its text gives the numbers of `--stream`.
#[test]
fn a_stream_and_its_text_are_the_same_stream() {
    let filters = [
        "--filter", "all", "--memory", "1KiB", "--seed", "3", "--json",
    ];
    let count = ["--count", "20k"];
    let rates = |output: &Output| -> Vec<(String, u64, u64, u64)> {
        let text = String::from_utf8_lossy(&output.stdout);
        let rows = text.lines().map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).expect("an object");
            let number = |key: &str| row[key].as_u64().expect(key);
            (
                row["filter"].to_string(),
                number("distinct"),
                number("fp"),
                number("fn"),
            )
        });
        rows.collect()
    };
    for stream in ["shuffle:60", "uniform:30", "zipf:1.1:5000", "crawl:3:200"] {
        let text = run(
            &[&["generate", stream, "--seed", "3"], &count[..]].concat(),
            b"",
        )
        .stdout;
        let from_text = run(&[&["simulate"], &filters[..]].concat(), &text);
        let direct = [&["simulate", "--stream", stream], &filters[..], &count[..]].concat();
        let direct = rates(&run(&direct, b""));
        assert!(!direct.is_empty());
        assert_eq!(rates(&from_text), direct, "{stream}");
    }
}

#[test]
fn simulate_prints_every_key_of_its_contract() {
    let log = fixture("crawl.log");
    let output = run(
        &[
            "simulate",
            log.to_str().expect("text"),
            "--memory",
            "2KiB",
            "--json",
        ],
        b"",
    );
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("an object");
        for key in [
            "schema",
            "filter",
            "memory_bits",
            "stream",
            "count",
            "distinct",
            "repeats",
            "fp",
            "fn",
            "fpr",
            "fnr",
            "fpr_n",
            "fnr_n",
            "load",
            "predicted_fpr",
            "predicted_fnr",
            "wfp",
            "wfn",
            "ns_per_observation",
        ] {
            assert!(row.get(key).is_some(), "{key} is missing in {line}");
        }
        assert_eq!(
            (&row["count"], &row["memory_bits"]),
            (&10_000.into(), &16_384.into())
        );
    }
}

/// The fixture is what its command makes.
#[test]
fn the_crawl_log_is_generated() {
    let made = run(
        &[
            "generate",
            "crawl:24:300",
            "--count",
            "10000",
            "--seed",
            "1",
        ],
        b"",
    );
    let kept = fs::read(fixture("crawl.log")).expect("kept");
    assert!(made.stdout == kept);
}

#[test]
fn exact_where_memory_is_ample() {
    let log = fs::read(fixture("crawl.log")).expect("kept");
    let mut met = std::collections::HashSet::new();
    let expected: Vec<&[u8]> = log
        .split_inclusive(|&byte| byte == b'\n')
        .filter(|line| met.insert(*line))
        .collect();
    assert_prints(&["filter"], &log, &expected.concat());
}

#[test]
fn help_and_completions_are_there() {
    for arguments in [
        &["--help"][..],
        &["filter", "--help"],
        &["simulate", "--help"],
        &["generate", "--help"],
        &["filters"],
        &["filters", "bloom"],
        &["filters", "--json"],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["completions", "fish"],
        &["completions", "powershell"],
    ] {
        let output = run(arguments, b"");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(output.stdout.len() > 200, "{arguments:?}");
    }
}
