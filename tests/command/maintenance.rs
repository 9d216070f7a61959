//! Looking after a store from the shell: what is printed, and how it exits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dedupstore::store::{CreateOptions, Durability, OpenOptions, Store};
use tempfile::TempDir;

use crate::DEDUPSTORE;

fn run(arguments: &[&str]) -> Output {
    let output = Command::new(DEDUPSTORE).args(arguments).output();
    output.expect("the command line was built")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs to an exit code; the parts must be in what it says, on either stream.
#[track_caller]
fn assert_says(arguments: &[&str], code: i32, parts: &[&str]) -> String {
    let output = run(arguments);
    let all = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {all}");
    assert!(!all.contains("panicked"), "{all}");
    for part in parts {
        assert!(all.contains(part), "{part:?} is not in {all:?}");
    }
    all
}

/// 3,000 observations in two checkpoints and 500 in the log, all of them durable.
fn store(directory: &TempDir) -> (PathBuf, String) {
    let path = directory.path().join("links.dds");
    let create = CreateOptions::new("bloom:k=4".parse().expect("a filter"), 8 << 16);
    let opening = OpenOptions {
        durability: Durability::None,
        ..OpenOptions::default()
    };
    let mut store = Store::create(&path, &create, opening).expect("made");
    for number in 0..3500u32 {
        store.observe(&number.to_le_bytes()).expect("observed");
        if number == 999 || number == 2999 {
            store.checkpoint().expect("folded");
        }
    }
    store.sync().expect("synced");
    let name = path.display().to_string();
    (path, name)
}

fn flip(path: &Path, file: &str, offset: usize) {
    let path = path.join(file);
    let mut bytes = fs::read(&path).expect("there");
    bytes[offset] ^= 1;
    fs::write(&path, bytes).expect("written");
}

#[test]
fn inspect_shows_a_page_and_an_object() {
    let directory = TempDir::new().expect("a place");
    let (_, name) = store(&directory);
    let parts = [
        "bloom:k=4",
        "64 KiB",
        "3,000, generation 2",
        "durable        3,500",
        "in the log     3,500",
        "drop chance",
        "xxh3-64/1",
    ];
    assert_says(&["inspect", &name], 0, &parts);
    let output = run(&["inspect", &name, "--json"]);
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert!(text(&output.stdout).starts_with("{\"schema\":1,"));
    for (key, value) in [
        ("format_version", 1),
        ("memory_bits", 8 << 16),
        ("generation", 2),
        ("checkpointed_sequence", 3000),
        ("durable_sequence", 3500),
        ("log_sequence", 3500),
        ("observations", 3000),
    ] {
        assert_eq!(object[key], value, "{key}");
    }
    assert_eq!(object["torn_tail"], serde_json::Value::Null);
    assert_eq!(object["id"].as_str().map(str::len), Some(32));
}

#[test]
fn verify_and_repair_and_their_exit_codes() {
    let directory = TempDir::new().expect("a place");
    let (path, name) = store(&directory);
    assert_says(&["verify", &name], 0, &["is whole"]);
    assert_eq!(assert_says(&["-q", "verify", &name], 0, &[]), "");
    assert_says(&["repair", &name], 0, &["nothing was done"]);
    flip(&path, "image.0", 5000);
    let next = format!("dedupstore repair {name}");
    assert_says(
        &["verify", &name],
        1,
        &["image.0: byte 4096: expected", &next],
    );
    assert_says(&["checkpoint", &name], 2, &["dedupstore verify"]);
    let parts = [
        "3,500 observations",
        "nothing is lost",
        "links.dds.damaged-1",
    ];
    assert_says(&["repair", &name], 0, &parts);
    assert_says(&["verify", &name], 0, &["is whole"]);
}

#[test]
fn a_loss_needs_consent() {
    let directory = TempDir::new().expect("a place");
    let (path, name) = store(&directory);
    // Frames of one observation each, 48 bytes: the eleventh is number 3,011.
    flip(&path, "log.0", 512 + 10 * 48 + 20);
    let parts = [
        "observations 3011 to 3500",
        "--accept-loss",
        "nothing was changed",
    ];
    assert_says(&["repair", &name], 2, &parts);
    let parts = ["observations 3011 to 3500 are lost", "links.dds.damaged-1"];
    assert_says(&["repair", &name, "--accept-loss"], 0, &parts);
    assert_says(&["verify", &name], 0, &["is whole"]);
    assert_says(&["inspect", &name], 0, &["3,010"]);
}

#[test]
fn checkpoint_folds_and_backup_copies() {
    let directory = TempDir::new().expect("a place");
    let (_, name) = store(&directory);
    let copy = directory.path().join("copy.dds").display().to_string();
    assert_says(&["backup", &name, &copy], 0, &["3,500 observations"]);
    assert_says(&["verify", &copy], 0, &["is whole"]);
    assert_says(&["backup", &name, &copy], 2, &["exists already"]);
    let parts = ["500 observations folded", "3,500 in all"];
    assert_says(&["checkpoint", &name], 0, &parts);
    assert_says(&["checkpoint", &name], 0, &["0 observations folded"]);
    assert_says(&["inspect", &name], 0, &["3,500, generation 3"]);
}

#[test]
fn what_is_no_store_or_in_use_is_told_with_what_to_run() {
    let directory = TempDir::new().expect("a place");
    let copy = directory.path().join("copy.dds").display().to_string();
    let missing = directory.path().join("none.dds").display().to_string();
    let file = directory.path().join("file").display().to_string();
    fs::write(&file, "mine").expect("written");
    let (path, name) = store(&directory);
    for command in ["inspect", "verify", "repair", "checkpoint", "backup"] {
        let arguments = |store: &str| -> Vec<String> {
            let mut arguments = vec![command.to_owned(), store.to_owned()];
            arguments.extend((command == "backup").then(|| copy.clone()));
            arguments
        };
        let say = |store: &str, code: i32, parts: &[&str]| {
            let arguments = arguments(store);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            assert_says(&arguments, code, parts);
        };
        let create = format!("dedupstore create {missing}");
        say(&missing, 2, &["cannot open", &create]);
        say(&file, 2, &["it is a file", "dedupstore create"]);
        let held = Store::open(&path, OpenOptions::default()).expect("opened");
        match command {
            "verify" => say(&name, 2, &["in use", "dedupstore backup"]),
            "repair" | "checkpoint" => say(&name, 2, &["in use", "dedupstore inspect"]),
            _ => say(&name, 0, &[]),
        }
        drop(held);
    }
    assert_eq!(fs::read(&file).expect("there"), b"mine");
}
