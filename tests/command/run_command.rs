//! Running the command line to its end, and what is expected of it then.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::DEDUPSTORE;

/// Runs with arguments and standard input to the end.
pub fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(DEDUPSTORE)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command line was built");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || {
        // A command that stops reading early is not this test's concern.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("it ends");
    feeder.join().expect("it was fed");
    output
}

/// What it said on standard error.
pub fn standard_error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Success, with just this on standard output.
#[track_caller]
pub fn assert_prints(arguments: &[&str], input: &[u8], expected: &[u8]) {
    let output = run(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{}", standard_error(&output));
    assert!(
        output.stdout == expected,
        "{arguments:?} printed {:?}, not {:?}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(expected),
    );
}

/// An error: exit code 2, nothing on standard output, one message with these parts.
#[track_caller]
pub fn assert_refuses(arguments: &[&str], parts: &[&str]) {
    let output = run(arguments, b"");
    let message = standard_error(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty());
    assert!(!message.contains("panicked"), "{message}");
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}
