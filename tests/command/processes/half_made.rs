//! Commands that create stores and do not get to their end: nothing is left, or it is named.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{SmallDisk, create, dedupstore, standard_error, store_path, succeed};
use crate::DEDUPSTORE;

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.map(|it| name(it.expect("an entry"))).collect();
    names.sort();
    names
}

/// Waits until a command has begun to write a store in a directory.
fn wait_for_unfinished(directory: &Path, child: &mut Child) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(30) {
        let is_unfinished = |name: &String| {
            let image = directory.join(name).join("image.0");
            let is_temporary = name.ends_with(".creating") || name.contains(".rebuilt-");
            is_temporary && fs::metadata(image).is_ok_and(|it| it.len() > 0)
        };
        if names(directory).iter().any(is_unfinished) {
            return true;
        }
        if child.try_wait().expect("waited").is_some() {
            return false;
        }
    }
    false
}

fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &id]).status();
    assert!(sent.expect("started").success());
}

/// Starts a command, sends it a signal while it writes a store, and returns its exit code.
#[track_caller]
fn interrupted(command: &mut Command, directory: &Path, name: &str) -> Option<i32> {
    let child = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.spawn().expect("started");
    assert!(
        wait_for_unfinished(directory, &mut child),
        "the command ended before it could be interrupted"
    );
    signal(&child, name);
    child.wait().expect("ended").code()
}

/// A shell that limits the process before it becomes the command.
fn limited(limit: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{limit}; exec \"$0\" \"$@\""), DEDUPSTORE])
        .args(arguments);
    command
}

#[test]
fn create_without_enough_memory_leaves_nothing() {
    let (directory, store) = store_path();
    let name = store.to_str().expect("text");
    let arguments = ["create", name, "--memory", "1GiB"];
    let output = limited("ulimit -v 700000", &arguments).output();
    let output = output.expect("started");
    let message = standard_error(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("--memory"), "{message}");
    assert_eq!(names(directory.path()), [""; 0]);
}

/// The shell's unit is 512 or 1024 bytes. A limit on the size of files used to kill the process.
#[test]
fn create_beyond_the_largest_file_size_leaves_nothing() {
    let (directory, store) = store_path();
    let name = store.to_str().expect("text");
    let output = limited("ulimit -f 1000", &["create", name]).output();
    let output = output.expect("started");
    let message = standard_error(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("ulimit -f"), "{message}");
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn an_interrupted_create_leaves_nothing() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let (directory, store) = store_path();
        let store = store.to_str().expect("text");
        let mut command = dedupstore(["create", store, "--memory", "1GiB"]);
        let ended = interrupted(&mut command, directory.path(), name);
        assert_eq!(ended, Some(code));
        assert_eq!(names(directory.path()), [""; 0]);
    }
}

#[test]
fn filter_that_is_interrupted_while_it_creates_its_store_leaves_nothing() {
    let (directory, store) = store_path();
    let store = store.to_str().expect("text");
    let mut command = dedupstore(["filter", store, "--memory", "1GiB"]);
    let ended = interrupted(&mut command, directory.path(), "INT");
    assert_eq!(ended, Some(130));
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn an_interrupted_backup_or_merge_leaves_only_the_stores() {
    let (directory, store) = store_path();
    let path = |name: &str| directory.path().join(name);
    create(&store, "256MiB", "64KiB");
    let copy = path("copy.dds");
    let mut backup = dedupstore([&PathBuf::from("backup"), &store, &copy]);
    let ended = interrupted(&mut backup, directory.path(), "INT");
    assert_eq!(ended, Some(130));
    assert_eq!(names(directory.path()), ["links.dds"]);
    let mut merge = dedupstore([&PathBuf::from("merge"), &copy, &store, &store]);
    let ended = interrupted(&mut merge, directory.path(), "TERM");
    assert_eq!(ended, Some(143));
    assert_eq!(names(directory.path()), ["links.dds"]);
    succeed([&PathBuf::from("verify"), &store]);
}

/// A file of the wrong size: the store is written anew.
#[test]
fn an_interrupted_repair_leaves_the_store_as_it_was() {
    let (directory, store) = store_path();
    create(&store, "256MiB", "64KiB");
    let log = fs::File::options().write(true).open(store.join("log.1"));
    log.expect("a file").set_len(100).expect("truncated");
    let mut repair = dedupstore([&PathBuf::from("repair"), &store]);
    let ended = interrupted(&mut repair, directory.path(), "INT");
    assert_eq!(ended, Some(130));
    assert_eq!(names(directory.path()), ["links.dds"]);
    succeed([&PathBuf::from("repair"), &store]);
    let kept = ["links.dds", "links.dds.damaged-1"];
    assert_eq!(names(directory.path()), kept);
    succeed([&PathBuf::from("verify"), &store]);
}

/// As `nohup` and shells do for commands in the background.
#[test]
fn an_ignored_signal_stays_ignored() {
    let (directory, store) = store_path();
    let store = store.to_str().expect("text");
    let mut command = limited("trap '' INT HUP", &["create", store, "--memory", "256MiB"]);
    let ended = interrupted(&mut command, directory.path(), "INT");
    assert_eq!(ended, Some(0));
    assert_eq!(names(directory.path()), ["links.dds"]);
}

#[test]
fn what_a_killed_create_left_is_named_with_the_command_that_removes_it() {
    let (directory, store) = store_path();
    let store = store.to_str().expect("text");
    let mut command = dedupstore(["create", store, "--memory", "1GiB"]);
    interrupted(&mut command, directory.path(), "KILL");
    let left = names(directory.path());
    let [left] = &left[..] else {
        panic!("{left:?}");
    };
    let left = directory.path().join(left);
    let removal = format!("rm -r {}", left.display());
    let inspected = dedupstore(["inspect", store]).output().expect("started");
    assert_eq!(inspected.status.code(), Some(2));
    assert!(standard_error(&inspected).contains(&removal));
    for command in ["create", "inspect", "verify"] {
        let memory = ["--memory", "64KiB"];
        let options = if command == "create" {
            &memory[..]
        } else {
            &[]
        };
        let output = succeed([&[command, store], options].concat());
        let message = standard_error(&output);
        assert!(message.contains(&removal), "{command}: {message}");
        assert!(message.contains("GiB"), "{command}: {message}");
    }
    let quiet = succeed(["inspect", store, "--quiet"]);
    assert_eq!(standard_error(&quiet), "");
    fs::remove_dir_all(&left).expect("removed");
    let inspected = succeed(["inspect", store]);
    assert_eq!(standard_error(&inspected), "");
}

/// A store that is being created is not called a leftover.
#[test]
fn a_create_that_is_still_running_is_not_named() {
    let (directory, store) = store_path();
    let store = store.to_str().expect("text");
    let mut child = dedupstore(["create", store, "--memory", "1GiB"])
        .spawn()
        .expect("started");
    assert!(wait_for_unfinished(directory.path(), &mut child));
    let inspected = dedupstore(["inspect", store]).output().expect("started");
    let message = standard_error(&inspected);
    assert!(!message.contains("rm -r"), "{message}");
    signal(&child, "INT");
    child.wait().expect("ended");
}

#[test]
fn backup_to_a_full_disk_does_not_advise_a_smaller_store() {
    let (directory, store) = store_path();
    create(&store, "1MiB", "64KiB");
    let mount = directory.path().join("disk");
    let Some(_disk) = SmallDisk::mount(&mount, "1m") else {
        return;
    };
    let copy = mount.join("copy.dds");
    let output = dedupstore([&PathBuf::from("backup"), &store, &copy]).output();
    let output = output.expect("started");
    let message = standard_error(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    for part in ["copy.dds", "No space left", "df -h"] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert!(!message.contains("--memory"), "{message}");
    assert_eq!(names(&mount), [""; 0]);
}

#[test]
fn commands_without_enough_memory_to_load_a_store_say_how_much_it_takes() {
    let (directory, store) = store_path();
    create(&store, "1GiB", "64KiB");
    let name = store.to_str().expect("text");
    let copy = directory.path().join("copy.dds");
    let copy = copy.to_str().expect("text");
    for arguments in [&["backup", name, copy][..], &["filter", name]] {
        let output = limited("ulimit -v 700000", arguments)
            .stdin(Stdio::null())
            .output()
            .expect("started");
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("GiB of memory"), "{message}");
        assert!(message.contains("ulimit -v"), "{message}");
        assert!(!message.contains("--memory"), "{message}");
    }
    assert_eq!(names(directory.path()), ["links.dds"]);
}

/// A script that gets exit code 2 tries again; it must not find a store then.
#[cfg(target_os = "linux")]
#[test]
fn create_whose_report_cannot_be_written_leaves_nothing() {
    let (directory, store) = store_path();
    let store = store.to_str().expect("text");
    let create = ["create", store, "--memory", "64KiB"];
    let full = fs::File::options().write(true).open("/dev/full");
    let output = dedupstore(create).stdout(full.expect("a device")).output();
    let output = output.expect("started");
    let message = standard_error(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    for part in ["No space left", "links.dds was removed again"] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert_eq!(names(directory.path()), [""; 0]);
    succeed(create);
    // A reader that has ended is no failure.
    let other = directory.path().join("other.dds");
    let other = other.to_str().expect("text");
    let command = "set -o pipefail; \"$0\" create \"$1\" --memory 64KiB | true";
    let mut piped = Command::new("bash");
    piped.args(["-c", command, DEDUPSTORE, other]);
    assert!(piped.status().expect("started").success());
    succeed(["verify", other]);
}

#[test]
fn filter_whose_metrics_cannot_be_written_creates_no_store() {
    let (directory, store) = store_path();
    let store = store.to_str().expect("text");
    let around = directory.path().to_str().expect("text");
    // Like a device, it must not be replaced by a file.
    let pipe = directory.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("started").success());
    for (metrics, reason) in [
        (format!("{around}/absent/x.prom"), "No such file"),
        (around.to_owned(), "it is a directory"),
        (store.to_owned(), "it is the store"),
        (format!("{around}/./links.dds"), "it is the store"),
        (format!("{around}/pipe"), "not a regular file"),
    ] {
        let output = dedupstore(["filter", store, "--metrics", &metrics]).output();
        let output = output.expect("started");
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(reason), "{message}");
        assert_eq!(names(directory.path()), ["pipe"]);
    }
    assert!(!fs::metadata(pipe).expect("there").is_file());
}
