//! The store on a real disk.

use std::time::Duration;

use dedupstore::store::{
    Backing, Claim, CreateOptions, Directory, Durability, OpenOptions, Store, StoreError,
};
use dedupstore::{CreateError, KeyHasher, Observation, Verdict, state_digest};
use tempfile::TempDir;

const SEED: u64 = 5;

fn options(filter: &str, memory_bits: u64, log_bytes: u64) -> CreateOptions {
    let mut options = CreateOptions::new(filter.parse().expect("a filter"), memory_bits);
    options.seed = Some(SEED);
    options.log_bytes = Some(log_bytes);
    options
}

fn keys(range: std::ops::Range<u64>) -> Vec<Observation> {
    let hasher = KeyHasher::new(SEED);
    let fingerprint = |key: u64| hasher.fingerprint(&(key * key % 50_021).to_le_bytes());
    range.map(|key| fingerprint(key).into()).collect()
}

fn digest(store: &Store<Directory>) -> u64 {
    state_digest(store.region(), store.registers())
}

fn expected_digest(filter: &str, memory_bits: u64, observations: &[Observation]) -> u64 {
    let spec = filter.parse().expect("a filter");
    let mut set = CreateOptions::new(spec, memory_bits)
        .in_memory(SEED)
        .expect("small");
    let mut verdicts = vec![Verdict::New; observations.len()];
    set.observe_batch(observations, &mut verdicts);
    state_digest(set.region(), set.registers())
}

fn feed(store: &mut Store<Directory>, observations: &[Observation], batch: usize) {
    for chunk in observations.chunks(batch) {
        let mut verdicts = vec![Verdict::New; chunk.len()];
        store.observe_batch(chunk, &mut verdicts).expect("observed");
    }
}

/// A filter that takes keys for their own fingerprints is for the laboratory alone.
#[test]
fn a_filter_of_numbers_is_refused_by_type() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("numbers.dds");
    let options = options("sqf:fingerprint=identity", 1 << 16, 1 << 16);
    let refused = Store::create(&path, &options, OpenOptions::default());
    let error = refused.map(|_| ()).expect_err("keys are not numbers here");
    assert!(
        matches!(error, StoreError::Create(CreateError::NumbersOnly { .. })),
        "{error}"
    );
    assert!(!path.exists());
}

/// Small logs, so that checkpoints come by themselves, many times, while it goes on.
#[test]
fn a_store_is_a_set_in_memory_however_it_is_opened() {
    let directory = TempDir::new().expect("a place");
    let all = keys(0..200_000);
    for (i, filter) in ["bloom:k=4", "stable:k=3,p=10,max=3", "rlbsbf:k=2"]
        .iter()
        .enumerate()
    {
        let path = directory.path().join(format!("{i}.dds"));
        let memory_bits = 3_000_001;
        let create = options(filter, memory_bits, 64 << 10);
        let mut opening = OpenOptions::default();
        let mut store = Store::create(&path, &create, opening).expect("made");
        feed(&mut store, &all[..50_000], 1000);
        store.close().expect("closed");
        for (part, backing) in [Backing::Anonymous, Backing::PrivateMap]
            .into_iter()
            .enumerate()
        {
            opening.backing = backing;
            opening.verify_first = part == 0;
            opening.durability = [Durability::Every, Durability::None][part];
            let mut store = Store::open(&path, opening).expect("opened");
            assert_eq!(store.recovery().replayed, 0, "it was closed");
            let from = 50_000 * (part + 1);
            feed(&mut store, &all[from..from + 50_000], 777);
            drop(store);
            opening.durability = Durability::Interval(Duration::from_millis(1));
            let mut store = Store::open(&path, opening).expect("opened");
            assert_eq!(store.sequence(), from as u64 + 50_000);
            assert_eq!(
                digest(&store),
                expected_digest(filter, memory_bits, &all[..from + 50_000])
            );
            store.checkpoint().expect("folded");
            store.close().expect("closed");
        }
    }
}

/// Frames of large batches are written by a thread; whoever drops the store, waits for
/// durability or takes a checkpoint finds every one of them in its place.
#[test]
fn large_batches_are_all_in_the_log() {
    let directory = TempDir::new().expect("a place");
    let all = keys(0..120_000);
    let memory_bits = 3_000_001;
    for (i, filter) in ["blocked", "stable:k=3,p=10,max=3"].iter().enumerate() {
        let path = directory.path().join(format!("{i}.dds"));
        let opening = OpenOptions {
            durability: Durability::Interval(Duration::from_millis(5)),
            ..OpenOptions::default()
        };
        let create = options(filter, memory_bits, 512 << 10);
        let mut store = Store::create(&path, &create, opening).expect("made");
        feed(&mut store, &all[..40_000], 10_000);
        drop(store);
        let mut store = Store::open(&path, opening).expect("opened");
        assert_eq!(store.sequence(), 40_000);
        feed(&mut store, &all[40_000..80_000], 16_384);
        store.wait_durable(80_000).expect("synced");
        assert_eq!(store.durable_sequence(), 80_000);
        feed(&mut store, &all[80_000..100_000], 7_000);
        store.checkpoint().expect("folded");
        assert_eq!(store.durable_sequence(), 100_000);
        feed(&mut store, &all[100_000..], 9_000);
        store.sync().expect("synced");
        assert_eq!(store.durable_sequence(), 120_000);
        drop(store);
        let store = Store::open(&path, opening).expect("opened");
        assert_eq!(store.sequence(), 120_000);
        assert_eq!(digest(&store), expected_digest(filter, memory_bits, &all));
    }
}

#[test]
fn waiting_for_durability_waits() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("a.dds");
    let opening = OpenOptions {
        durability: Durability::Interval(Duration::from_millis(20)),
        ..OpenOptions::default()
    };
    let create = options("bloom", 100_000, 1 << 20);
    let mut store = Store::create(&path, &create, opening).expect("made");
    feed(&mut store, &keys(0..1000), 100);
    store.wait_durable(1000).expect("synced");
    assert_eq!(store.durable_sequence(), 1000);
}

#[test]
fn one_writer_at_a_time() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("a.dds");
    let create = options("bloom", 100_000, 1 << 20);
    let store = Store::create(&path, &create, OpenOptions::default()).expect("made");
    let second = Store::open(&path, OpenOptions::default());
    assert!(matches!(second.err(), Some(StoreError::InUse { .. })));
    drop(store);
    Store::open(&path, OpenOptions::default()).expect("free again");
}

#[test]
fn nothing_at_the_path_is_ever_touched() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("a.dds");
    let create = options("bloom", 100_000, 1 << 20);
    let again = |path: &std::path::Path| Store::create(path, &create, OpenOptions::default()).err();
    std::fs::write(&path, "mine").expect("written");
    assert!(matches!(
        again(&path),
        Some(StoreError::AlreadyExists { .. })
    ));
    let opened = Store::open(&path, OpenOptions::default()).err();
    assert!(matches!(opened, Some(StoreError::NotAStore { .. })));
    assert_eq!(std::fs::read(&path).expect("there"), b"mine");
    let empty = directory.path().join("empty.dds");
    std::fs::create_dir(&empty).expect("made");
    assert!(matches!(
        again(&empty),
        Some(StoreError::AlreadyExists { .. })
    ));
    let opened = Store::open(&empty, OpenOptions::default()).err();
    assert!(matches!(opened, Some(StoreError::NotAStore { .. })));
    assert_eq!(std::fs::read_dir(&empty).expect("there").count(), 0);
}

#[test]
fn the_disk_used_is_what_was_said() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("a.dds");
    let create = options("bloom", 1 << 20, 1 << 20);
    let said = create.layout().expect("a layout").disk_bytes();
    let used = || -> u64 {
        let files = std::fs::read_dir(&path).expect("there");
        files
            .map(|file| file.expect("a file").metadata().expect("read").len())
            .sum()
    };
    let mut store = Store::create(&path, &create, OpenOptions::default()).expect("made");
    assert_eq!(used(), said);
    feed(&mut store, &keys(0..500_000), 5000);
    assert_eq!(used(), said);
    store.close().expect("closed");
    assert_eq!(used(), said);
}

#[test]
fn seen_is_not_done() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("a.dds");
    let create = options("bloom", 100_000, 1 << 20);
    let mut store = Store::create(&path, &create, OpenOptions::default()).expect("made");
    let Claim::New(ticket) = store.claim(b"a") else {
        panic!("a is new")
    };
    assert_eq!(store.claim(b"a"), Claim::Pending);
    store.abort(ticket);
    let Claim::New(ticket) = store.claim(b"a") else {
        panic!("a was given back")
    };
    store.commit(ticket).expect("recorded");
    assert_eq!(store.claim(b"a"), Claim::Seen);
    let Claim::New(unfinished) = store.claim(b"b") else {
        panic!("b is new")
    };
    drop(unfinished);
    drop(store);
    let mut store = Store::open(&path, OpenOptions::default()).expect("opened");
    assert_eq!(store.claim(b"a"), Claim::Seen);
    assert!(
        matches!(store.claim(b"b"), Claim::New(_)),
        "what was not finished is offered again"
    );
}

#[test]
fn verdicts_given_up_are_forgotten() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("a.dds");
    let create = options("bloom", 100_000, 1 << 20);
    let mut store = Store::create(&path, &create, OpenOptions::default()).expect("made");
    let (first, second) = (keys(0..10), keys(10..20));
    let mut verdicts = [Verdict::New; 10];
    let pending = store
        .observe_pending(&first, &mut verdicts)
        .expect("decided");
    pending.commit().expect("recorded");
    drop(
        store
            .observe_pending(&second, &mut verdicts)
            .expect("decided"),
    );
    assert!(matches!(
        store.observe(b"x"),
        Err(StoreError::Poisoned { .. })
    ));
    drop(store);
    let store = Store::open(&path, OpenOptions::default()).expect("opened");
    assert_eq!(store.sequence(), 10);
}
