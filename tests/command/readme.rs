//! The README's shell session, run as it stands.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use dedupstore_tests::root;

use crate::DEDUPSTORE;

/// Each `$ command` of the console blocks, with the output that follows it.
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

/// Times differ from run to run, and with them the widths of columns; nothing else may.
fn without_times(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    for i in 1..words.len() {
        if words[i].starts_with("ns") {
            words[i - 1] = "…";
        }
    }
    words.join(" ")
}

#[test]
fn the_session_prints_what_it_says() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("kept");
    let sessions = sessions(&readme);
    assert!(sessions.len() >= 3);
    let programs = Path::new(DEDUPSTORE).parent().expect("a directory");
    let path = std::env::var("PATH").expect("a path");
    // A place of its own, as some commands leave something behind.
    let place = tempfile::TempDir::new().expect("a place");
    let fixtures = place.path().join("fixtures");
    std::os::unix::fs::symlink(root().join("fixtures"), fixtures).expect("linked");
    for (command, expected) in sessions {
        let output = Command::new("sh")
            .args(["-c", &command])
            .current_dir(place.path())
            .env("PATH", format!("{}:{path}", programs.display()))
            .output()
            .expect("a shell");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(
            without_times(&printed),
            without_times(&expected),
            "{command}"
        );
    }
}
