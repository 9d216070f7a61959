//! Output that is appended to a file whose last line is torn.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::process::Stdio;

use super::{dedupstore, store_path};

/// Runs `filter` with its output appended to a file that holds `before`; returns what it holds
/// then.
fn append(before: &str, input: &str, options: &[&str]) -> String {
    let (directory, store) = store_path();
    let (output, log) = (directory.path().join("new"), directory.path().join("log"));
    fs::write(&output, before).expect("written");
    fs::write(&log, input).expect("written");
    let appended = File::options().append(true).open(&output).expect("opened");
    let mut arguments = vec![
        "filter",
        store.to_str().expect("text"),
        log.to_str().expect("text"),
        "--memory",
        "1MiB",
    ];
    arguments.extend(options);
    let status = dedupstore(arguments).stdout(Stdio::from(appended)).status();
    assert!(status.expect("started").success());
    fs::read_to_string(output).expect("text")
}

#[test]
fn a_line_appended_to_a_torn_one_begins_on_its_own_line() {
    for (before, input, options, after) in [
        (
            "a\nhttps://harb",
            "b\nc\n",
            &[][..],
            "a\nhttps://harb\nb\nc\n",
        ),
        ("a\n", "b\n", &[], "a\nb\n"),
        ("", "b\n", &[], "b\n"),
        // Nothing to print, nothing to add.
        ("a\ntorn", "", &[], "a\ntorn"),
        ("a\0torn", "b\0", &["-z"], "a\0torn\0b\0"),
        ("a\0torn\n", "b\0", &["-z"], "a\0torn\n\0b\0"),
        ("a\0", "b\0", &["-z"], "a\0b\0"),
        ("torn", "b\nb\n", &["-d"], "torn\nb\n"),
        ("torn", "b\n", &["--annotate"], "torn\nnew\tb\n"),
        (
            "torn",
            "too long\n",
            &["--max-line", "3"],
            "torn\ntoo long\n",
        ),
    ] {
        assert_eq!(
            append(before, input, options),
            after,
            "{before:?} {options:?}"
        );
    }
}

/// As after `(printf …; dedupstore filter …) > file`.
#[test]
fn a_file_that_is_not_at_its_beginning_counts_as_well() {
    let (directory, _) = store_path();
    let (output, log) = (directory.path().join("new"), directory.path().join("log"));
    fs::write(&log, "b\n").expect("written");
    for (before, position, after) in [
        ("torn", 4, "torn\nb\n"),
        ("whole\n", 6, "whole\nb\n"),
        // It overwrites, so what is there does not matter.
        ("over", 0, "b\ner"),
    ] {
        let mut file = File::create(&output).expect("created");
        file.write_all(before.as_bytes()).expect("written");
        file.seek(SeekFrom::Start(position)).expect("moved");
        let arguments = ["filter", log.to_str().expect("text")];
        let status = dedupstore(arguments).stdout(Stdio::from(file)).status();
        assert!(status.expect("started").success());
        assert_eq!(fs::read_to_string(&output).expect("text"), after);
    }
}
