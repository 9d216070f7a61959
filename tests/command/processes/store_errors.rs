//! Errors of stores: exit code 2, a helpful message, and no change on disk.

use std::fs::{self, File};
use std::path::Path;

use dedupstore::store::Store;

use super::{SmallDisk, contents, create, dedupstore, standard_error, store_path, succeed};

/// Checks that a command fails with these texts and changes nothing below `around`.
#[track_caller]
fn fails(arguments: &[&str], around: &Path, parts: &[&str]) {
    let before = contents(around);
    let output = dedupstore(arguments).output().expect("started");
    let message = standard_error(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty());
    assert!(!message.contains("panicked"), "{message}");
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert!(
        contents(around) == before,
        "{arguments:?} changed something"
    );
}

#[test]
fn a_second_writer_is_refused() {
    let (directory, path) = store_path();
    let name = path.to_str().expect("text");
    create(&path, "64KiB", "64KiB");
    let _writer = Store::open(&path).expect("opened");
    fails(
        &["filter", name],
        directory.path(),
        &[name, "in use by another process", "dedupstore inspect"],
    );
}

#[test]
fn a_path_that_is_not_a_store() {
    let (directory, path) = store_path();
    let name = path.to_str().expect("text");
    let commands = [&["filter", name][..], &["contains", name, "key"]];
    fs::write(&path, "not a store").expect("written");
    for command in commands {
        let parts = [name, "is not a store", "it is a file", "dedupstore create"];
        fails(command, directory.path(), &parts);
    }
    fails(&["create", name], directory.path(), &[name, "exists"]);
    fs::remove_file(&path).expect("removed");

    fs::create_dir(&path).expect("created");
    fs::write(path.join("notes"), "not a store").expect("written");
    for command in commands {
        let parts = [name, "is not a store", "has no file", "dedupstore create"];
        fails(command, directory.path(), &parts);
    }
    fails(&["create", name], directory.path(), &[name, "exists"]);
}

#[test]
fn a_path_that_does_not_exist() {
    let (directory, path) = store_path();
    let name = path.to_str().expect("text");
    let parts = [name, "there is no store", "dedupstore create"];
    fails(&["contains", name, "key"], directory.path(), &parts);
    let deeper = path.join("x/y.dds");
    let deeper = deeper.to_str().expect("text");
    fails(&["create", deeper], directory.path(), &["mkdir -p"]);
    // A missing input file is reported before a store is created.
    let parts = ["/no/such/file", "No such file"];
    fails(&["filter", name, "/no/such/file"], directory.path(), &parts);
}

#[test]
fn a_truncated_image() {
    let (directory, path) = store_path();
    let name = path.to_str().expect("text");
    create(&path, "64KiB", "64KiB");
    for length in [40_000, 4096, 100, 0] {
        let image = File::options().write(true).open(path.join("image.0"));
        image.expect("a file").set_len(length).expect("truncated");
        fails(
            &["filter", name],
            directory.path(),
            &[name, "image.0", "dedupstore verify", "dedupstore repair"],
        );
    }
}

#[test]
fn a_read_only_file_system() {
    let (directory, _) = store_path();
    let mount = directory.path().join("disk");
    let Some(disk) = SmallDisk::mount(&mount, "8m") else {
        return;
    };
    let (path, absent) = (mount.join("links.dds"), mount.join("more.dds"));
    let name = path.to_str().expect("text");
    create(&path, "64KiB", "64KiB");
    if !disk.remount_read_only() {
        eprintln!("skipped: this user cannot remount a file system");
        return;
    }
    let parts = ["Read-only file system", "ls -ld"];
    fails(&["filter", name], &mount, &parts);
    fails(&["create", absent.to_str().expect("text")], &mount, &parts);
}

#[test]
fn options_that_contradict_the_store() {
    let (directory, path) = store_path();
    let name = path.to_str().expect("text");
    create(&path, "64KiB", "64KiB");
    for (option, other, stored) in [
        ("--memory", "1MiB", "64KiB"),
        ("--filter", "bloom:k=3", "bloom:k=4"),
        ("--filter", "rlbsbf:k=2", "bloom:k=4"),
        ("--seed", "2", "--seed 1"),
    ] {
        let before = contents(&path.join("image.0"));
        let output = dedupstore(["filter", name, option, other]).output();
        let output = output.expect("started");
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        for part in [name, option, other, stored, "another store"] {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
        assert!(contents(&path.join("image.0")) == before);
    }
    succeed([
        "filter", name, "--memory", "65536", "--filter", "bloom", "--seed", "1",
    ]);
    fails(
        &["filter", "--sync", "1s"],
        directory.path(),
        &["--sync needs a store"],
    );
    fails(
        &["filter", name, "--sync", "soon"],
        directory.path(),
        &["every, none", "`soon`"],
    );
    fails(
        &["filter", "-", name],
        directory.path(),
        &[name, "is a store", "before the files"],
    );
}
