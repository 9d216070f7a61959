//! Runs the shell session of README.md and compares the output.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use dedupstore_tests::root;

use crate::DEDUPSTORE;

/// Returns each `$ command` of the console blocks with its output.
fn sessions(text: &str) -> Vec<(String, String)> {
    let mut sessions: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            line if inside => match (line.strip_prefix("$ "), sessions.last_mut()) {
                (Some(command), _) => sessions.push((command.to_owned(), String::new())),
                (None, Some((_, output))) => *output += &format!("{line}\n"),
                (None, None) => panic!("output before any command: {line}"),
            },
            _ => {}
        }
    }
    sessions
}

/// Removes the times, which differ from run to run, and the widths of columns, which depend on
/// them.
fn without_times(text: &str) -> String {
    let mut in_table = false;
    let lines = text.lines().map(|line| {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let is_header = words.last() == Some(&"ns/key");
        if let (true, Some(time)) = (in_table, words.last_mut()) {
            *time = "…";
        }
        in_table = is_header || (in_table && !words.is_empty());
        words.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_session_prints_the_output_shown() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("a file");
    let sessions = sessions(&readme);
    assert!(sessions.len() >= 3);
    let programs = Path::new(DEDUPSTORE).parent().expect("a directory");
    let path = std::env::var("PATH").expect("a path");
    // Some commands create files.
    let directory = tempfile::TempDir::new().expect("a directory");
    let fixtures = directory.path().join("fixtures");
    std::os::unix::fs::symlink(root().join("fixtures"), fixtures).expect("linked");
    for (command, expected) in sessions {
        let output = Command::new("sh")
            .args(["-c", &command])
            .current_dir(directory.path())
            .env("PATH", format!("{}:{path}", programs.display()))
            .output()
            .expect("started");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(
            without_times(&printed),
            without_times(&expected),
            "{command}"
        );
    }
}
