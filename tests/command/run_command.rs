//! Runs the command line and checks its output.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::DEDUPSTORE;

/// Runs the program with arguments and standard input until it ends.
pub fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(DEDUPSTORE)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // The program may stop reading early.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("ended");
    writer.join().expect("written");
    output
}

/// Returns the standard error of a run.
pub fn standard_error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks that a command succeeds and prints exactly this.
#[track_caller]
pub fn assert_prints(arguments: &[&str], input: &[u8], expected: &[u8]) {
    let output = run(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{}", standard_error(&output));
    assert!(
        output.stdout == expected,
        "{arguments:?} printed {}; expected {}",
        beginning(&output.stdout),
        beginning(expected),
    );
}

/// Shows the first bytes of an output.
fn beginning(bytes: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]);
    format!("{shown:?} ({} bytes)", bytes.len())
}

/// Checks that a command fails with exit code 2, prints nothing, and reports these texts.
#[track_caller]
pub fn assert_fails(arguments: &[&str], parts: &[&str]) {
    let output = run(arguments, b"");
    let message = standard_error(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty());
    assert!(!message.contains("panicked"), "{message}");
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}
