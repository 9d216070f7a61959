//! `filter --warc`: records of captures whose key is new are passed on whole.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::run_command::{assert_fails, assert_prints, run, standard_error};
use crate::store_commands::WorkingDirectory;

fn record(kind: &str, target: &str, fields: &str, content: &str) -> String {
    let target = match target {
        "" => String::new(),
        target => format!("WARC-Target-URI: {target}\r\n"),
    };
    let length = content.len();
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\n{target}{fields}Content-Length: {length}\r\n\r\n{content}\r\n\r\n"
    )
}

/// The request and the response of a page.
fn capture(target: &str, digest: &str, content: &str) -> String {
    let digest = format!("WARC-Payload-Digest: sha1:{digest}\r\n");
    let request = record("request", target, "", "GET / HTTP/1.1\r\n\r\n");
    request + &record("response", target, &digest, content)
}

fn sample() -> (String, String, String, String) {
    (
        record("warcinfo", "", "", "software: a crawler"),
        capture("http://a.example/", "A", "a page\r\n\r\nwith lines\n"),
        capture("http://b.example/", "A", "a page\r\n\r\nwith lines\n"),
        capture("http://a.example/", "B", "another page"),
    )
}

fn members(records: &[&str]) -> Vec<u8> {
    let mut file = Vec::new();
    for record in records {
        let mut member = GzEncoder::new(&mut file, Compression::default());
        member.write_all(record.as_bytes()).expect("in memory");
        member.finish().expect("in memory");
    }
    file
}

#[test]
fn the_key_is_the_target_or_the_digest_and_a_request_follows_its_response() {
    let (info, a, b, again) = sample();
    let all = [info.as_str(), &a, &b, &again].concat();
    let by_target = [info.as_str(), &a, &b].concat();
    let by_digest = [info.as_str(), &a, &again].concat();
    let compressed = members(&[&info, &a, &b, &again]);
    for input in [all.as_bytes(), &compressed] {
        assert_prints(&["filter", "--warc", "uri"], input, by_target.as_bytes());
        assert_prints(&["filter", "--warc", "digest"], input, by_digest.as_bytes());
        assert_prints(&["filter", "--warc", "uri", "-d"], input, again.as_bytes());
    }
}

#[test]
fn a_store_remembers_captures_and_targets_can_be_normalized() {
    let (info, a, b, _) = sample();
    let directory = WorkingDirectory::new();
    let first = directory.prints(
        "filter a.dds --memory 64KiB --normalize crawl --warc uri",
        &(info.clone() + &a),
    );
    assert_eq!(first, info.clone() + &a);
    let spelled = a.replace("http://a.example/", "<HTTP://A.example:80/?utm_source=x>");
    let second = directory.prints("filter a.dds --warc uri", &(spelled + &b));
    assert_eq!(second, b);
}

#[test]
fn a_record_above_the_limit_is_passed_on_and_not_judged() {
    let large = capture("http://a.example/", "A", &"x".repeat(100_000));
    let twice = large.clone() + &large;
    // The requests are small: the second one repeats the first.
    let response = large
        .find("WARC/1.0\r\nWARC-Type: response")
        .expect("there");
    let expected = large.clone() + &large[response..];
    let arguments = ["-q", "filter", "--warc", "uri", "--max-line", "64KiB"];
    assert_prints(&arguments, twice.as_bytes(), expected.as_bytes());
}

#[test]
fn what_is_cut_off_or_no_warc_file_is_reported_and_other_files_are_read() {
    assert_fails(
        &["filter", "--warc", "uri", "--field", "1"],
        &["cannot be used with"],
    );
    let output = run(&["filter", "--warc", "uri"], b"https://a.example/\n");
    assert_eq!(output.status.code(), Some(2));
    let message = standard_error(&output);
    assert!(
        message.contains("begins with WARC/; found `https://a.example/`"),
        "{message}"
    );
    let (info, a, b, _) = sample();
    let directory = WorkingDirectory::new();
    fs::write(directory.path("cut.warc"), &(info + &a)[..150]).expect("written");
    fs::write(directory.path("whole.warc"), &b).expect("written");
    let output = directory.run(
        "filter a.dds --memory 64KiB --warc uri cut.warc whole.warc",
        "",
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).ends_with(&b));
    let again = directory.run("filter a.dds --warc uri whole.warc", "");
    assert!(again.stdout.is_empty(), "it was recorded");
}
