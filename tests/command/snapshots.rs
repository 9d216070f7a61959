//! What people read, word for word: help, `inspect`, and every error message.
//!
//! The words are in `fixtures/snapshots`. A change to them is a change to be looked at: run
//! with `UPDATE_SNAPSHOTS=1`, and read the difference.
#![cfg(unix)]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use dedupstore::store::{OpenOptions, Store};
use dedupstore_tests::fixture;
use tempfile::TempDir;

use crate::DEDUPSTORE;

/// Both streams of a command run in a directory, under the command itself.
fn transcript(directory: &Path, command: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", &command.replace("dedupstore", "\"$0\""), DEDUPSTORE])
        .current_dir(directory)
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let (stdout, stderr) = (&output.stdout, &output.stderr);
    let text = String::from_utf8_lossy(&[&stdout[..], &stderr[..]].concat()).into_owned();
    let code = output.status.code().unwrap_or(-1);
    assert!(!text.contains("panicked"), "{text}");
    format!("$ {command}\n{text}[{code}]\n\n")
}

#[track_caller]
fn assert_is_kept(name: &str, found: &str) {
    let path = fixture("snapshots").join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::create_dir_all(fixture("snapshots")).expect("a place");
        fs::write(&path, found).expect("written");
        return;
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let difference = kept
        .lines()
        .zip(found.lines())
        .find(|(kept, found)| kept != found);
    assert!(
        kept == found,
        "{} differs, first in {difference:?}; if that is meant, run again with UPDATE_SNAPSHOTS=1",
        path.display()
    );
}

/// Lists that grow with the engine, and have tests of their own.
fn without_lists(text: &str) -> String {
    let mut kept = String::new();
    let mut inside = false;
    for line in text.lines() {
        inside &= !line.is_empty();
        if !inside {
            kept += &format!("{line}\n");
        }
        inside |= line == "Streams:";
    }
    let filters = dedupstore::registry().iter().map(|filter| filter.name);
    let filters: Vec<&str> = filters.collect();
    kept.replace(&filters.join(", "), "…")
}

#[test]
fn help() {
    let place = TempDir::new().expect("a place");
    for command in [
        "",
        "filter",
        "create",
        "contains",
        "simulate",
        "advise",
        "generate",
        "filters",
        "inspect",
        "explain",
        "verify",
        "repair",
        "backup",
        "checkpoint",
        "merge",
        "playground",
        "completions",
        "man",
    ] {
        let (name, words) = match command {
            "" => ("help.txt".to_owned(), "dedupstore --help".to_owned()),
            command => (
                format!("help-{command}.txt"),
                format!("dedupstore {command} --help"),
            ),
        };
        assert_is_kept(&name, &without_lists(&transcript(place.path(), &words)));
    }
}

/// Numbers in front of a unit of time differ from day to day.
fn without_times(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    for i in 2..words.len() {
        if words[i].starts_with("ago") {
            (words[i - 2], words[i - 1]) = ("…", "…");
        }
    }
    words.join(" ")
}

#[test]
fn inspect_and_explain() {
    let place = TempDir::new().expect("a place");
    let kept = fixture("stores/version-1-bloom.dds");
    std::os::unix::fs::symlink(kept, place.path().join("links.dds")).expect("linked");
    let page = transcript(place.path(), "dedupstore inspect links.dds");
    assert_is_kept("inspect.txt", &without_times(&page));
    let page = transcript(place.path(), "dedupstore explain links.dds key");
    assert_is_kept("explain.txt", &page);
}

/// Every way in which a store, an option or an input cannot be what was asked for.
#[test]
fn errors() {
    let place = TempDir::new().expect("a place");
    let at = |name: &str| place.path().join(name);
    for (name, options) in [
        ("busy.dds", "--seed 1"),
        ("cut.dds", "--seed 1"),
        ("whole.dds", "--seed 1"),
        ("other.dds", "--seed 2"),
        ("urls.dds", "--seed 1 --normalize whatwg"),
        ("newer.dds", "--seed 1"),
    ] {
        transcript(
            place.path(),
            &format!("dedupstore create {name} --memory 64KiB --filter bloom:k=4 {options}"),
        );
    }
    fs::write(at("file.dds"), "mine").expect("written");
    fs::create_dir(at("folder.dds")).expect("made");
    fs::write(at("no.gz"), "plain\n").expect("written");
    fs::write(at("cut.gz"), [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 3]).expect("written");
    let image = File::options().write(true).open(at("cut.dds/image.0"));
    image.expect("there").set_len(5000).expect("cut");
    make_newer(&at("newer.dds/image.0"));
    let _writer = Store::open(at("busy.dds"), OpenOptions::default()).expect("alone");

    let commands = [
        "dedupstore filter busy.dds",
        "dedupstore verify busy.dds",
        "dedupstore filter file.dds",
        "dedupstore filter folder.dds",
        "dedupstore create whole.dds",
        "dedupstore create nowhere/links.dds",
        "dedupstore contains absent.dds key",
        "dedupstore filter cut.dds",
        "dedupstore inspect newer.dds",
        "dedupstore filter whole.dds --memory 1MiB",
        "dedupstore filter whole.dds --filter bloom:k=5",
        "dedupstore filter whole.dds --seed 7",
        "dedupstore filter whole.dds --normalize whatwg",
        "dedupstore filter urls.dds --normalize none",
        "dedupstore filter - whole.dds",
        "dedupstore filter --sync 1s",
        "dedupstore filter --filter blom",
        "dedupstore filter --filter bloom:k=99",
        "dedupstore filter --filter bloom:q=1",
        "dedupstore filter --memory lots",
        "dedupstore filter --memory 0",
        "dedupstore filter --field 0",
        "dedupstore filter --field 1 --json-key a",
        "dedupstore filter --json-key a..b",
        "dedupstore filter --key-regex 'a('",
        "dedupstore filter --threads many",
        "dedupstore filter --metrics nowhere/m.prom",
        "dedupstore filter absent.txt",
        "dedupstore filter folder.dds/..",
        "dedupstore filter no.gz",
        "dedupstore filter cut.gz",
        "dedupstore merge both.dds whole.dds other.dds",
        "dedupstore merge whole.dds whole.dds other.dds",
        "dedupstore create x.dds --fpr 0.1",
        "dedupstore create x.dds --expect 10 --fpr 2",
        "dedupstore create x.dds --expect 10 --filter bloom",
        "dedupstore simulate --stream shuffle:60 --count 10 --html nowhere/x.html",
        "dedupstore advise --max-fpr 2",
        "dedupstore advise --prefer speed",
        "dedupstore advise --memory 1",
        "dedupstore filtr",
    ];
    let found: String = commands
        .iter()
        .map(|command| transcript(place.path(), command))
        .collect();
    assert_is_kept("errors.txt", &without_lists(&found));
}

/// Gives an image a version that will not come soon, and a checksum that fits.
fn make_newer(image: &Path) {
    const VERSION: usize = 8;
    const CHECKSUM: usize = 4092;
    let mut bytes = fs::read(image).expect("there");
    bytes[VERSION..VERSION + 4].copy_from_slice(&1000u32.to_le_bytes());
    // Seeded with its place, which for a superblock is nothing.
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[0; 32]);
    hasher.update(&bytes[..CHECKSUM]);
    bytes[CHECKSUM..CHECKSUM + 4].copy_from_slice(&hasher.finalize().to_le_bytes());
    fs::write(image, bytes).expect("written");
}
