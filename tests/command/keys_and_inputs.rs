//! Keys of lines, normalization and dry runs.

use std::fs;
use std::path::Path;

use dedupstore_tests::fixture;
use tempfile::TempDir;

use crate::run_command::{assert_fails, assert_prints, run, standard_error};

/// Returns the crawl log and its new lines.
pub fn crawl() -> (Vec<u8>, Vec<u8>) {
    let log = fs::read(fixture("crawl.log")).expect("a file");
    let mut seen = std::collections::HashSet::new();
    let new: Vec<&[u8]> = log
        .split_inclusive(|&byte| byte == b'\n')
        .filter(|line| seen.insert(*line))
        .collect();
    let new = new.concat();
    (log, new)
}

#[test]
fn json_values_as_keys() {
    let lines = concat!(
        "{\"id\":1,\"request\":{\"url\":\"/a\"}}\n",
        "{\"request\":{\"url\":\"\\/a\"},\"id\":2}\n",
        "not json\n",
        "{\"request\":{\"url\":\"/b\"}}\n",
        "not json\n",
    );
    let output = run(&["filter", "--json-key", "request.url"], lines.as_bytes());
    let expected = concat!(
        "{\"id\":1,\"request\":{\"url\":\"/a\"}}\n",
        "not json\n",
        "{\"request\":{\"url\":\"/b\"}}\n",
        "not json\n",
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    assert!(
        standard_error(&output).contains("2 of 5 lines have no such value and were treated as new")
    );
    assert_prints(
        &["filter", "--json-key", "[1]"],
        b"[1,2]\n[3,2]\n[2,1]\n",
        b"[1,2]\n[2,1]\n",
    );
    assert_fails(
        &["filter", "--json-key", "a..b"],
        &["request.url", "`a..b`"],
    );
}

#[test]
fn regular_expression_matches_as_keys() {
    let lines = b"GET /a 200\nGET /a 304\nPOST /a 200\n\xff\n";
    let output = run(&["filter", "--key-regex", "GET (\\S+)"], lines);
    assert_eq!(output.stdout, b"GET /a 200\nPOST /a 200\n\xff\n");
    assert!(standard_error(&output).contains("2 of 4 lines have no such match"));
    assert_prints(
        &["filter", "--key-regex", "[0-9]+"],
        b"a1\nb1\nc2\n",
        b"a1\nc2\n",
    );
    assert_fails(&["filter", "--key-regex", "a("], &["unclosed group"]);
}

#[test]
fn key_options_exclude_each_other() {
    let both = ["--json-key", "a", "--key-regex", "b", "--field", "1"];
    for pair in [&both[..4], &both[2..], &[&both[..2], &both[4..]].concat()] {
        let arguments = [&["filter"], pair].concat();
        assert_fails(&arguments, &["cannot be used with"]);
    }
    assert_fails(&["filter", "--delimiter", ","], &["--field"]);
}

#[test]
fn normalize_treats_spellings_of_a_url_as_one_key() {
    let lines = b"HTTP://Harbour.example:80/a/../b#top\nhttp://harbour.example/b\n/b\n/b\n";
    assert_prints(
        &["filter", "--normalize", "whatwg"],
        lines,
        b"HTTP://Harbour.example:80/a/../b#top\n/b\n",
    );
    assert_prints(
        &["filter", "--normalize", "none"],
        lines,
        b"HTTP://Harbour.example:80/a/../b#top\nhttp://harbour.example/b\n/b\n",
    );
    assert_fails(
        &["filter", "--normalize", "idna"],
        &["none, whatwg or crawl", "`idna`"],
    );
}

#[test]
fn a_store_records_its_normalization() {
    let directory = TempDir::new().expect("a directory");
    let path = |name: &str| {
        directory
            .path()
            .join(name)
            .to_str()
            .expect("text")
            .to_owned()
    };
    let (plain, urls) = (path("plain.dds"), path("urls.dds"));
    let created = run(
        &[
            "create",
            &urls,
            "--memory",
            "64KiB",
            "--normalize",
            "whatwg",
        ],
        b"",
    );
    assert_eq!(
        created.status.code(),
        Some(0),
        "{}",
        standard_error(&created)
    );
    assert_prints(
        &["filter", &urls],
        b"http://a.example\n",
        b"http://a.example\n",
    );
    assert_prints(&["filter", &urls], b"HTTP://A.example/#x\n", b"");
    let contains = ["contains", &urls, "http://A.EXAMPLE"];
    assert_prints(&contains, b"", b"seen\thttp://A.EXAMPLE\n");
    let inspected = run(&["inspect", &urls, "--json"], b"").stdout;
    let inspected: serde_json::Value = serde_json::from_slice(&inspected).expect("an object");
    assert_eq!(inspected["normalization"], "whatwg");
    let parts = [
        "--normalize whatwg",
        "--normalize none",
        "dedupstore create",
    ];
    assert_fails(&["filter", &urls, "--normalize", "none"], &parts);
    assert_fails(
        &["filter", &urls, "--dry-run", "--normalize", "none"],
        &parts,
    );

    let first_run = ["-q", "filter", &plain, "--memory", "64KiB"];
    assert_prints(&first_run, b"http://a.example\n", b"http://a.example\n");
    assert_fails(&["filter", &plain, "--normalize", "whatwg"], &parts);
    assert_prints(&["filter", &plain, "--normalize", "none"], b"", b"");
}

/// A dry run prints what a real run prints and changes no file.
#[test]
fn a_dry_run_records_nothing() {
    let directory = TempDir::new().expect("a directory");
    let store = directory.path().join("links.dds");
    let name = store.to_str().expect("text");
    let dry = ["filter", name, "--dry-run", "--memory", "64KiB"];
    assert_prints(&dry, b"a\nb\na\n", b"a\nb\n");
    assert!(!store.exists());
    assert_prints(&["-q", "filter", name, "--memory", "64KiB"], b"a\n", b"a\n");
    let before = files(&store);
    for _ in 0..2 {
        assert_prints(&dry, b"a\nb\nb\n", b"b\n");
    }
    assert!(files(&store) == before);
    assert_fails(
        &["filter", name, "--dry-run", "--memory", "1MiB"],
        &["contradicts"],
    );
}

fn files(store: &Path) -> Vec<Vec<u8>> {
    ["image.0", "image.1", "log.0", "log.1", "mark"]
        .map(|name| fs::read(store.join(name)).expect("a file"))
        .to_vec()
}

#[test]
fn the_output_does_not_depend_on_threads_or_buffering() {
    let (log, new) = crawl();
    for options in [
        &["--threads", "2"][..],
        &["--threads", "4", "--normalize", "whatwg"],
        &["--line-buffered"],
        &["--threads", "2", "--key-regex", "^.*$"],
    ] {
        let arguments = [&["filter"], options].concat();
        assert_prints(&arguments, &log, &new);
    }
    assert_fails(&["filter", "--threads", "257"], &["from 0 to 256"]);
}
