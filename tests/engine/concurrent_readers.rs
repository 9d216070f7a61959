//! Readers beside a running writer, and many writers at once.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use dedupstore::store::{
    CreateOptions, Directory, Durability, OpenOptions, SharedStore, Store, StoreError, backup,
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
    let spec = FILTER.parse().expect("a filter");
    let mut set = CreateOptions::new(spec, MEMORY_BITS)
        .in_memory(SEED)
        .expect("small");
    for number in 0..count {
        set.observe_one(observation(number));
    }
    state_digest(set.region(), set.registers())
}

fn options(log_bytes: u64) -> CreateOptions {
    let mut create = CreateOptions::new(FILTER.parse().expect("a filter"), MEMORY_BITS);
    create.seed = Some(SEED);
    create.log_bytes = Some(log_bytes);
    create
}

/// Runs `look` again and again beside a writer whose log is so small that checkpoints
/// follow one another; it is given how many observations are durable by then.
fn beside_a_writer(path: &Path, times: usize, mut look: impl FnMut(usize, u64)) {
    let opening = OpenOptions {
        durability: Durability::Interval(Duration::from_millis(5)),
        ..OpenOptions::default()
    };
    let mut store = Store::create(path, &options(64 << 10), opening).expect("made");
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
                // Not so many that the same takes long to do again.
                std::thread::sleep(Duration::from_micros(100));
            }
            store.close().expect("closed");
        });
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (0..times).for_each(|time| {
                std::thread::sleep(Duration::from_millis(20));
                look(time, durable.load(Ordering::Acquire));
            });
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = looked {
            std::panic::resume_unwind(panic);
        }
    });
    assert_eq!(
        verify(Directory::open_undisturbed(path).expect("free")).expect("read"),
        []
    );
}

#[test]
fn a_backup_beside_a_writer_holds_everything_durable() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("a.dds");
    let mut copies: Vec<(PathBuf, u64)> = Vec::new();
    beside_a_writer(&path, 8, |time, durable| {
        let copy = directory.path().join(format!("copy-{time}.dds"));
        let report = backup(&path, &copy).expect("copied");
        assert!(report.observations >= durable);
        copies.push((copy, report.observations));
    });
    for (copy, observations) in copies {
        assert_eq!(
            verify(Directory::open_undisturbed(&copy).expect("free")).expect("read"),
            []
        );
        let store = Store::open(&copy, OpenOptions::default()).expect("opened");
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
fn inspecting_beside_a_writer_finds_no_damage() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("a.dds");
    let mut before = 0;
    beside_a_writer(&path, 100, |_, durable| {
        let inspection = inspect(&path).expect("inspected");
        assert_eq!(inspection.damage, None);
        assert_eq!(inspection.torn_tail, None);
        assert!(inspection.checkpointed_sequence <= inspection.log_sequence);
        assert!(inspection.log_sequence >= durable.max(before));
        assert_eq!(inspection.observations, inspection.checkpointed_sequence);
        before = inspection.checkpointed_sequence;
    });
    assert!(before > 0, "checkpoints were taken meanwhile");
}

#[test]
fn a_reader_beside_a_writer_sees_a_state_that_was() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("a.dds");
    let mut seen = Vec::new();
    beside_a_writer(&path, 30, |_, _| {
        let store = Store::open_read_only(&path).expect("opened");
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
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("a.dds");
    let mut store = Store::create(&path, &options(1 << 20), OpenOptions::default()).expect("made");
    store.observe(b"in the checkpoint").expect("observed");
    store.checkpoint().expect("folded");
    store.observe(b"only in the log").expect("observed");
    let reader = Store::open_read_only(&path).expect("beside the writer");
    store.observe(b"after it was opened").expect("observed");
    assert_eq!(reader.contains(b"in the checkpoint"), Verdict::Seen);
    assert_eq!(reader.contains(b"only in the log"), Verdict::Seen);
    assert_eq!(reader.contains(b"after it was opened"), Verdict::New);
    assert_eq!(reader.parameters(), store.parameters());
    assert_eq!(
        (reader.hasher(), reader.spec()),
        (store.hasher(), store.spec())
    );
    assert!(reader.load() > 0.0 && reader.drop_chance() >= 0.0);
}

#[test]
fn damage_is_told_to_a_reader() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("a.dds");
    let store = Store::create(&path, &options(1 << 20), OpenOptions::default()).expect("made");
    store.close().expect("closed");
    let image = path.join("image.0");
    let mut bytes = std::fs::read(&image).expect("there");
    bytes[5000] ^= 1;
    std::fs::write(&image, bytes).expect("written");
    let refused = Store::open_read_only(&path).err();
    assert!(matches!(refused, Some(StoreError::Corrupt(_))));
    let refused = backup(&path, directory.path().join("copy.dds")).err();
    assert!(matches!(refused, Some(StoreError::Corrupt(_))));
    assert_eq!(
        std::fs::read_dir(directory.path()).expect("there").count(),
        1
    );
}

/// Four threads offer the same keys in different orders, one by one and in batches.
#[test]
fn each_key_is_new_to_exactly_one_thread() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("shared.dds");
    let mut create = CreateOptions::new("bloom:k=4".parse().expect("a filter"), 8 << 20);
    create.log_bytes = Some(256 << 10);
    let opening = OpenOptions::default();
    let store = SharedStore::create(&path, &create, 3, opening).expect("made");
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
                            *verdict = store.observe(&key(*number)).expect("observed");
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
        "ample memory: no false positive either"
    );
    store.checkpoint().expect("folded");
    let shards = || (0..3).map(|index| path.join(format!("shard.00{index}.dds")));
    let states = || -> Vec<u64> {
        let read = |path: PathBuf| Store::open_read_only(path).expect("opened");
        shards()
            .map(read)
            .map(|s| state_digest(s.region(), s.registers()))
            .collect()
    };
    let before = states();
    store.close().expect("closed");
    let store = SharedStore::open(&path, opening).expect("opened");
    for number in 0..KEYS {
        assert_eq!(
            store.contains(&key(number)).expect("looked up"),
            Verdict::Seen
        );
    }
    store.close().expect("closed");
    assert_eq!(states(), before);
}

#[test]
fn a_shared_store_knows_its_parts() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("shared.dds");
    let create = options(1 << 20);
    let opening = OpenOptions::default();
    let store = SharedStore::create(&path, &create, 2, opening).expect("made");
    let again = SharedStore::create(&path, &create, 2, opening).err();
    assert!(matches!(again, Some(StoreError::AlreadyExists { .. })));
    let in_use = SharedStore::open(&path, opening).err();
    assert!(matches!(in_use, Some(StoreError::InUse { .. })));
    store.close().expect("closed");
    let alone = inspect(&path).expect_err("not one store");
    assert!(alone.to_string().contains("shard.000.dds"), "{alone}");
    std::fs::rename(path.join("shard.001.dds"), directory.path().join("away")).expect("moved");
    assert!(SharedStore::open(&path, opening).is_err());
}
