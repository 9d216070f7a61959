//! `filter` without a store: lines, keys, inputs and errors.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use dedupstore_tests::fixture;
use tempfile::TempDir;

use crate::DEDUPSTORE;
use crate::run_command::{assert_fails, assert_prints, run, standard_error};

#[test]
fn new_lines_are_printed_in_order_and_unchanged() {
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
fn files_are_read_in_order_and_the_end_of_a_file_ends_its_last_line() {
    let directory = TempDir::new().expect("a directory");
    let (one, two) = (directory.path().join("one"), directory.path().join("two"));
    fs::write(&one, "a\nb").expect("written");
    fs::write(&two, "b\nc").expect("written");
    let (one, two) = (one.to_str().expect("text"), two.to_str().expect("text"));
    assert_prints(&["filter", one, two], b"", b"a\nb\nc");
    assert_prints(&["filter", one, "-", two], b"x\na\n", b"a\nb\nx\nc");
}

#[test]
fn repeated_annotate_and_null_options() {
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
fn fields_as_keys() {
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
fn a_line_without_the_field_is_printed() {
    let output = run(&["filter", "--field", "2"], b"1 x\nalone\nalone\n2 x\n");
    assert_eq!(output.stdout, b"1 x\nalone\nalone\n");
    assert!(standard_error(&output).contains("2 of 4 lines have no such field"));
}

#[test]
fn a_line_can_have_a_hundred_megabytes() {
    let mut line = vec![b'x'; 100_000_000];
    line.push(b'\n');
    let mut input = line.clone();
    input.extend_from_slice(b"short\n");
    input.extend_from_slice(&line);
    let mut expected = line;
    expected.extend_from_slice(b"short\n");
    assert_prints(&["filter", "--max-line", "100MB"], &input, &expected);
}

/// New lines are printed before more input is waited for, because `tail -f` does not end.
#[test]
fn lines_of_a_slow_input_are_printed_at_once() {
    let mut child = Command::new(DEDUPSTORE)
        .arg("filter")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = child.stdout.take().expect("piped");
    for line in [b"one\n", b"two\n"] {
        stdin.write_all(line).expect("written");
        let mut printed = [0; 4];
        stdout.read_exact(&mut printed).expect("read");
        assert_eq!(&printed, line);
    }
    drop(stdin);
    assert!(child.wait().expect("ended").success());
}

#[test]
fn statistics_are_one_json_object_on_standard_error() {
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
fn wrong_arguments_are_reported_and_nothing_is_printed() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().to_str().expect("text");
    assert_fails(&["filter", path], &["is a directory"]);
    assert_fails(
        &["filter", "/no/such/file"],
        &["/no/such/file", "No such file"],
    );
    assert_fails(
        &["filter", "--memory", "0"],
        &["at least 8 B of memory", "--memory"],
    );
    assert_fails(
        &["filter", "--memory", "lots"],
        &["64MiB, 2GB or 65536", "`lots`"],
    );
    assert_fails(&["filter", "--memory", "900TB"], &["at most", "--memory"]);
    assert_fails(
        &["filter", "--filter", "nonsense:k=x"],
        &["no filter `nonsense`", "bloom"],
    );
    assert_fails(&["filter", "--filter", "blom"], &["did you mean `bloom`?"]);
    assert_fails(
        &["filter", "--filter", "bloom:k=x"],
        &["`k`", "from 1 to 32", "`x`"],
    );
    assert_fails(&["filter", "--field", "0"], &["counted from 1"]);
    assert_fails(&["filter", "--nonsense"], &["--nonsense"]);
    assert_fails(
        &["simulate", "--filter", "rlbs", "--stream", "shuffle:1"],
        &["rlbsbf"],
    );
    assert_fails(&["generate", "shuffle:0"], &["above 0 and at most 100"]);
    assert_fails(&[], &["Usage"]);
}

/// A missing file is reported before any line of an earlier file is printed.
#[test]
fn every_file_is_checked_before_any_is_read() {
    let good = fixture("crawl.log");
    assert_fails(
        &["filter", good.to_str().expect("text"), "/no/such/file"],
        &["/no/such/file"],
    );
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("secret");
    fs::write(&path, "a\n").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("changed");
    if File::open(&path).is_ok() {
        eprintln!("skipped: this user can read all files");
        return;
    }
    assert_fails(
        &["filter", path.to_str().expect("text")],
        &["secret", "Permission denied"],
    );
}

#[test]
fn the_output_is_exact_with_enough_memory() {
    let log = fs::read(fixture("crawl.log")).expect("a file");
    let mut seen = std::collections::HashSet::new();
    let expected: Vec<&[u8]> = log
        .split_inclusive(|&byte| byte == b'\n')
        .filter(|line| seen.insert(*line))
        .collect();
    assert_prints(&["filter"], &log, &expected.concat());
}
