//! The exact texts for users: help, `inspect`, `explain` and error messages.
//!
//! They are in `fixtures/snapshots`. To change them, run with `UPDATE_SNAPSHOTS=1` and review the
//! difference.
#![cfg(unix)]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use dedupstore::store::Store;
use dedupstore_tests::{fixture, root};
use tempfile::TempDir;

use crate::DEDUPSTORE;

/// Runs a command in a directory; returns the command, both output streams and the exit code.
fn transcript(directory: &Path, command: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", &command.replace("dedupstore", "\"$0\""), DEDUPSTORE])
        .current_dir(directory)
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .expect("started");
    let (stdout, stderr) = (&output.stdout, &output.stderr);
    let text = String::from_utf8_lossy(&[&stdout[..], &stderr[..]].concat()).into_owned();
    let code = output.status.code().unwrap_or(-1);
    assert!(!text.contains("panicked"), "{text}");
    format!("$ {command}\n{text}[{code}]\n\n")
}

#[track_caller]
fn assert_matches_snapshot(name: &str, found: &str) {
    let path = fixture("snapshots").join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::create_dir_all(fixture("snapshots")).expect("created");
        fs::write(&path, found).expect("written");
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let difference = expected
        .lines()
        .zip(found.lines())
        .find(|(expected, found)| expected != found);
    assert!(
        expected == found,
        "{} differs, first in {difference:?}; if this is intended, run again with UPDATE_SNAPSHOTS=1",
        path.display()
    );
}

/// Removes the lists of streams and filters, which grow with the engine and have other tests.
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

/// Returns the subcommands that `dedupstore --help` lists.
fn subcommands() -> Vec<String> {
    let output = Command::new(DEDUPSTORE).arg("--help").output();
    let help = String::from_utf8(output.expect("started").stdout).expect("text");
    let list = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    // Descriptions that are wrapped continue on lines that are indented more.
    list.filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .filter(|name| name != "help")
        .collect()
}

#[test]
fn help_of_every_command() {
    let directory = TempDir::new().expect("a directory");
    let help = transcript(directory.path(), "dedupstore --help");
    assert_matches_snapshot("help.txt", &without_lists(&help));
    let commands = subcommands();
    assert!(commands.len() >= 18, "{commands:?}");
    for command in &commands {
        let help = transcript(directory.path(), &format!("dedupstore {command} --help"));
        assert_matches_snapshot(&format!("help-{command}.txt"), &without_lists(&help));
    }
    for entry in fs::read_dir(fixture("snapshots")).expect("snapshots") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_str().expect("text");
        if let Some(command) = name.strip_prefix("help-") {
            let command = command.trim_end_matches(".txt").to_owned();
            assert!(commands.contains(&command), "{name} is of no command");
        }
    }
}

/// The guarantees describe the default filter in the words of `filter --help`, which the command
/// computes.
#[test]
fn the_guarantees_describe_the_default_filter() {
    let help = Command::new(DEDUPSTORE).args(["filter", "--help"]).output();
    let help = String::from_utf8(help.expect("started").stdout).expect("text");
    let words: Vec<&str> = help.split_whitespace().collect();
    let help = words.join(" ");
    let start = help.find("The default filter is").expect("the description");
    let length = help[start..].find(" A line without").expect("its end");
    let description = &help[start..start + length];
    assert!(description.contains(dedupstore::DEFAULT_FILTER));
    let guarantees = fs::read_to_string(root().join("docs/GUARANTEES.md")).expect("a document");
    assert!(
        guarantees.contains(description),
        "docs/GUARANTEES.md must contain: {description}"
    );
}

/// Replaces times like `3 days ago`.
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
    let directory = TempDir::new().expect("a directory");
    let store = fixture("stores/version-1-bloom.dds");
    std::os::unix::fs::symlink(store, directory.path().join("links.dds")).expect("linked");
    let page = transcript(directory.path(), "dedupstore inspect links.dds");
    assert_matches_snapshot("inspect.txt", &without_times(&page));
    let page = transcript(directory.path(), "dedupstore explain links.dds key");
    assert_matches_snapshot("explain.txt", &page);
}

/// One command for every kind of error.
#[test]
fn error_messages() {
    let directory = TempDir::new().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    for (name, options) in [
        ("busy.dds", "--seed 1"),
        ("cut.dds", "--seed 1"),
        ("missing.dds", "--seed 1"),
        ("whole.dds", "--seed 1"),
        ("other.dds", "--seed 2"),
        ("urls.dds", "--seed 1 --normalize whatwg"),
        ("fields.dds", "--seed 1 --field 7 --delimiter ,"),
        ("newer.dds", "--seed 1"),
        ("full.dds", "--seed 1 --max-fpr 1e-9"),
    ] {
        transcript(
            directory.path(),
            &format!("dedupstore create {name} --memory 64KiB --filter bloom:k=4 {options}"),
        );
    }
    let dsqf = "dedupstore create dsqf.dds --memory 64KiB --filter dsqf";
    transcript(directory.path(), dsqf);
    let keys: String = (0..2000).map(|key| format!("{key}\n")).collect();
    fs::write(at("keys.txt"), keys).expect("written");
    transcript(
        directory.path(),
        "dedupstore -q filter full.dds keys.txt --max-fpr 1",
    );
    fs::write(at("file.dds"), "not a store").expect("written");
    fs::create_dir(at("folder.dds")).expect("created");
    fs::write(at("empty.log"), "").expect("written");
    fs::write(at("no.gz"), "plain\n").expect("written");
    fs::write(at("cut.gz"), [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 3]).expect("written");
    fs::remove_file(at("missing.dds/log.1")).expect("removed");
    std::os::unix::fs::symlink("nothing.dds", at("link.dds")).expect("linked");
    let image = File::options().write(true).open(at("cut.dds/image.0"));
    image.expect("a file").set_len(5000).expect("truncated");
    make_newer(&at("newer.dds/image.0"));
    let _writer = Store::open(at("busy.dds")).expect("opened");

    let commands = [
        "dedupstore filter busy.dds",
        "dedupstore verify busy.dds",
        "dedupstore filter file.dds",
        "dedupstore filter folder.dds",
        "dedupstore filter missing.dds",
        "dedupstore filter link.dds",
        "dedupstore create whole.dds",
        "dedupstore create file.dds",
        "dedupstore create link.dds",
        "dedupstore create nowhere/links.dds",
        "dedupstore contains absent.dds key",
        "dedupstore filter cut.dds",
        "dedupstore inspect newer.dds",
        "dedupstore filter whole.dds --memory 1MiB",
        "dedupstore filter whole.dds --filter bloom:k=5",
        "dedupstore filter whole.dds --seed 7",
        "dedupstore filter whole.dds --normalize whatwg",
        "dedupstore filter urls.dds --normalize none",
        "dedupstore filter whole.dds --field 7",
        "dedupstore filter fields.dds --field 6",
        "dedupstore contains fields.dds --json-key request.url",
        "dedupstore filter whole.dds -z",
        "dedupstore filter urls.dds --drop-parameter ref",
        "dedupstore filter --drop-parameter ref",
        "dedupstore filter - whole.dds",
        "dedupstore filter --sync 1s",
        "dedupstore filter --no-create",
        "dedupstore filter --wait=1s",
        "dedupstore filter --filter blom",
        "dedupstore filter --filter bloom:k=99",
        "dedupstore filter --filter bloom:q=1",
        "dedupstore filter --memory lots",
        "dedupstore filter --memory 0",
        "dedupstore filter --field 0",
        "dedupstore filter --field 3-1",
        "dedupstore filter --field 1-x",
        "dedupstore filter --field 1 --json-key a",
        "dedupstore filter --json-key a..b",
        "dedupstore filter --json-key 'a[*]'",
        "dedupstore filter --key-regex 'a('",
        "dedupstore filter --threads many",
        "dedupstore filter --metrics nowhere/m.prom",
        "dedupstore filter absent.txt",
        "dedupstore filter folder.dds/..",
        "dedupstore filter no.gz",
        "dedupstore filter cut.gz",
        "dedupstore merge both.dds whole.dds other.dds",
        "dedupstore merge both.dds dsqf.dds dsqf.dds",
        "dedupstore merge whole.dds whole.dds other.dds",
        "dedupstore create x.dds --fpr 0.1",
        "dedupstore create x.dds --expect 10 --fpr 2",
        "dedupstore create x.dds --expect 10 --filter bloom",
        "dedupstore create x.dds --max-fpr 0",
        "dedupstore create x.dds --for empty.log",
        "dedupstore filter full.dds",
        "dedupstore simulate --stream shuffle:60 --count 10 --html nowhere/x.html",
        "dedupstore advise --max-fpr 2",
        "dedupstore advise --prefer speed",
        "dedupstore advise --memory 1",
        "dedupstore filtr",
    ];
    let found: String = commands
        .iter()
        .map(|command| transcript(directory.path(), command))
        .collect();
    let process = format!("PID {}", std::process::id());
    let found = found.replace(&process, "PID …");
    assert_matches_snapshot("errors.txt", &without_lists(&found));
}

/// Gives an image a format version of the far future, with a valid checksum.
fn make_newer(image: &Path) {
    const VERSION: usize = 8;
    const CHECKSUM: usize = 4092;
    let mut bytes = fs::read(image).expect("a file");
    bytes[VERSION..VERSION + 4].copy_from_slice(&1000u32.to_le_bytes());
    // The checksum is seeded with the block's position, which is zero for a superblock.
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[0; 32]);
    hasher.update(&bytes[..CHECKSUM]);
    bytes[CHECKSUM..CHECKSUM + 4].copy_from_slice(&hasher.finalize().to_le_bytes());
    fs::write(image, bytes).expect("written");
}
