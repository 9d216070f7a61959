//! Observations of one key per call, whose frames are stored into a map of the log's end.

use std::path::Path;

use dedupstore::state_digest;
use dedupstore::store::{CreateOptions, Durability, OpenOptions, Store};

const KEYS: u64 = 30_000;

/// A log that takes 5000 keys, so that there are many windows and several checkpoints.
fn options() -> CreateOptions {
    let options = CreateOptions::new("rlbsbf:k=2").expect("a filter");
    options.memory_bits(1 << 18).seed(3).log_size(256 << 10)
}

fn observe(store: &mut Store, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let key = (number * number % 7919).to_le_bytes();
        store.observe(key).expect("observed");
    }
}

fn digest(store: &Store) -> u64 {
    state_digest(store.region(), store.registers())
}

#[test]
fn a_store_with_a_mapped_log_and_one_without_read_each_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let mapped = OpenOptions::new();
    let written = mapped.map_log(false);
    let mut digests = Vec::new();
    for (name, first, second) in [("a.dds", mapped, written), ("b.dds", written, mapped)] {
        let path = directory.path().join(name);
        let mut store = first.create(&path, &options()).expect("created");
        observe(&mut store, 0..KEYS / 2 + 77);
        drop(store);
        let mut store = second.open(&path).expect("opened");
        assert_eq!(store.sequence(), KEYS / 2 + 77);
        observe(&mut store, KEYS / 2 + 77..KEYS);
        drop(store);
        digests.push(digest(&first.open(&path).expect("opened")));
    }
    let mut set = options().in_memory().expect("memory");
    for number in 0..KEYS {
        set.observe((number * number % 7919).to_le_bytes());
    }
    let expected = state_digest(set.region(), set.registers());
    assert_eq!(digests, [expected, expected]);
}

/// Batches of any size between single keys are written by calls, by the log thread, or stored.
#[test]
fn single_keys_and_batches_may_alternate() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.dds");
    let mut store = Store::create(&path, &options()).expect("created");
    let mut set = options().in_memory().expect("memory");
    let hasher = store.hasher();
    let mut number = 0u64;
    for size in [
        1, 1, 1, 1, 1, 1, 40, 1, 3000, 1, 1, 200, 1, 1, 1, 1, 1, 9000, 1, 1,
    ]
    .repeat(8)
    {
        let keys = (number..number + size).map(|n| hasher.fingerprint(&(n / 3).to_le_bytes()));
        let batch: Vec<_> = keys.map(dedupstore::Observation::from).collect();
        let mut verdicts = vec![dedupstore::Verdict::New; batch.len()];
        let mut expected = verdicts.clone();
        store
            .observe_batch(&batch, &mut verdicts)
            .expect("observed");
        set.observe_batch(&batch, &mut expected);
        assert_eq!(verdicts, expected);
        number += size;
    }
    drop(store);
    let store = Store::open(&path).expect("opened");
    assert_eq!(store.sequence(), number);
    assert_eq!(digest(&store), state_digest(set.region(), set.registers()));
}

/// Returns how many maps of logs of a store this process has, or None if it cannot know.
fn maps_of_logs(path: &Path) -> Option<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let name = path.join("log.");
    let is_log = |line: &&str| line.contains("rw-s") && line.contains(name.to_str().unwrap_or("?"));
    Some(maps.lines().filter(is_log).count())
}

/// The target directory is on a disk with a file system that is mapped, on most machines.
#[test]
fn the_log_is_mapped_only_after_some_single_keys_and_unless_every_call_syncs() {
    let directory = tempfile::tempdir().expect("a directory");
    let maps_after = |name: &str, opening: OpenOptions, keys: u64| {
        let path = directory.path().join(name);
        let mut store = opening.create(&path, &options()).expect("created");
        observe(&mut store, 0..keys);
        maps_of_logs(&path)
    };
    let default = OpenOptions::new();
    match maps_after("default.dds", default, 100) {
        Some(0) | None => return not_mapped(),
        Some(maps) => assert_eq!(maps, 1),
    }
    assert_eq!(maps_after("few.dds", default, 3), Some(0));
    assert_eq!(
        maps_after("unmapped.dds", default.map_log(false), 100),
        Some(0)
    );
    let every = default.durability(Durability::Every);
    assert_eq!(maps_after("every.dds", every, 100), Some(0));
}

/// The file must not become long again: its frames are lost.
#[test]
fn a_log_that_was_truncated_is_noticed_when_its_end_is_mapped() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.dds");
    let mut store = Store::create(&path, &options()).expect("created");
    observe(&mut store, 0..2);
    let log = std::fs::File::options()
        .write(true)
        .open(path.join("log.0"));
    log.and_then(|log| log.set_len(4096)).expect("truncated");
    let failed = (0..10u8).find_map(|key| store.observe([key]).err());
    if maps_of_logs(&path).is_none() || failed.is_none() {
        return not_mapped();
    }
    let message = failed.map(|error| error.to_string()).unwrap_or_default();
    assert!(message.contains("truncated"), "{message}");
    assert!(store.observe("another key").is_err(), "it is poisoned");
    let length = std::fs::metadata(path.join("log.0")).expect("there").len();
    assert_eq!(length, 4096);
}

/// Ends a test on a file system that is not mapped. Where nothing may be left out, it fails.
fn not_mapped() {
    assert!(
        std::env::var_os("CI").is_none(),
        "the file system is not mapped"
    );
    eprintln!("this file system is not mapped");
}
