//! Stores whose files are missing, unreadable, forged, or something else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{contents, create, dedupstore, standard_error, store_path, succeed};
use crate::DEDUPSTORE;

#[track_caller]
fn fails(arguments: &[&str], parts: &[&str]) {
    let output = dedupstore(arguments).output().expect("started");
    let message = standard_error(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

#[test]
fn a_store_without_one_of_its_files_is_not_replaced_and_can_be_repaired() {
    for file in ["lock", "mark", "image.0", "image.1", "log.0", "log.1"] {
        let (directory, path) = store_path();
        // Without the extension, only its files tell that it is a store.
        let path = path.with_file_name("links");
        create(&path, "64KiB", "64KiB");
        let store = path.to_str().expect("text");
        let input = directory.path().join("input");
        fs::write(&input, "one\ntwo\n").expect("written");
        let input = input.to_str().expect("text");
        succeed(["filter", store, input]);
        fs::remove_file(path.join(file)).expect("removed");
        let before = contents(&path);
        let named = format!("{store} lacks the file `{file}`");
        let repair = format!("dedupstore repair {store}");
        for command in [
            &["filter", store, input][..],
            &["contains", store, "one"],
            &["inspect", store],
            &["checkpoint", store],
        ] {
            fails(command, &[&named, &repair]);
        }
        fails(
            &["create", store],
            &["already exists", "dedupstore inspect"],
        );
        assert!(contents(&path) == before, "something was changed");
        let verified = dedupstore(["verify", store, "--json"]).output();
        let verified = verified.expect("started");
        assert_eq!(verified.status.code(), Some(1));
        let verified: Value = serde_json::from_slice(&verified.stdout).expect("an object");
        assert_eq!(
            (&verified["schema"], &verified["intact"]),
            (&1.into(), &false.into())
        );
        let findings = verified["findings"].as_array().expect("a list");
        assert!(findings.iter().any(|it| it["file"] == file), "{verified}");
        let repaired = standard_error(&succeed(["repair", store]));
        assert!(repaired.contains("nothing is lost"), "{repaired}");
        assert!(repaired.contains(file), "{repaired}");
        let output = succeed(["contains", store, "one", "two"]);
        assert_eq!(output.stdout, b"seen\tone\nseen\ttwo\n");
        let verified = succeed(["verify", store, "--json"]);
        let verified: Value = serde_json::from_slice(&verified.stdout).expect("an object");
        assert_eq!(verified["intact"], true);
    }
}

/// Runs as a user without privileges, if the test may do that.
#[test]
fn a_directory_without_permission_is_reported_as_such() {
    let (directory, path) = store_path();
    let path = path.with_file_name("links");
    create(&path, "64KiB", "64KiB");
    let readable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(directory.path(), readable).expect("set");
    let program = directory.path().join("dedupstore");
    fs::copy(DEDUPSTORE, &program).expect("copied");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
    let run = |arguments: &[&str]| {
        Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&program)
            .args(arguments)
            .output()
    };
    let works = run(&["--version"]).is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("skipped: this user cannot run a command as another user");
        return;
    }
    let store = path.to_str().expect("text");
    for arguments in [
        &["filter", store][..],
        &["contains", store, "key"],
        &["inspect", store],
        &["verify", store],
        &["repair", store],
    ] {
        let output = run(arguments).expect("started");
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        for part in ["Permission denied", "ls -ld"] {
            assert!(message.contains(part), "{arguments:?}: {message}");
        }
        assert!(!message.contains("not a store"), "{message}");
    }
}

#[test]
fn a_path_that_exists_and_is_no_store_is_not_to_be_inspected() {
    let (directory, path) = store_path();
    let store = path.to_str().expect("text");
    fs::write(&path, "notes").expect("written");
    let output = dedupstore(["create", store]).output().expect("started");
    let message = standard_error(&output);
    assert!(
        message.contains("already exists and is not a store"),
        "{message}"
    );
    assert!(!message.contains("inspect"), "{message}");
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink("elsewhere.dds", &path).expect("linked");
    for command in [
        &["create", store][..],
        &["filter", store],
        &["inspect", store],
    ] {
        let target = directory.path().join("elsewhere.dds");
        let target = target.to_str().expect("text");
        fails(
            command,
            &["is a symbolic link to", target, "does not exist"],
        );
    }
    assert_eq!(fs::read_dir(directory.path()).expect("there").count(), 1);
}

#[test]
fn backup_prints_json() {
    let (directory, path) = store_path();
    create(&path, "64KiB", "64KiB");
    let copy = directory.path().join("copy.dds");
    let (store, copy) = (path.to_str().expect("text"), copy.to_str().expect("text"));
    let output = succeed(["backup", store, copy, "--json"]);
    assert_eq!(standard_error(&output), "");
    let report: Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(report["schema"], 1);
    assert_eq!(report["destination"], copy);
    assert_eq!(report["observations"], 0);
    assert!(report["disk_bytes"].as_u64().expect("a number") > 65536);
    assert_eq!(report["digest"].as_str().expect("text").len(), 16);
}

/// Replaces text in the superblock of image.0, and computes its checksum again.
fn forge(store: &Path, from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    let image = store.join("image.0");
    let mut bytes = fs::read(&image).expect("there");
    let at = memchr::memmem::find(&bytes[..4096], from).expect("the text");
    bytes[at..at + to.len()].copy_from_slice(to);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[0; 32]);
    hasher.update(&bytes[..4092]);
    bytes[4092..4096].copy_from_slice(&hasher.finalize().to_le_bytes());
    fs::write(&image, bytes).expect("written");
}

#[test]
fn a_forged_name_does_not_reach_the_terminal() {
    let options: &[&str] = &[
        "--memory",
        "64KiB",
        "--filter",
        "bloom",
        "--normalize",
        "whatwg",
    ];
    for (from, to) in [
        (&b"bloom"[..], &b"\x1b[2Jm"[..]),
        (b"whatwg", b"\x1b[31mX"),
        (b"whatwg", b"\xc2\x9b2J\x1bc"),
    ] {
        let (directory, path) = store_path();
        let store = path.to_str().expect("text");
        succeed([&["create", store], options].concat());
        forge(&path, from, to);
        let copy = directory.path().join("copy.dds");
        let copy = copy.to_str().expect("text");
        for arguments in [
            &["inspect", store][..],
            &["inspect", store, "--json"],
            &["contains", store, "key"],
            &["explain", store, "key"],
            &["verify", store],
            &["repair", store],
            &["filter", store],
            &["filter", store, "--normalize", "none"],
            &["merge", copy, store, store],
        ] {
            let output = dedupstore(arguments).output().expect("started");
            for text in [&output.stdout, &output.stderr] {
                let text = String::from_utf8_lossy(text);
                let raw = text
                    .chars()
                    .any(|c| c.is_control() && c != '\n' && c != '\t');
                assert!(!raw, "{arguments:?}: {text:?}");
            }
        }
    }
}
