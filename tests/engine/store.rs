//! The store on a real disk.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use dedupstore::store::{
    Backing, Claim, CreateOptions, Directory, Durability, InMemory, Medium, OpenOptions, Pending,
    ReadOnlyStore, SharedStore, Store, StoreError, StoreFile,
};
use dedupstore::{CreateError, KeyHasher, Observation, Verdict, state_digest};
use tempfile::TempDir;

const SEED: u64 = 5;

fn options(filter: &str, memory_bits: u64, log_bytes: u64) -> CreateOptions {
    CreateOptions::new(filter)
        .expect("a filter")
        .memory_bits(memory_bits)
        .seed(SEED)
        .log_size(log_bytes)
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
    let mut set = CreateOptions::new(filter)
        .expect("a filter")
        .memory_bits(memory_bits)
        .seed(SEED)
        .in_memory()
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

/// A filter that uses numbers as fingerprints is only for the laboratory.
#[test]
fn a_filter_for_numbers_only_is_refused() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("numbers.dds");
    let options = options("sqf:fingerprint=identity", 1 << 16, 1 << 16);
    let refused = Store::create(&path, &options);
    let error = refused.map(|_| ()).expect_err("keys are not numbers");
    assert!(
        matches!(error, StoreError::Create(CreateError::NumbersOnly { .. })),
        "{error}"
    );
    assert!(!path.exists());
}

/// The logs are small, so that the store takes many checkpoints by itself.
#[test]
fn a_store_has_the_state_of_a_set_in_memory_however_it_is_opened() {
    let directory = TempDir::new().expect("a temporary directory");
    let all = keys(0..200_000);
    for (i, filter) in ["bloom:k=4", "stable:k=3,p=10,max=3", "rlbsbf:k=2"]
        .iter()
        .enumerate()
    {
        let path = directory.path().join(format!("{i}.dds"));
        let memory_bits = 3_000_001;
        let create = options(filter, memory_bits, 64 << 10);
        let mut store = Store::create(&path, &create).expect("created");
        feed(&mut store, &all[..50_000], 1000);
        store.close().expect("closed");
        for (part, backing) in [Backing::Anonymous, Backing::PrivateMap]
            .into_iter()
            .enumerate()
        {
            let opening = OpenOptions::new().backing(backing).verify_first(part == 0);
            let durability = [Durability::Every, Durability::None][part];
            let mut store = opening.durability(durability).open(&path).expect("opened");
            assert_eq!(store.recovery().replayed, 0, "the store was closed");
            let from = 50_000 * (part + 1);
            feed(&mut store, &all[from..from + 50_000], 777);
            drop(store);
            let interval = Durability::Interval(Duration::from_millis(1));
            let mut store = opening.durability(interval).open(&path).expect("opened");
            assert_eq!(store.sequence(), from as u64 + 50_000);
            assert_eq!(
                digest(&store),
                expected_digest(filter, memory_bits, &all[..from + 50_000])
            );
            store.checkpoint().expect("checkpoint taken");
            store.close().expect("closed");
        }
    }
}

/// A thread writes the frames of large batches. After a drop, a sync, a wait for durability and
/// a checkpoint, all of them are in the log.
#[test]
fn large_batches_are_all_in_the_log() {
    let directory = TempDir::new().expect("a temporary directory");
    let all = keys(0..120_000);
    let memory_bits = 3_000_001;
    for (i, filter) in ["blocked", "stable:k=3,p=10,max=3"].iter().enumerate() {
        let path = directory.path().join(format!("{i}.dds"));
        let opening = OpenOptions::new().durability(Durability::Interval(Duration::from_millis(5)));
        let create = options(filter, memory_bits, 512 << 10);
        let mut store = opening.create(&path, &create).expect("created");
        feed(&mut store, &all[..40_000], 10_000);
        drop(store);
        let mut store = opening.open(&path).expect("opened");
        assert_eq!(store.sequence(), 40_000);
        feed(&mut store, &all[40_000..80_000], 16_384);
        store.wait_durable(80_000).expect("synced");
        assert_eq!(store.durable_sequence(), 80_000);
        feed(&mut store, &all[80_000..100_000], 7_000);
        store.checkpoint().expect("checkpoint taken");
        assert_eq!(store.durable_sequence(), 100_000);
        feed(&mut store, &all[100_000..], 9_000);
        store.sync().expect("synced");
        assert_eq!(store.durable_sequence(), 120_000);
        drop(store);
        let store = opening.open(&path).expect("opened");
        assert_eq!(store.sequence(), 120_000);
        assert_eq!(digest(&store), expected_digest(filter, memory_bits, &all));
    }
}

#[test]
fn wait_durable_returns_when_observations_are_durable() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let opening = OpenOptions::new().durability(Durability::Interval(Duration::from_millis(20)));
    let create = options("bloom", 100_000, 1 << 20);
    let mut store = opening.create(&path, &create).expect("created");
    feed(&mut store, &keys(0..1000), 100);
    store.wait_durable(1000).expect("synced");
    assert_eq!(store.durable_sequence(), 1000);
}

#[test]
fn one_writer_at_a_time() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let create = options("bloom", 100_000, 1 << 20);
    let store = Store::create(&path, &create).expect("created");
    let second = Store::open(&path);
    assert!(matches!(second.err(), Some(StoreError::InUse { .. })));
    drop(store);
    Store::open(&path).expect("the lock is free");
}

#[test]
fn files_at_the_path_are_never_changed() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let create = options("bloom", 100_000, 1 << 20);
    let again = |path: &std::path::Path| Store::create(path, &create).err();
    std::fs::write(&path, "not a store").expect("written");
    assert!(matches!(
        again(&path),
        Some(StoreError::AlreadyExists { .. })
    ));
    let opened = Store::open(&path).err();
    assert!(matches!(opened, Some(StoreError::NotAStore { .. })));
    assert_eq!(std::fs::read(&path).expect("there"), b"not a store");
    let empty = directory.path().join("empty.dds");
    std::fs::create_dir(&empty).expect("created");
    assert!(matches!(
        again(&empty),
        Some(StoreError::AlreadyExists { .. })
    ));
    let opened = Store::open(&empty).err();
    assert!(matches!(opened, Some(StoreError::NotAStore { .. })));
    assert_eq!(std::fs::read_dir(&empty).expect("there").count(), 0);
}

#[test]
fn files_keep_the_sizes_of_the_layout() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let create = options("bloom", 1 << 20, 1 << 20);
    let expected = create.layout().expect("a layout").disk_bytes();
    let used = || -> u64 {
        let files = std::fs::read_dir(&path).expect("there");
        files
            .map(|file| file.expect("a file").metadata().expect("read").len())
            .sum()
    };
    let mut store = Store::create(&path, &create).expect("created");
    // While a writer has the store open, `lock` holds its process id.
    let lock = std::fs::read(path.join("lock")).expect("there").len() as u64;
    assert_eq!(used(), expected + lock);
    feed(&mut store, &keys(0..500_000), 5000);
    assert_eq!(used(), expected + lock);
    store.close().expect("closed");
    assert_eq!(used(), expected);
}

#[test]
fn claims_are_recorded_only_by_commit() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let create = options("bloom", 100_000, 1 << 20);
    let mut store = Store::create(&path, &create).expect("created");
    let Claim::New(ticket) = store.claim(b"a") else {
        panic!("a is new")
    };
    assert_eq!(store.claim(b"a"), Claim::Pending);
    store.abort(ticket);
    let Claim::New(ticket) = store.claim(b"a") else {
        panic!("the claim of a was aborted")
    };
    store.commit(ticket).expect("recorded");
    assert_eq!(store.claim(b"a"), Claim::Seen);
    let Claim::New(unfinished) = store.claim(b"b") else {
        panic!("b is new")
    };
    drop(unfinished);
    drop(store);
    let mut store = Store::open(&path).expect("opened");
    assert_eq!(store.claim(b"a"), Claim::Seen);
    assert!(
        matches!(store.claim(b"b"), Claim::New(_)),
        "an unfinished key can be claimed again"
    );
}

#[test]
fn dropped_verdicts_poison_the_store_and_are_forgotten() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let create = options("bloom", 100_000, 1 << 20);
    let mut store = Store::create(&path, &create).expect("created");
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
    let store = Store::open(&path).expect("opened");
    assert_eq!(store.sequence(), 10);
}

/// No write to a deleted file fails, so the store has to look.
#[cfg(unix)]
#[test]
fn a_store_deleted_under_its_writer_fails_at_the_next_sync_and_at_the_close() {
    let directory = TempDir::new().expect("a temporary directory");
    let create = options("bloom", 100_000, 1 << 20);
    let path = directory.path().join("a.dds");
    let mut store = Store::create(&path, &create).expect("created");
    store.observe(b"a").expect("recorded");
    std::fs::remove_dir_all(&path).expect("removed");
    assert!(matches!(store.sync(), Err(StoreError::Deleted { .. })));
    // Every later call says so, too.
    let error = store.observe(b"b").expect_err("deleted");
    assert!(matches!(error, StoreError::Deleted { .. }), "{error}");

    let store = Store::create(&path, &create).expect("created");
    std::fs::remove_file(path.join("log.1")).expect("removed");
    let error = store.close().expect_err("deleted");
    assert!(error.to_string().contains("log.1 was deleted"), "{error}");
    std::fs::remove_dir_all(&path).expect("removed");

    let mut store = Store::create(&path, &create).expect("created");
    store.observe(b"a").expect("recorded");
    std::fs::rename(&path, directory.path().join("b.dds")).expect("moved");
    store.close().expect("a moved store is not deleted");
}

#[test]
fn a_settled_store_has_the_numbers_of_the_closed_store() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let create = options("bloom", 100_000, 1 << 20);
    let mut store = Store::create(&path, &create).expect("created");
    store.observe(b"a").expect("recorded");
    let generation = store.generation();
    store.settle().expect("settled");
    assert_eq!(store.generation(), generation + 1);
    assert_eq!(store.durable_sequence(), 1);
    drop(store);
    let store = Store::open(&path).expect("opened");
    assert_eq!(store.recovery().replayed, 0);
    assert_eq!(store.generation(), generation + 1);
}

/// A medium in memory that counts itself, to show when the last user has dropped it.
struct Counted {
    files: InMemory,
    _alive: Arc<()>,
}

impl Medium for Counted {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        self.files.len(file)
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.files.read(file, offset, buffer)
    }

    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.files.write(file, offset, bytes)
    }

    fn sync(&self, file: StoreFile) -> io::Result<()> {
        self.files.sync(file)
    }

    fn unix_seconds(&self) -> u64 {
        self.files.unix_seconds()
    }
}

/// Every thread of a store holds its medium, so the threads have ended once it is dropped.
#[test]
fn dropping_a_store_ends_its_threads() {
    let create = options("bloom:k=4", 8 << 20, 256 << 10);
    let layout = create.layout().expect("a layout");
    for verify_first in [true, false] {
        let files = StoreFile::ALL.map(|file| vec![0; layout.file_bytes(file) as usize]);
        let alive = Arc::new(());
        let medium = Counted {
            files: InMemory::holding(files, 0),
            _alive: Arc::clone(&alive),
        };
        let opening = OpenOptions::new().verify_first(verify_first);
        let mut store = opening.create_on(medium, &create).expect("created");
        for chunk in keys(0..100_000).chunks(10_000) {
            let mut verdicts = vec![Verdict::New; chunk.len()];
            store.observe_batch(chunk, &mut verdicts).expect("observed");
        }
        drop(store);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}

/// Without closing: at once after a drop the store can be opened again and holds everything,
/// whether frames were on their way to the log or a checkpoint was being written.
#[test]
fn dropping_a_store_loses_no_observation_and_releases_its_lock() {
    let directory = TempDir::new().expect("a temporary directory");
    let filter = "stable:k=3,p=10,max=3";
    let memory_bits = 3_000_001;
    let all = keys(0..90_000);
    let interval = Durability::Interval(Duration::from_secs(3600));
    for (i, opening) in [
        OpenOptions::new().durability(interval),
        OpenOptions::new().durability(Durability::None),
        OpenOptions::new().durability(Durability::Every),
        OpenOptions::new().durability(interval).verify_first(false),
        OpenOptions::new().threads(false),
    ]
    .into_iter()
    .enumerate()
    {
        let path = directory.path().join(format!("{i}.dds"));
        let create = options(filter, memory_bits, 512 << 10);
        drop(opening.create(&path, &create).expect("created"));
        for until in [30_000, 60_000, 90_000] {
            let mut store = opening.open(&path).expect("the lock is free");
            let from = store.sequence() as usize;
            assert_eq!(from, until - 30_000);
            feed(&mut store, &all[from..until], 10_000);
            drop(store);
        }
        let store = opening.open(&path).expect("the lock is free");
        assert_eq!(store.sequence(), 90_000);
        assert_eq!(digest(&store), expected_digest(filter, memory_bits, &all));
    }
}

#[test]
fn stores_can_be_sent_to_and_shared_between_threads() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Store>();
    is_send_and_sync::<SharedStore>();
    is_send_and_sync::<ReadOnlyStore>();
    is_send_and_sync::<Pending<'static, Directory>>();
}

/// Debug output is short: it names the filter and the counts, not the region's bytes.
#[test]
fn debug_output_is_short() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let create = options("bloom:k=4", 100_000, 1 << 20);
    let mut store = Store::create(&path, &create).expect("created");
    store.observe("a").expect("observed");
    store.sync().expect("synced");
    let (observations, mut verdicts) = (keys(0..10), [Verdict::New; 10]);
    let expected = "Store { filter: \"bloom:k=4,layout=shared\", memory_bits: 100000, sequence: 1, \
                    durable_sequence: 1, generation: 0, .. }";
    assert_eq!(format!("{store:?}"), expected);
    let reader = ReadOnlyStore::open(&path).expect("opened");
    let read_only = "ReadOnlyStore { filter: \"bloom:k=4,layout=shared\", memory_bits: 100000, sequence: 1, \
                     generation: 0, .. }";
    assert_eq!(format!("{reader:?}"), read_only);
    let pending = store
        .observe_pending(&observations, &mut verdicts)
        .expect("decided");
    let expected = format!("Pending {{ observations: 10, store: {expected}, .. }}");
    assert_eq!(format!("{pending:?}"), expected);
    pending.commit().expect("recorded");
    let shared = directory.path().join("shared.dds");
    let shared = SharedStore::create(&shared, &create.shards(2)).expect("created");
    assert_eq!(format!("{shared:?}"), "SharedStore { shards: 2, .. }");
}
