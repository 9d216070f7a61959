//! Keys out of lines and lines out of packed files, as the shell meets them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use dedupstore_tests::fixture;
use tempfile::TempDir;

use crate::running::{assert_prints, assert_refuses, run, standard_error};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("in memory");
    // As the tool does.
    encoder.include_checksum(true).expect("it can");
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

/// The crawl log, and the lines of it that are new.
fn crawl() -> (Vec<u8>, Vec<u8>) {
    let log = fs::read(fixture("crawl.log")).expect("kept");
    let mut met = std::collections::HashSet::new();
    let new: Vec<&[u8]> = log
        .split_inclusive(|&byte| byte == b'\n')
        .filter(|line| met.insert(*line))
        .collect();
    let new = new.concat();
    (log, new)
}

fn write(directory: &TempDir, name: &str, bytes: &[u8]) -> (PathBuf, String) {
    let path = directory.path().join(name);
    fs::write(&path, bytes).expect("written");
    let name = path.to_str().expect("text").to_owned();
    (path, name)
}

#[test]
fn packed_files_are_read_by_what_they_are() {
    let directory = TempDir::new().expect("a place");
    let (log, new) = crawl();
    let (first, second) = log.split_at(200_000);
    for threads in ["1", "3"] {
        for (name, packed) in [
            ("a.gz", gzip(&log)),
            ("a.zst", zstandard(&log)),
            // Several members, or frames, behind one another.
            ("b.gz", [gzip(first), gzip(second)].concat()),
            ("b.zst", [zstandard(first), zstandard(second)].concat()),
            ("without-ending", gzip(&log)),
            ("wrong-ending.zst", gzip(&log)),
            ("a.log", log.clone()),
            ("a.gz.txt", log.clone()),
        ] {
            let (_, name) = write(&directory, name, &packed);
            assert_prints(&["filter", "--threads", threads, &name], b"", &new);
            assert_prints(&["filter", "--threads", threads], &packed, &new);
        }
    }
    let (_, packed) = write(&directory, "c.gz", &gzip(b"a\nb\n"));
    let (_, plain) = write(&directory, "c", b"b\nc\n");
    assert_prints(
        &["filter", &packed, "-", &plain],
        &zstandard(b"x\na\n"),
        b"a\nb\nx\nc\n",
    );
    let (_, empty) = write(&directory, "empty.gz", b"");
    assert_prints(&["filter", &empty, &plain], b"", b"b\nc\n");
    assert_prints(
        &["filter", "--decompress", "never", &packed],
        b"",
        &gzip(b"a\nb\n"),
    );
}

#[test]
fn what_a_cut_off_or_damaged_file_still_holds_is_delivered() {
    let directory = TempDir::new().expect("a place");
    let (log, new) = crawl();
    let store = directory.path().join("links.dds");
    let store = store.to_str().expect("text");
    for (name, whole, check) in [
        ("a.gz", gzip(&log), "gzip -t"),
        ("a.zst", zstandard(&log), "zstd -t"),
    ] {
        let mut damaged = whole.clone();
        let end = damaged.len() - 3;
        damaged[end] ^= 1;
        let cut = whole[..whole.len() * 3 / 4].to_vec();
        for (bytes, what) in [(cut, "cut off"), (damaged, "damaged")] {
            let (_, name) = write(&directory, name, &bytes);
            for threads in ["1", "2"] {
                let output = run(&["filter", "--threads", threads, &name], b"");
                let message = standard_error(&output);
                assert_eq!(output.status.code(), Some(2), "{message}");
                for part in [name.as_str(), what, check] {
                    assert!(message.contains(part), "{part:?} is not in {message:?}");
                }
                assert!(!output.stdout.is_empty() && new.starts_with(&output.stdout));
                assert!(output.stdout.ends_with(b"\n"), "no line is cut off");
            }
            // What was delivered is recorded, so the whole file brings just the rest.
            let before = run(&["-q", "filter", store, &name, "--memory", "1MiB"], b"").stdout;
            let (_, name) = write(&directory, "whole.gz", &gzip(&log));
            let after = run(&["-q", "filter", store, &name], b"").stdout;
            assert!([before, after].concat() == new);
            fs::remove_dir_all(store).expect("removed");
        }
    }
    let (_, name) = write(&directory, "no.gz", b"plain\n");
    assert_refuses(&["filter", &name], &[&name, "gzip", "--decompress never"]);
}

#[test]
fn keys_are_values_of_json_lines() {
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
    assert!(standard_error(&output).contains("2 lines had no such value and were passed on"));
    assert_prints(
        &["filter", "--json-key", "[1]"],
        b"[1,2]\n[3,2]\n[2,1]\n",
        b"[1,2]\n[2,1]\n",
    );
    assert_refuses(
        &["filter", "--json-key", "a..b"],
        &["request.url", "`a..b`"],
    );
}

#[test]
fn keys_are_what_an_expression_matches() {
    let lines = b"GET /a 200\nGET /a 304\nPOST /a 200\n\xff\n";
    let output = run(&["filter", "--key-regex", "GET (\\S+)"], lines);
    assert_eq!(output.stdout, b"GET /a 200\nPOST /a 200\n\xff\n");
    assert!(standard_error(&output).contains("2 lines had no such match"));
    assert_prints(
        &["filter", "--key-regex", "[0-9]+"],
        b"a1\nb1\nc2\n",
        b"a1\nc2\n",
    );
    assert_refuses(&["filter", "--key-regex", "a("], &["unclosed group"]);
}

#[test]
fn one_way_to_choose_a_key_at_a_time() {
    let both = ["--json-key", "a", "--key-regex", "b", "--field", "1"];
    for pair in [&both[..4], &both[2..], &[&both[..2], &both[4..]].concat()] {
        let arguments = [&["filter"], pair].concat();
        assert_refuses(&arguments, &["cannot be used with"]);
    }
    assert_refuses(&["filter", "--delimiter", ","], &["--field"]);
}

#[test]
fn spellings_of_a_url_are_one_key_where_asked_for() {
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
    assert_refuses(
        &["filter", "--normalize", "idna"],
        &["none or whatwg", "`idna`"],
    );
}

#[test]
fn a_store_knows_how_its_keys_are_spelled() {
    let directory = TempDir::new().expect("a place");
    let path = |name: &str| {
        directory
            .path()
            .join(name)
            .to_str()
            .expect("text")
            .to_owned()
    };
    let (plain, urls) = (path("plain.dds"), path("urls.dds"));
    let made = run(
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
    assert_eq!(made.status.code(), Some(0), "{}", standard_error(&made));
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
    assert_refuses(&["filter", &urls, "--normalize", "none"], &parts);
    assert_refuses(
        &["filter", &urls, "--dry-run", "--normalize", "none"],
        &parts,
    );

    let fresh = ["-q", "filter", &plain, "--memory", "64KiB"];
    assert_prints(&fresh, b"http://a.example\n", b"http://a.example\n");
    assert_refuses(&["filter", &plain, "--normalize", "whatwg"], &parts);
    assert_prints(&["filter", &plain, "--normalize", "none"], b"", b"");
}

/// The output is what a real run prints, and nothing is left behind.
#[test]
fn a_dry_run_records_nothing() {
    let directory = TempDir::new().expect("a place");
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
    assert_refuses(
        &["filter", name, "--dry-run", "--memory", "1MiB"],
        &["contradicts"],
    );
}

fn files(store: &Path) -> Vec<Vec<u8>> {
    ["image.0", "image.1", "log.0", "log.1", "mark"]
        .map(|name| fs::read(store.join(name)).expect("there"))
        .to_vec()
}

#[test]
fn threads_and_line_buffering_change_nothing_but_the_time() {
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
    assert_refuses(&["filter", "--threads", "0"], &["from 1 to 256"]);
}
