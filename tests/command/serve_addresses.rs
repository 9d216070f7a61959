//! `filter`, `contains` and `inspect` with a store on a server.
#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::DEDUPSTORE;
use crate::run_command::{assert_fails, assert_prints, run, standard_error};
use crate::serve::{SMALL, directory, small, start};

#[test]
fn filter_contains_and_inspect_take_an_address() {
    let directory = directory();
    let server = small(&directory);
    let address = format!("redis://{}/links", server.address());
    assert_prints(&["filter", &address], b"a\nb\na\nc\nb\n", b"a\nb\nc\n");
    assert_prints(&["filter", &address], b"c\nd\n", b"d\n");
    assert_prints(&["filter", &address, "--dry-run"], b"d\ne\ne\n", b"e\n");
    assert_prints(&["filter", &address, "-d"], b"e\na\n", b"a\n");
    let output = run(&["contains", &address], b"a\nx\n");
    assert_eq!(output.stdout, b"seen\ta\nnew\tx\n");
    assert_eq!(output.status.code(), Some(1), "{}", standard_error(&output));
    let inspected = run(&["inspect", &address, "--json"], b"");
    let text = String::from_utf8_lossy(&inspected.stdout).into_owned();
    assert!(text.contains("\"live_new\":5"), "{text}");
    assert!(text.contains("\"schema\":1"), "{text}");
    let report = run(&["inspect", &address], b"");
    assert!(String::from_utf8_lossy(&report.stdout).contains("64 KiB"));
    let lines: String = (0..20_000)
        .map(|number| format!("{number}\n{number}\n"))
        .collect();
    let output = run(&["filter", &address, "--stats", "json"], lines.as_bytes());
    assert_eq!(
        output.stdout.iter().filter(|&&byte| byte == b'\n').count(),
        20_000
    );
    let statistics = standard_error(&output);
    assert!(statistics.contains("\"lines\":40000"), "{statistics}");
    assert_fails(
        &["filter", &address, "--memory", "1MiB"],
        &["--memory", "serve"],
    );
    assert_fails(
        &["contains", "redis://127.0.0.1:1/x", "a"],
        &["dedupstore serve"],
    );
    assert_fails(&["inspect", "redis://127.0.0.1"], &["name of a store"]);
}

#[test]
fn an_address_with_tls_checks_the_certificate() {
    let directory = directory();
    let tls = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients/tls");
    let file = |name: &str| tls.join(name).to_string_lossy().into_owned();
    let (certificate, key) = (file("certificate.pem"), file("key.pem"));
    let options = ["--tls-cert", &certificate, "--tls-key", &key];
    let server = start(&directory, &[&SMALL[..], &options].concat());
    let address = format!("rediss://localhost:{}/links", server.port());
    let run = |arguments: &[&str], authorities: &str| {
        let mut command = Command::new(DEDUPSTORE);
        command.args(arguments).env("SSL_CERT_FILE", authorities);
        command.output().expect("ran")
    };
    let authority = file("authority.pem");
    let created = run(&["filter", &address, &key], &authority);
    assert!(created.status.success(), "{}", standard_error(&created));
    assert!(!created.stdout.is_empty());
    let answer = run(&["contains", &address, "a"], &authority);
    assert_eq!(answer.stdout, b"new\ta\n", "{}", standard_error(&answer));
    // Another authority or none, and a server that does not speak TLS.
    let without = run(&["contains", &address, "a"], "/dev/null");
    assert_eq!(without.status.code(), Some(2));
    let text = standard_error(&without);
    assert!(text.contains("SSL_CERT_FILE"), "{text}");
    let other = TempDir::new().expect("a directory");
    let plain = small(&other);
    let address = format!("rediss://localhost:{}/links", plain.port());
    let refused = run(&["contains", &address, "a"], &authority);
    assert_eq!(refused.status.code(), Some(2));
    let text = standard_error(&refused);
    assert!(text.contains("cannot connect"), "{text}");
}

/// Two runs of `filter` on the same lines: together they print each line once.
#[test]
fn two_filters_at_a_time_print_each_line_once() {
    let directory = directory();
    let server = small(&directory);
    let address = format!("redis://{}/links", server.address());
    let lines: String = (0..30_000)
        .map(|number| format!("line {number}\n"))
        .collect();
    let filter = || run(&["filter", &address], lines.as_bytes());
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..2).map(|_| scope.spawn(filter)).collect();
        runs.into_iter()
            .map(|run| run.join().expect("ended"))
            .collect()
    });
    let mut printed: Vec<&[u8]> = Vec::new();
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", standard_error(output));
        printed.extend(output.stdout.split_inclusive(|&byte| byte == b'\n'));
    }
    printed.sort();
    let mut expected: Vec<&[u8]> = lines
        .as_bytes()
        .split_inclusive(|&byte| byte == b'\n')
        .collect();
    expected.sort();
    // A new line can be a false positive; none is printed twice.
    let count = printed.len();
    printed.dedup();
    assert_eq!(printed.len(), count, "a line was printed twice");
    assert!(
        count > expected.len() * 99 / 100,
        "{count} of {} lines",
        expected.len()
    );
}
