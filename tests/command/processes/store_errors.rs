//! What cannot be: exit code 2, a message that helps, and nothing changed.

use std::fs::{self, File};
use std::path::Path;

use dedupstore::store::{OpenOptions, Store};

use super::{SmallDisk, contents, create, dedupstore, place, standard_error, succeed};

#[track_caller]
fn refuses(arguments: &[&str], around: &Path, parts: &[&str]) {
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
fn two_writers() {
    let (directory, path) = place();
    let name = path.to_str().expect("text");
    create(&path, "64KiB", "64KiB");
    let _writer = Store::open(&path, OpenOptions::default()).expect("alone");
    refuses(
        &["filter", name],
        directory.path(),
        &[name, "in use by another process", "dedupstore inspect"],
    );
}

#[test]
fn something_else_bears_the_name() {
    let (directory, path) = place();
    let name = path.to_str().expect("text");
    let commands = [&["filter", name][..], &["contains", name, "key"]];
    fs::write(&path, "mine").expect("written");
    for command in commands {
        let parts = [name, "is not a store", "it is a file", "dedupstore create"];
        refuses(command, directory.path(), &parts);
    }
    refuses(&["create", name], directory.path(), &[name, "exists"]);
    fs::remove_file(&path).expect("removed");

    fs::create_dir(&path).expect("made");
    fs::write(path.join("notes"), "mine").expect("written");
    for command in commands {
        let parts = [name, "is not a store", "has no file", "dedupstore create"];
        refuses(command, directory.path(), &parts);
    }
    refuses(&["create", name], directory.path(), &[name, "exists"]);
}

#[test]
fn nothing_bears_the_name() {
    let (directory, path) = place();
    let name = path.to_str().expect("text");
    let parts = [name, "No such file", "dedupstore create"];
    refuses(&["contains", name, "key"], directory.path(), &parts);
    let deeper = path.join("x/y.dds");
    let deeper = deeper.to_str().expect("text");
    refuses(&["create", deeper], directory.path(), &["No such file"]);
    // A file that is not there is found out before a store is made.
    let parts = ["/no/such/file", "No such file"];
    refuses(&["filter", name, "/no/such/file"], directory.path(), &parts);
}

#[test]
fn a_truncated_image() {
    let (directory, path) = place();
    let name = path.to_str().expect("text");
    create(&path, "64KiB", "64KiB");
    for length in [40_000, 4096, 100, 0] {
        let image = File::options().write(true).open(path.join("image.0"));
        image.expect("there").set_len(length).expect("truncated");
        refuses(
            &["filter", name],
            directory.path(),
            &[name, "image.0", "dedupstore verify", "dedupstore repair"],
        );
    }
}

#[test]
fn a_place_where_nothing_can_be_written() {
    let (directory, _) = place();
    let mount = directory.path().join("disk");
    let Some(disk) = SmallDisk::mount(&mount, "8m") else {
        return;
    };
    let (path, absent) = (mount.join("links.dds"), mount.join("more.dds"));
    let name = path.to_str().expect("text");
    create(&path, "64KiB", "64KiB");
    if !disk.remount_read_only() {
        eprintln!("skipped: this user may not make a disk read-only");
        return;
    }
    let parts = ["Read-only file system", "ls -ld"];
    refuses(&["filter", name], &mount, &parts);
    refuses(&["create", absent.to_str().expect("text")], &mount, &parts);
}

#[test]
fn options_that_contradict_the_store() {
    let (directory, path) = place();
    let name = path.to_str().expect("text");
    create(&path, "64KiB", "64KiB");
    for (option, other, is) in [
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
        for part in [name, option, other, is, "another store"] {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
        assert!(contents(&path.join("image.0")) == before);
    }
    succeed([
        "filter", name, "--memory", "65536", "--filter", "bloom", "--seed", "1",
    ]);
    refuses(
        &["filter", "--sync", "1s"],
        directory.path(),
        &["none is named"],
    );
    refuses(
        &["filter", name, "--sync", "soon"],
        directory.path(),
        &["every, none", "`soon`"],
    );
    refuses(
        &["filter", "-", name],
        directory.path(),
        &[name, "is a store", "before the files"],
    );
}
