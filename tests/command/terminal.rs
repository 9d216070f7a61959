//! Progress and colors on a terminal.
//!
//! `script` of util-linux provides the terminal; without it, these tests are skipped.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::DEDUPSTORE;

const RED: &str = "\x1b[31m";

/// Runs a shell command on a terminal; returns what it shows, or None without `script`.
fn on_a_terminal(command: &str, environment: &[(&str, &str)]) -> Option<String> {
    let mut script = Command::new("script");
    script
        .args(["-q", "-e", "-c", command, "/dev/null"])
        .env("DEDUPSTORE", DEDUPSTORE)
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .envs(environment.iter().copied())
        .stdin(Stdio::null());
    match script.output() {
        Ok(output) if output.status.code() != Some(127) => {
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        _ => {
            eprintln!("skipped: `script` is not installed");
            None
        }
    }
}

/// A run that takes longer than the progress line waits.
const SLOW_FILTER: &str = "\"$DEDUPSTORE\" filter --threads 1 --key-regex '[0-9]+'";

#[test]
fn progress_shows_rate_percentage_and_time_left() {
    let directory = TempDir::new().expect("a directory");
    let log = directory.path().join("log");
    let log = log.to_str().expect("text");
    let command = format!("\"$DEDUPSTORE\" generate shuffle:50 -n 6M > {log}");
    assert!(
        Command::new("sh")
            .args(["-c", &command])
            .env("DEDUPSTORE", DEDUPSTORE)
            .status()
            .expect("started")
            .success()
    );
    let run = |command: &str, environment: &[(&str, &str)]| {
        on_a_terminal(&command.replace("LOG", log), environment)
    };
    let Some(shown) = run(&format!("{SLOW_FILTER} LOG > /dev/null"), &[]) else {
        return;
    };
    for part in ["%", "lines,", "/s,", "left", "\x1b[32m"] {
        assert!(shown.contains(part), "{part:?} is not in {shown:?}");
    }
    let plain = run(
        &format!("{SLOW_FILTER} LOG > /dev/null"),
        &[("NO_COLOR", "1")],
    );
    let plain = plain.expect("a terminal");
    assert!(
        plain.contains("/s,") && !plain.contains("\x1b[32m"),
        "{plain:?}"
    );
    let piped = run(&format!("cat LOG | {SLOW_FILTER} > /dev/null"), &[]);
    let piped = piped.expect("a terminal");
    assert!(
        piped.contains("/s,") && !piped.contains("left"),
        "{piped:?}"
    );
    for silent in [
        "\"$DEDUPSTORE\" -q filter LOG > /dev/null",
        "\"$DEDUPSTORE\" filter LOG > /dev/null 2> /dev/null",
    ] {
        assert_eq!(run(silent, &[]).as_deref(), Some(""), "{silent}");
    }
    let lines = run("head -n 20000 LOG | \"$DEDUPSTORE\" filter", &[]);
    assert!(!lines.expect("a terminal").contains("/s,"));
}

#[test]
fn colors_are_used_on_terminals_and_on_request() {
    let command = "\"$DEDUPSTORE\" filter /no/such/file";
    let Some(shown) = on_a_terminal(command, &[]) else {
        return;
    };
    assert!(shown.contains(&format!("{RED}dedupstore:")), "{shown:?}");
    for (command, environment, colored) in [
        (
            "\"$DEDUPSTORE\" filter /no",
            &[("NO_COLOR", "1")][..],
            false,
        ),
        ("\"$DEDUPSTORE\" filter /no", &[("TERM", "dumb")], false),
        ("\"$DEDUPSTORE\" --color never filter /no", &[], false),
        (
            "\"$DEDUPSTORE\" filter --color=always /no",
            &[("NO_COLOR", "1")],
            true,
        ),
        ("\"$DEDUPSTORE\" filter /no 2>&1 | cat", &[], false),
        (
            "\"$DEDUPSTORE\" --color always filter /no 2>&1 | cat",
            &[],
            true,
        ),
    ] {
        let shown = on_a_terminal(command, environment).expect("a terminal");
        assert!(shown.contains("/no"), "{shown:?}");
        assert_eq!(shown.contains(RED), colored, "{command}: {shown:?}");
    }
}
