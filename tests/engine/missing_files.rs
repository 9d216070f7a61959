//! Stores that lack a file, and what a repair restores.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use dedupstore::store::{
    CreateOptions, Durability, KeyLookup, Loss, OpenOptions, RepairError, Severity, Store,
    StoreError, StoreFile, backup, holds_store, inspect, repair, verify,
};
use dedupstore::{Observation, Verdict, state_digest};
use tempfile::TempDir;

const ALL: [StoreFile; 6] = [
    StoreFile::Image0,
    StoreFile::Image1,
    StoreFile::Log0,
    StoreFile::Log1,
    StoreFile::Mark,
    StoreFile::Lock,
];
const KEYS: u32 = 30_000;

fn observe(store: &mut Store, keys: std::ops::Range<u32>) {
    let hasher = store.hasher();
    let keys = keys.map(|key| hasher.fingerprint(&key.to_le_bytes()));
    let keys: Vec<Observation> = keys.map(Observation::from).collect();
    let mut verdicts = vec![Verdict::New; keys.len()];
    store.observe_batch(&keys, &mut verdicts).expect("observed");
}

/// Creates a store of two images. The last third of the keys is only in the log (log.0), unless
/// it is closed.
fn store(directory: &TempDir, closed: bool) -> PathBuf {
    let path = directory.path().join("a.dds");
    let options = CreateOptions::new("stable:k=3,p=10,max=3").expect("a filter");
    let options = options.memory("64KiB").log_size("512KiB");
    let opening = OpenOptions::new().durability(Durability::None);
    let mut store = opening.create(&path, &options).expect("created");
    observe(&mut store, 0..KEYS / 3);
    store.checkpoint().expect("checkpoint taken");
    observe(&mut store, KEYS / 3..2 * KEYS / 3);
    store.checkpoint().expect("checkpoint taken");
    observe(&mut store, 2 * KEYS / 3..KEYS);
    match closed {
        true => store.close().expect("closed"),
        false => store.sync().expect("synced"),
    }
    path
}

fn digest(path: &Path) -> u64 {
    let store = Store::open(path).expect("opened");
    state_digest(store.region(), store.registers())
}

fn names(path: &Path) -> Vec<std::ffi::OsString> {
    let entries = fs::read_dir(path).expect("a directory");
    let mut names: Vec<_> = entries
        .map(|it| it.expect("an entry").file_name())
        .collect();
    names.sort();
    names
}

#[test]
fn every_call_names_the_missing_file_and_changes_nothing() {
    for file in ALL {
        let directory = TempDir::new().expect("a temporary directory");
        let path = store(&directory, true);
        fs::remove_file(path.join(file.name())).expect("removed");
        let left = names(&path);
        let errors = [
            Store::open(&path).err(),
            Store::open_or_create(&path, &CreateOptions::default()).err(),
            KeyLookup::open(&path).err(),
            inspect(&path).err(),
            backup(&path, directory.path().join("copy.dds")).err(),
        ];
        for error in errors {
            let error = error.expect("a file is missing");
            assert!(matches!(error, StoreError::MissingFiles { .. }), "{error}");
            assert!(
                error
                    .to_string()
                    .ends_with(&format!("lacks the file `{file}`"))
            );
        }
        assert!(holds_store(&path));
        let exists = Store::create(&path, &CreateOptions::default()).err();
        assert!(matches!(
            exists,
            Some(StoreError::AlreadyExists { is_store: true, .. })
        ));
        assert_eq!(names(&path), left);
        assert_eq!(names(directory.path()), ["a.dds"]);
    }
}

#[test]
fn repair_restores_any_one_file_of_a_closed_store() {
    for file in ALL {
        let directory = TempDir::new().expect("a temporary directory");
        let path = store(&directory, true);
        let before = digest(&path);
        fs::remove_file(path.join(file.name())).expect("removed");
        let found = verify(&path).expect("read");
        let missing = found.iter().find(|finding| finding.damage.file == file);
        let missing = missing.expect("a finding");
        assert_eq!(missing.severity, Severity::Refused);
        assert_eq!(missing.damage.found, "no file");
        let report = repair(&path, false).expect("repaired without a loss");
        assert_eq!(report.restored, [file]);
        assert_eq!((report.lost, report.remaining), (None, vec![]));
        assert_eq!(report.observations, Some(u64::from(KEYS)));
        assert_eq!(digest(&path), before, "{file}");
        assert_eq!(verify(&path).expect("read"), []);
    }
}

#[test]
fn repair_restores_what_the_other_files_hold_of_a_store_with_a_log() {
    for file in ALL {
        let directory = TempDir::new().expect("a temporary directory");
        let path = store(&directory, false);
        let copy = directory.path().join("copy.dds");
        let before = backup(&path, &copy).expect("copied").digest;
        fs::remove_file(path.join(file.name())).expect("removed");
        // It holds the last third of the keys.
        if file == StoreFile::Log0 {
            let left = names(&path);
            let refused = repair(&path, false).expect_err("keys are lost");
            let RepairError::WouldLose { kept, lost } = refused else {
                panic!("{refused}");
            };
            assert_eq!(kept, u64::from(2 * KEYS / 3));
            let last = Some(u64::from(KEYS));
            assert_eq!(
                lost,
                Loss {
                    first: kept + 1,
                    last
                }
            );
            assert_eq!(names(&path), left);
            let report = repair(&path, true).expect("repaired");
            assert_eq!((report.lost, report.remaining), (Some(lost), vec![]));
            assert_eq!(Store::open(&path).expect("opened").sequence(), kept);
            continue;
        }
        let report = repair(&path, false).expect("repaired without a loss");
        assert_eq!((report.lost, report.remaining), (None, vec![]), "{file}");
        assert_eq!(report.kept, None, "no file is corrupt");
        assert_eq!(digest(&path), before, "{file}");
    }
}

#[test]
fn repair_says_that_nothing_is_left_without_images() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    for file in [StoreFile::Image0, StoreFile::Image1] {
        fs::remove_file(path.join(file.name())).expect("removed");
    }
    let left = names(&path);
    let refused = repair(&path, true).expect_err("nothing is left");
    assert!(matches!(refused, RepairError::NothingLeft { .. }));
    assert_eq!(names(&path), left);
    assert!(!verify(&path).expect("read").is_empty());
}

#[test]
fn a_lock_removed_under_its_writer_still_keeps_others_out() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    let writer = Store::open(&path).expect("opened");
    fs::remove_file(path.join("lock")).expect("removed");
    let refused = repair(&path, false).expect_err("in use");
    assert!(matches!(
        refused,
        RepairError::Store(StoreError::InUse { .. })
    ));
    assert!(matches!(verify(&path), Err(StoreError::InUse { .. })));
    drop(writer);
    repair(&path, false).expect("repaired");
    let store = Store::open(&path).expect("opened");
    assert_eq!(store.sequence(), u64::from(KEYS));
}

#[test]
fn the_lock_names_its_holder_only_while_it_is_held() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    let lock = path.join("lock");
    assert_eq!(fs::read(&lock).expect("there"), b"");
    let writer = Store::open(&path).expect("opened");
    let Some(StoreError::InUse { holder, .. }) = Store::open(&path).err() else {
        panic!("two writers");
    };
    assert_eq!(holder, Some(std::process::id()));
    drop(writer);
    assert_eq!(fs::read(&lock).expect("there"), b"");

    // A crashed process has left its id; another one holds the lock without naming itself.
    fs::write(&lock, "4294967295\n").expect("written");
    let held = File::open(&lock).expect("opened");
    held.lock().expect("locked");
    let refused = Store::open(&path).err();
    assert!(matches!(
        refused,
        Some(StoreError::InUse { holder: None, .. })
    ));
    drop(held);
    Store::open(&path).expect("a process id locks nothing");
}

/// Users lock the directory for reasons of their own, for example with flock(1).
#[test]
fn a_locked_directory_does_not_keep_a_writer_out() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    let held = File::open(&path).expect("opened");
    held.lock().expect("locked");
    Store::open(&path).expect("opened");
}

#[cfg(unix)]
#[test]
fn a_dangling_link_is_called_one() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    std::os::unix::fs::symlink("elsewhere.dds", &path).expect("linked");
    let errors = [
        Store::open(&path).err(),
        Store::create(&path, &CreateOptions::default()).err(),
        Store::open_or_create(&path, &CreateOptions::default()).err(),
    ];
    for error in errors {
        let Some(StoreError::DanglingLink { target, .. }) = error else {
            panic!("{error:?}");
        };
        assert_eq!(target, directory.path().join("elsewhere.dds"));
    }
}
