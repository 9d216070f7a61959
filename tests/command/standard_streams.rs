//! Standard streams that are closed, full or dead, and arguments in the wrong place.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Output};

use dedupstore::store::Store;
use tempfile::TempDir;

use crate::DEDUPSTORE;
use crate::run_command::{assert_fails, standard_error};

/// Runs a shell command in a directory, where `dedupstore` is the program under test.
fn shell(directory: &Path, command: &str) -> Output {
    Command::new("bash")
        .args(["-c", &command.replace("dedupstore", "\"$0\""), DEDUPSTORE])
        .current_dir(directory)
        .output()
        .expect("started")
}

#[test]
fn messages_that_cannot_be_written_do_not_end_a_run() {
    let directory = TempDir::new().expect("a directory");
    let directory = directory.path();
    for stderr in [
        "2> /dev/full",
        "2>&-",
        // A reader that has ended.
        "2> >(exec true; sleep 0)",
    ] {
        // The message is that the store is created.
        let command = format!(
            "rm -rf links.dds; sleep 0.1; printf 'a\\nb\\n' | \
             dedupstore filter links.dds --memory 64KiB --stats json {stderr}"
        );
        let output = shell(directory, &command);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert_eq!(output.stdout, b"a\nb\n", "{stderr}");
    }
    let output = shell(directory, "dedupstore contains links.dds c 2> /dev/full");
    assert_eq!(output.status.code(), Some(1));
    let output = shell(directory, "dedupstore filter absent.txt 2> /dev/full");
    assert_eq!(output.status.code(), Some(2));
    let output = shell(directory, "dedupstore nonsense 2> /dev/full");
    assert_eq!(output.status.code(), Some(2));
}

/// Otherwise every restart would end before its first line.
#[test]
fn a_run_after_a_crash_goes_on_although_its_message_cannot_be_written() {
    let directory = TempDir::new().expect("a directory");
    let create = "dedupstore create links.dds --memory 64KiB";
    assert!(shell(directory.path(), create).status.success());
    let mut store = Store::open(directory.path().join("links.dds")).expect("opened");
    store.observe(b"a").expect("recorded");
    // Not closed, as after kill -9.
    drop(store);
    let run = "printf 'a\\nb\\n' | dedupstore filter links.dds 2> /dev/full";
    let output = shell(directory.path(), run);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"b\n");
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    let directory = TempDir::new().expect("a directory");
    for arguments in ["--help", "--version", "filter --help", "help filter"] {
        for (stdout, message) in [("> /dev/full", "No space left"), (">&-", "closed")] {
            let output = shell(
                directory.path(),
                &format!("dedupstore {arguments} {stdout}"),
            );
            let found = standard_error(&output);
            assert_eq!(output.status.code(), Some(2), "{arguments} {stdout}");
            assert!(found.contains(message), "{arguments} {stdout}: {found}");
        }
        let head = format!("set -o pipefail; dedupstore {arguments} | true");
        let output = shell(directory.path(), &head);
        assert_eq!(
            output.status.code(),
            Some(0),
            "a closed pipe is not an error"
        );
    }
}

/// Rust's runtime opens /dev/null in its place, and the lines would be recorded as delivered.
#[test]
fn a_closed_standard_output_is_refused_and_nothing_is_recorded() {
    let directory = TempDir::new().expect("a directory");
    let directory = directory.path();
    let create = "dedupstore create -q links.dds --memory 64KiB >&-";
    assert_eq!(
        shell(directory, create).status.code(),
        Some(0),
        "prints nothing"
    );
    for command in [
        "printf 'a\\nb\\n' | dedupstore filter links.dds",
        "printf 'a\\n' | dedupstore filter",
        "dedupstore create other.dds --memory 64KiB",
        "dedupstore contains links.dds a",
        "dedupstore generate shuffle:1",
        "dedupstore inspect links.dds",
        "dedupstore verify links.dds",
        "dedupstore simulate --stream shuffle:1 --count 10",
        "dedupstore man",
    ] {
        let output = shell(directory, &format!("{command} >&-"));
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(2), "{command}: {message}");
        assert!(
            message.contains("standard output is closed"),
            "{command}: {message}"
        );
    }
    assert!(!directory.join("other.dds").exists());
    let store = Store::open(directory.join("links.dds")).expect("opened");
    assert_eq!(store.sequence(), 0);
    drop(store);
    let backup = shell(directory, "dedupstore backup links.dds copy.dds >&-");
    assert_eq!(backup.status.code(), Some(0), "{}", standard_error(&backup));
    // A device that discards is not a closed one, whoever opened it and how.
    for stdout in ["> /dev/null", "1<> /dev/null"] {
        let command = format!("printf 'a\\n' | dedupstore filter links.dds {stdout}");
        assert_eq!(shell(directory, &command).status.code(), Some(0));
    }
}

#[test]
fn a_file_in_place_of_a_command_suggests_filter() {
    let directory = TempDir::new().expect("a directory");
    std::fs::write(directory.path().join("crawl.log"), "a\n").expect("written");
    for (argument, suggestion) in [
        ("crawl.log", "did you mean `dedupstore filter crawl.log`?"),
        ("-", "did you mean `dedupstore filter -`?"),
        ("filtr", "'filter'"),
    ] {
        let output = shell(directory.path(), &format!("dedupstore {argument}"));
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(2));
        assert!(message.contains(suggestion), "{message}");
    }
    let output = shell(directory.path(), "dedupstore absent.log");
    assert!(!standard_error(&output).contains("did you mean"));
}

#[test]
fn a_negative_number_is_a_wrong_value_and_not_a_file() {
    for (option, expected) in [
        ("--memory", "64MiB"),
        ("--threads", "from 0 to 256"),
        ("--max-line", "64MiB"),
        ("--metrics-every", "30s"),
    ] {
        let output = Command::new(DEDUPSTORE)
            .args(["filter", option, "-5"])
            .output();
        assert!(!standard_error(&output.expect("started")).contains("-- -5"));
        assert_fails(&["filter", option, "-5"], &["'-5'", option, expected]);
    }
}
