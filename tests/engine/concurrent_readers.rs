//! Readers while a writer runs, and many threads on one shared store.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use dedupstore::store::{
    CreateOptions, Durability, OpenOptions, ReadOnlyStore, SharedStore, Store, StoreError, backup,
    inspect, verify,
};
use dedupstore::{KeyHasher, Observation, Verdict, state_digest};
use tempfile::TempDir;

const SEED: u64 = 5;
const FILTER: &str = "rlbsbf:k=2";
const MEMORY_BITS: u64 = 3_000_001;

fn observation(number: u64) -> Observation {
    let key = number * number % 5_000_011;
    KeyHasher::new(SEED).fingerprint(&key.to_le_bytes()).into()
}

fn expected_digest(count: u64) -> u64 {
    let mut set = CreateOptions::new(FILTER)
        .expect("a filter")
        .memory_bits(MEMORY_BITS)
        .seed(SEED)
        .in_memory()
        .expect("small");
    for number in 0..count {
        set.observe_one(observation(number));
    }
    state_digest(set.region(), set.registers())
}

fn options(log_bytes: u64) -> CreateOptions {
    CreateOptions::new(FILTER)
        .expect("a filter")
        .memory_bits(MEMORY_BITS)
        .seed(SEED)
        .log_size(log_bytes)
}

/// Calls `read` repeatedly while a writer runs, with the number of observations durable by
/// then. The log is so small that the writer takes one checkpoint after another.
fn while_a_writer_runs(path: &Path, times: usize, mut read: impl FnMut(usize, u64)) {
    let opening = OpenOptions::new().durability(Durability::Interval(Duration::from_millis(5)));
    let mut store = opening.create(path, &options(64 << 10)).expect("created");
    let (stop, durable) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut next = 0;
            let mut verdicts = [Verdict::New; 200];
            while !stop.load(Ordering::Relaxed) {
                let batch: Vec<_> = (next..next + 200).map(observation).collect();
                store
                    .observe_batch(&batch, &mut verdicts)
                    .expect("observed");
                next += 200;
                durable.store(store.durable_sequence(), Ordering::Release);
                // Limits the number of observations, which the test replays later.
                std::thread::sleep(Duration::from_micros(100));
            }
            store.close().expect("closed");
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (0..times).for_each(|time| {
                std::thread::sleep(Duration::from_millis(20));
                read(time, durable.load(Ordering::Acquire));
            });
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
    assert_eq!(verify(path).expect("read"), []);
}

#[test]
fn a_backup_while_a_writer_runs_holds_everything_durable() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let mut copies: Vec<(PathBuf, u64)> = Vec::new();
    while_a_writer_runs(&path, 8, |time, durable| {
        let copy = directory.path().join(format!("copy-{time}.dds"));
        let report = backup(&path, &copy).expect("copied");
        assert!(report.observations >= durable);
        copies.push((copy, report.observations));
    });
    for (copy, observations) in copies {
        assert_eq!(verify(&copy).expect("read"), []);
        let store = Store::open(&copy).expect("opened");
        assert_eq!(store.sequence(), observations);
        let digest = state_digest(store.region(), store.registers());
        assert_eq!(digest, expected_digest(observations));
    }
    let first = directory.path().join("copy-0.dds");
    let again = backup(&path, &first).err();
    assert!(matches!(again, Some(StoreError::AlreadyExists { .. })));
    let (one, other) = (
        inspect(&path).expect("read"),
        inspect(&first).expect("read"),
    );
    assert_ne!(one.id, other.id);
    assert_eq!((one.seed, one.filter), (other.seed, other.filter));
}

#[test]
fn inspecting_while_a_writer_runs_finds_no_damage() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let mut before = 0;
    while_a_writer_runs(&path, 100, |_, durable| {
        let inspection = inspect(&path).expect("inspected");
        assert_eq!(inspection.damage, None);
        assert_eq!(inspection.torn_tail, None);
        assert!(inspection.checkpointed_sequence <= inspection.log_sequence);
        assert!(inspection.log_sequence >= durable.max(before));
        assert_eq!(inspection.observations, inspection.checkpointed_sequence);
        before = inspection.checkpointed_sequence;
    });
    assert!(before > 0, "the writer took checkpoints");
}

#[test]
fn a_reader_while_a_writer_runs_sees_the_state_of_one_moment() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let mut seen = Vec::new();
    while_a_writer_runs(&path, 30, |_, _| {
        let store = ReadOnlyStore::open(&path).expect("opened");
        let digest = state_digest(store.region(), store.registers());
        seen.push((store.registers().observations(), digest));
    });
    seen.dedup();
    assert!(seen.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    for &(observations, digest) in seen.iter().step_by(seen.len().div_ceil(6)) {
        assert_eq!(digest, expected_digest(observations));
    }
}

#[test]
fn a_reader_writes_nothing_and_needs_no_lock() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let mut store = Store::create(&path, &options(1 << 20)).expect("created");
    store.observe(b"in the checkpoint").expect("observed");
    store.checkpoint().expect("checkpoint taken");
    store.observe(b"only in the log").expect("observed");
    let reader = ReadOnlyStore::open(&path).expect("while the writer has it open");
    store.observe(b"after it was opened").expect("observed");
    assert_eq!(reader.contains(b"in the checkpoint"), Verdict::Seen);
    assert_eq!(reader.contains(b"only in the log"), Verdict::Seen);
    assert_eq!(reader.contains(b"after it was opened"), Verdict::New);
    assert_eq!(reader.parameters(), store.parameters());
    assert_eq!(
        (reader.hasher(), reader.spec()),
        (store.hasher(), store.spec())
    );
    assert!(reader.load() > 0.0 && reader.false_positive_rate() >= 0.0);
}

#[test]
fn a_reader_reports_corruption() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let store = Store::create(&path, &options(1 << 20)).expect("created");
    store.close().expect("closed");
    let image = path.join("image.0");
    let mut bytes = std::fs::read(&image).expect("there");
    bytes[5000] ^= 1;
    std::fs::write(&image, bytes).expect("written");
    let refused = ReadOnlyStore::open(&path).err();
    assert!(matches!(refused, Some(StoreError::Corrupt(_))));
    let refused = backup(&path, directory.path().join("copy.dds")).err();
    assert!(matches!(refused, Some(StoreError::Corrupt(_))));
    assert_eq!(
        std::fs::read_dir(directory.path()).expect("there").count(),
        1
    );
}

/// Four threads observe the same keys in different orders, one by one and in batches.
#[test]
fn each_key_is_new_to_exactly_one_thread() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("shared.dds");
    let create = CreateOptions::new("bloom:k=4")
        .expect("a filter")
        .memory_bits(8 << 20)
        .log_size(256 << 10)
        .shards(3);
    let store = SharedStore::create(&path, &create).expect("created");
    const KEYS: u64 = 10_000;
    let key = |number: u64| number.to_le_bytes();
    let new_count: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4u64)
            .map(|thread| {
                let store = &store;
                scope.spawn(move || {
                    let numbers: Vec<u64> = (0..KEYS)
                        .map(|n| (n * 7919 + thread * 2503) % KEYS)
                        .collect();
                    let mut verdicts = vec![Verdict::New; numbers.len()];
                    if thread % 2 == 0 {
                        for (number, verdict) in numbers.iter().zip(&mut verdicts) {
                            *verdict = store.observe(key(*number)).expect("observed");
                        }
                    } else {
                        let hasher = store.hasher();
                        let observations: Vec<Observation> = numbers
                            .iter()
                            .map(|n| hasher.fingerprint(&key(*n)).into())
                            .collect();
                        for (batch, verdicts) in
                            observations.chunks(333).zip(verdicts.chunks_mut(333))
                        {
                            store.observe_batch(batch, verdicts).expect("observed");
                        }
                    }
                    verdicts
                        .iter()
                        .filter(|&&verdict| verdict == Verdict::New)
                        .count()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("ran"))
            .sum()
    });
    assert_eq!(
        new_count, KEYS as usize,
        "with ample memory there are no false positives"
    );
    store.checkpoint().expect("checkpoint taken");
    let shards = || (0..3).map(|index| path.join(format!("shard.00{index}.dds")));
    let states = || -> Vec<u64> {
        let read = |path: PathBuf| ReadOnlyStore::open(path).expect("opened");
        shards()
            .map(read)
            .map(|s| state_digest(s.region(), s.registers()))
            .collect()
    };
    let before = states();
    store.close().expect("closed");
    let store = SharedStore::open(&path).expect("opened");
    for number in 0..KEYS {
        assert_eq!(
            store.contains(key(number)).expect("looked up"),
            Verdict::Seen
        );
    }
    store.close().expect("closed");
    assert_eq!(states(), before);
}

#[test]
fn a_shared_store_checks_its_shards() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("shared.dds");
    let create = options(1 << 20).shards(2);
    let store = SharedStore::create(&path, &create).expect("created");
    let again = SharedStore::create(&path, &create).err();
    assert!(matches!(again, Some(StoreError::AlreadyExists { .. })));
    let in_use = SharedStore::open(&path).err();
    assert!(matches!(in_use, Some(StoreError::InUse { .. })));
    store.close().expect("closed");
    let alone = inspect(&path).expect_err("not one store");
    assert!(alone.to_string().contains("shard.000.dds"), "{alone}");
    std::fs::rename(path.join("shard.001.dds"), directory.path().join("away")).expect("moved");
    assert!(SharedStore::open(&path).is_err());
}
