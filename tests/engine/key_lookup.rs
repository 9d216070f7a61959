//! `KeyLookup` answers as the recovered store does, and reads little to do so.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dedupstore::filter::{AnyFilter, registry};
use dedupstore::store::{
    CreateOptions, Directory, Durability, InMemory, KeyLookup, Medium, OpenOptions, ReadOnlyStore,
    Store, StoreError, StoreFile,
};
use dedupstore::{FilterSpec, KeyHasher, Observation, Verdict};
use tempfile::TempDir;

const SEED: u64 = 3;
const MEMORY_BYTES: u64 = 8 << 20;

/// Files in memory that several handles share, with a count of the bytes read from images.
#[derive(Clone)]
struct Counted {
    files: Arc<InMemory>,
    image_bytes: Arc<AtomicU64>,
}

impl Medium for Counted {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        self.files.len(file)
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if matches!(file, StoreFile::Image0 | StoreFile::Image1) {
            let count = buffer.len() as u64;
            self.image_bytes.fetch_add(count, Ordering::Relaxed);
        }
        self.files.read(file, offset, buffer)
    }

    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.files.write(file, offset, bytes)
    }

    fn sync(&self, file: StoreFile) -> io::Result<()> {
        self.files.sync(file)
    }

    fn unix_seconds(&self) -> u64 {
        1_000_000
    }
}

impl Counted {
    fn for_store(options: &CreateOptions) -> Self {
        let layout = options.layout().expect("a layout");
        let zeros = |file: StoreFile| vec![0; layout.file_bytes(file) as usize];
        Counted {
            files: Arc::new(InMemory::holding(StoreFile::ALL.map(zeros), 1_000_000)),
            image_bytes: Arc::default(),
        }
    }

    /// Returns the bytes read from images during a call.
    fn reading<T>(&self, call: impl FnOnce() -> T) -> (T, u64) {
        let before = self.image_bytes.load(Ordering::Relaxed);
        let result = call();
        (result, self.image_bytes.load(Ordering::Relaxed) - before)
    }
}

fn observations(keys: std::ops::Range<u64>) -> Vec<Observation> {
    let hasher = KeyHasher::new(SEED);
    let keys = keys.map(|key| hasher.fingerprint(&(key * key % 100_003).to_le_bytes()));
    keys.map(Observation::from).collect()
}

fn feed<M: Medium>(store: &mut Store<M>, keys: std::ops::Range<u64>) {
    let observations = observations(keys);
    let mut verdicts = vec![Verdict::New; observations.len()];
    store
        .observe_batch(&observations, &mut verdicts)
        .expect("observed");
}

/// The filters that a store can have.
fn specs() -> impl Iterator<Item = FilterSpec> {
    let specs = registry().iter().map(|it| FilterSpec::with_defaults(it));
    specs.filter(|spec| {
        let filter = AnyFilter::build(spec, 8 * MEMORY_BYTES).expect("enough memory");
        !filter.requires_numeric_keys()
    })
}

fn options(spec: &FilterSpec) -> CreateOptions {
    CreateOptions::default()
        .filter(spec.clone())
        .memory(MEMORY_BYTES)
        .seed(SEED)
        .log_size(1 << 20)
}

/// With nothing, little and much in the log.
#[test]
fn a_lookup_answers_as_the_recovered_store_for_every_filter() {
    for spec in specs() {
        for in_log in [0, 10, 20_000] {
            let medium = Counted::for_store(&options(&spec));
            let opening = OpenOptions::new()
                .threads(false)
                .durability(Durability::None);
            let mut store = opening
                .create_on(medium.clone(), &options(&spec))
                .expect("created");
            feed(&mut store, 0..20_000);
            store.checkpoint().expect("checkpoint taken");
            feed(&mut store, 20_000..20_000 + in_log);
            store.sync().expect("synced");
            drop(store);
            let whole = ReadOnlyStore::open_on(&medium).expect("read");
            let hasher = whole.hasher();
            for first in [0u64, 19_990, 20_010, 50_000] {
                let open = || KeyLookup::open_on(medium.clone()).expect("opened");
                let (mut lookup, opening_bytes) = medium.reading(open);
                let is_lazy = lookup.filter().observe_reads_only_evidence();
                if in_log == 0 || (in_log == 10 && is_lazy) {
                    assert!(opening_bytes < MEMORY_BYTES / 4, "{spec}: {opening_bytes}");
                }
                assert_eq!(lookup.registers(), whole.registers(), "{spec}");
                for key in first..first + 20 {
                    let key = (key * key % 100_003).to_le_bytes();
                    let fingerprint = hasher.fingerprint(&key);
                    let evidence = lookup.evidence(fingerprint).expect("read");
                    let expected = whole.filter().evidence(
                        whole.filter_region(),
                        whole.registers(),
                        fingerprint,
                    );
                    assert_eq!(evidence, expected, "{spec}, {in_log} in the log");
                    let verdict = lookup.contains(key).expect("read");
                    assert_eq!(verdict, whole.contains(key), "{spec}, {in_log} in the log");
                }
            }
        }
    }
}

/// What `filter --dry-run` does: the verdicts are those that the store would give.
#[test]
fn unrecorded_observations_get_the_verdicts_of_the_store() {
    for spec in specs() {
        let medium = Counted::for_store(&options(&spec));
        let opening = OpenOptions::new()
            .threads(false)
            .durability(Durability::None);
        let mut store = opening
            .create_on(medium.clone(), &options(&spec))
            .expect("created");
        feed(&mut store, 0..5000);
        store.close().expect("closed");
        let mut lookup = KeyLookup::open_on(medium.clone()).expect("opened");
        let mut rehearsed = Vec::new();
        let more = observations(4980..9000);
        for batch in more.chunks(30) {
            let mut verdicts = vec![Verdict::New; batch.len()];
            lookup
                .observe_unrecorded(batch, &mut verdicts)
                .expect("read");
            rehearsed.extend(verdicts);
        }
        let mut store = opening.open_on(medium).expect("opened");
        let mut verdicts = vec![Verdict::New; more.len()];
        store.observe_batch(&more, &mut verdicts).expect("observed");
        assert!(rehearsed == verdicts, "{spec}");
        assert_eq!(lookup.registers().occupied(), store.registers().occupied());
    }
}

#[test]
fn one_key_takes_the_table_and_one_block() {
    let spec: FilterSpec = "blocked".parse().expect("a filter");
    let medium = Counted::for_store(&options(&spec));
    let mut store = OpenOptions::new()
        .threads(false)
        .create_on(medium.clone(), &options(&spec))
        .expect("created");
    feed(&mut store, 0..1000);
    store.close().expect("closed");
    let (verdict, bytes) = medium.reading(|| {
        let mut lookup = KeyLookup::open_on(medium.clone()).expect("opened");
        lookup.contains(4u64.to_le_bytes()).expect("read")
    });
    assert_eq!(verdict, Verdict::Seen);
    let blocks = options(&spec).layout().expect("a layout").blocks();
    // Two superblocks, the table, the block and its checksum.
    assert_eq!(bytes, 2 * 4096 + 4 * blocks + 8192 + 4);
}

fn on_disk(directory: &TempDir) -> (std::path::PathBuf, Store<Directory>) {
    let path = directory.path().join("a.dds");
    let spec: FilterSpec = "blocked".parse().expect("a filter");
    let mut store = OpenOptions::new()
        .durability(Durability::None)
        .create(&path, &options(&spec))
        .expect("created");
    feed(&mut store, 0..1000);
    store.checkpoint().expect("checkpoint taken");
    (path, store)
}

#[test]
fn a_corrupt_block_is_reported_for_the_keys_that_need_it() {
    let directory = TempDir::new().expect("a temporary directory");
    let (path, store) = on_disk(&directory);
    let image = path.join(StoreFile::image(store.generation()).name());
    store.close().expect("closed");
    let mut lookup = KeyLookup::open(&path).expect("opened");
    let hasher = lookup.hasher();
    let evidence = lookup.evidence(hasher.fingerprint(b"x")).expect("read");
    let byte = evidence.cells().next().expect("a cell").offset_bits / 8;
    let mut bytes = std::fs::read(&image).expect("there");
    bytes[4096 + byte as usize] ^= 1;
    std::fs::write(&image, bytes).expect("written");
    let mut lookup = KeyLookup::open(&path).expect("the table is intact");
    let found = lookup.contains(b"x").expect_err("its block is corrupt");
    let StoreError::Corrupt(damage) = found else {
        panic!("{found}");
    };
    assert_eq!(damage.offset, 4096 + byte / 8192 * 8192);
    let elsewhere = (0u64..).map(u64::to_le_bytes).find(|key| {
        let mut lookup = KeyLookup::open(&path).expect("opened");
        lookup.contains(key).is_ok()
    });
    assert!(elsewhere.is_some());
}

#[test]
fn a_lookup_continues_when_a_writer_replaces_the_image() {
    let directory = TempDir::new().expect("a temporary directory");
    let (path, mut store) = on_disk(&directory);
    let mut lookup = KeyLookup::open(&path).expect("opened");
    let mut rehearsal = KeyLookup::open(&path).expect("opened");
    for round in 1..=3 {
        feed(&mut store, 1000 * round..1000 * (round + 1));
        store.checkpoint().expect("checkpoint taken");
    }
    for key in 0..4000u64 {
        let key = (key * key % 100_003).to_le_bytes();
        assert_eq!(lookup.contains(key).expect("read"), Verdict::Seen);
    }
    let more = observations(0..10);
    let mut verdicts = vec![Verdict::New; more.len()];
    let refused = rehearsal.observe_unrecorded(&more, &mut verdicts);
    assert!(
        matches!(refused, Err(StoreError::ImageReplaced)),
        "{refused:?}"
    );
}
