//! inspect, verify, repair, checkpoint and backup: their output and exit codes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dedupstore::store::{CreateOptions, Durability, OpenOptions, Store};
use tempfile::TempDir;

use crate::DEDUPSTORE;

fn run(arguments: &[&str]) -> Output {
    let output = Command::new(DEDUPSTORE).args(arguments).output();
    output.expect("started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks the exit code of a command and that its output, on both streams, contains these texts.
#[track_caller]
fn assert_output(arguments: &[&str], code: i32, parts: &[&str]) -> String {
    let output = run(arguments);
    let all = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {all}");
    assert!(!all.contains("panicked"), "{all}");
    for part in parts {
        assert!(all.contains(part), "{part:?} is not in {all:?}");
    }
    all
}

/// Creates a store with 3,000 observations in two checkpoints and 500 in the log, all durable.
fn store(directory: &TempDir) -> (PathBuf, String) {
    let path = directory.path().join("links.dds");
    let create = CreateOptions::new("bloom:k=4")
        .expect("a filter")
        .memory_bits(8 << 16);
    let opening = OpenOptions::new().durability(Durability::None);
    let mut store = opening.create(&path, &create).expect("created");
    for number in 0..3500u32 {
        store.observe(number.to_le_bytes()).expect("observed");
        if number == 999 || number == 2999 {
            store.checkpoint().expect("checkpoint");
        }
    }
    store.sync().expect("synced");
    let name = path.display().to_string();
    (path, name)
}

fn flip(path: &Path, file: &str, offset: usize) {
    let path = path.join(file);
    let mut bytes = fs::read(&path).expect("a file");
    bytes[offset] ^= 1;
    fs::write(&path, bytes).expect("written");
}

#[test]
fn inspect_prints_a_page_or_a_json_object() {
    let directory = TempDir::new().expect("a directory");
    let (_, name) = store(&directory);
    let parts = [
        "bloom:k=4",
        "64 KiB",
        "3,000, generation 2",
        "durable        3,500",
        "recorded       3,500",
        "estimated FPR",
        "xxh3-64/1",
    ];
    assert_output(&["inspect", &name], 0, &parts);
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
fn exit_codes_of_verify_and_repair() {
    let directory = TempDir::new().expect("a directory");
    let (path, name) = store(&directory);
    assert_output(&["verify", &name], 0, &["is intact"]);
    assert_eq!(assert_output(&["-q", "verify", &name], 0, &[]), "");
    assert_output(&["repair", &name], 0, &["no corruption found"]);
    flip(&path, "image.0", 5000);
    let next = format!("dedupstore repair {name}");
    assert_output(
        &["verify", &name],
        1,
        &["image.0: byte 4096: expected", &next],
    );
    assert_output(&["checkpoint", &name], 2, &["dedupstore verify"]);
    let parts = [
        "3,500 observations",
        "nothing is lost",
        "links.dds.damaged-1",
    ];
    assert_output(&["repair", &name], 0, &parts);
    assert_output(&["verify", &name], 0, &["is intact"]);
}

#[test]
fn repair_needs_consent_to_lose_observations() {
    let directory = TempDir::new().expect("a directory");
    let (path, name) = store(&directory);
    // Frames of one observation each, 48 bytes: the eleventh is number 3,011.
    flip(&path, "log.0", 512 + 10 * 48 + 20);
    let parts = [
        "observations 3011 to 3500",
        "--accept-loss",
        "nothing was changed",
    ];
    assert_output(&["repair", &name], 2, &parts);
    let parts = ["observations 3011 to 3500 are lost", "links.dds.damaged-1"];
    assert_output(&["repair", &name, "--accept-loss"], 0, &parts);
    assert_output(&["verify", &name], 0, &["is intact"]);
    assert_output(&["inspect", &name], 0, &["3,010"]);
}

#[test]
fn checkpoint_applies_the_log_and_backup_copies() {
    let directory = TempDir::new().expect("a directory");
    let (_, name) = store(&directory);
    let copy = directory.path().join("copy.dds").display().to_string();
    assert_output(&["backup", &name, &copy], 0, &["3,500 observations"]);
    assert_output(&["verify", &copy], 0, &["is intact"]);
    assert_output(&["backup", &name, &copy], 2, &["already exists"]);
    let parts = ["500 observations applied from the log", "3,500 in total"];
    assert_output(&["checkpoint", &name], 0, &parts);
    assert_output(&["checkpoint", &name], 0, &["0 observations applied"]);
    assert_output(&["inspect", &name], 0, &["3,500, generation 3"]);
}

#[test]
fn missing_invalid_and_busy_stores_are_reported_with_the_next_command() {
    let directory = TempDir::new().expect("a directory");
    let copy = directory.path().join("copy.dds").display().to_string();
    let missing = directory.path().join("none.dds").display().to_string();
    let file = directory.path().join("file").display().to_string();
    fs::write(&file, "not a store").expect("written");
    let (path, name) = store(&directory);
    for command in ["inspect", "verify", "repair", "checkpoint", "backup"] {
        let arguments = |store: &str| -> Vec<String> {
            let mut arguments = vec![command.to_owned(), store.to_owned()];
            arguments.extend((command == "backup").then(|| copy.clone()));
            arguments
        };
        let check = |store: &str, code: i32, parts: &[&str]| {
            let arguments = arguments(store);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            assert_output(&arguments, code, parts);
        };
        let create = format!("dedupstore create {missing}");
        check(&missing, 2, &["there is no store", &create]);
        check(&file, 2, &["it is a file", "dedupstore create"]);
        let writer = Store::open(&path).expect("opened");
        match command {
            "verify" => check(&name, 2, &["in use", "dedupstore backup"]),
            "repair" | "checkpoint" => check(&name, 2, &["in use", "dedupstore inspect"]),
            _ => check(&name, 0, &[]),
        }
        drop(writer);
    }
    assert_eq!(fs::read(&file).expect("a file"), b"not a store");
}
