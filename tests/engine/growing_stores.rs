//! Stores whose filter grows inside a reserve.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use dedupstore::filter::CannotGrow;
use dedupstore::store::{
    Backing, CreateOptions, KeyLookup, OpenOptions, ReadOnlyStore, Store, StoreError, StoreFile,
    backup, grow, inspect, inspect_exactly, leftovers, verify,
};
use dedupstore::{SeenSet, Verdict, state_digest};
use tempfile::TempDir;

const FILTERS: [&str; 3] = [
    "quotient:bits=20,doublings=8",
    "quotient:bits=20,doublings=8,longest=22",
    "growing:fpr=0.000001,part=65536",
];

fn options(filter: &str) -> CreateOptions {
    let options = CreateOptions::new(filter).expect("a filter");
    options.memory("8MiB").log_size("64KiB").seed(3)
}

fn feed(store: &mut Store, set: &mut SeenSet, keys: std::ops::Range<u64>) {
    for key in keys {
        let key = key.to_le_bytes();
        assert_eq!(store.observe(key).expect("observed"), set.observe(key));
    }
}

fn digest(region: &[u8], registers: &dedupstore::Registers) -> u64 {
    state_digest(region, registers)
}

/// Returns how many blocks of an image are not zeros.
fn written_blocks(path: &Path, file: StoreFile) -> usize {
    let bytes = std::fs::read(path.join(file.name())).expect("read");
    let blocks = bytes[4096..].chunks(8192);
    blocks
        .filter(|block| block.iter().any(|&byte| byte != 0))
        .count()
}

/// Between checkpoints, during them, by both images and after a crash.
#[test]
fn a_growing_store_recovers_its_state_and_writes_only_what_it_used() {
    for filter in FILTERS {
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path().join("a.dds");
        let mut store = Store::create(&path, &options(filter)).expect("created");
        let disk_bytes = store.layout().disk_bytes();
        let mut set = options(filter).in_memory().expect("small");
        let mut used = 0;
        for (round, end) in [500, 5000, 20_000, 60_000].into_iter().enumerate() {
            let from = set.registers().observations();
            feed(&mut store, &mut set, from..end);
            let growth = set.filter().growth(set.registers()).expect("it grows");
            assert!(growth.used_bytes >= used && growth.used_bytes < growth.reserved_bytes / 2);
            used = growth.used_bytes;
            let expected = digest(set.region(), set.registers());
            match round % 2 {
                0 => drop(store),
                _ => store.close().expect("closed"),
            }
            assert_eq!(verify(&path).expect("read"), [], "{filter}");
            let read = ReadOnlyStore::open(&path).expect("read");
            assert_eq!(
                digest(read.region(), read.registers()),
                expected,
                "{filter}"
            );
            let mut lookup = KeyLookup::open(&path).expect("opened");
            for key in (0..end + 500).step_by(97) {
                let key = key.to_le_bytes();
                let found = lookup.contains(key).expect("read");
                assert_eq!(found, set.contains(key), "{filter}");
            }
            let copy = directory.path().join(format!("copy{round}.dds"));
            backup(&path, &copy).expect("copied");
            let copied = ReadOnlyStore::open(&copy).expect("read");
            assert_eq!(digest(copied.region(), copied.registers()), expected);
            for backing in [Backing::PrivateMap, Backing::Anonymous, Backing::Automatic] {
                let opening = OpenOptions::new()
                    .backing(backing)
                    .verify_first(round % 2 == 0);
                let opened = opening.open(&path).expect("opened");
                assert_eq!(digest(opened.region(), opened.registers()), expected);
            }
            store = Store::open(&path).expect("opened");
        }
        store.close().expect("closed");
        let inspection = inspect(&path).expect("read");
        let exact = inspect_exactly(&path).expect("read");
        assert_eq!(inspection.audit, exact.audit);
        let growth = inspection.growth.expect("it grows").growth;
        assert_eq!(growth.used_bytes, used);
        assert_eq!(inspection.disk_bytes, disk_bytes, "files keep their size");
        // The used blocks, those of the audit, the table of checksums.
        let most = used as usize / 8192 + 1 + 512 / 8 + 4;
        for file in [StoreFile::Image0, StoreFile::Image1] {
            let written = written_blocks(&path, file);
            assert!(
                written <= most,
                "{filter}: {written} blocks, {used} bytes used"
            );
        }
    }
}

/// An interrupted checkpoint may have written more blocks than the next one uses.
#[test]
fn what_a_file_holds_in_unused_blocks_does_not_matter() {
    for filter in FILTERS {
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path().join("a.dds");
        let mut store = Store::create(&path, &options(filter)).expect("created");
        let mut set = options(filter).in_memory().expect("small");
        feed(&mut store, &mut set, 0..2000);
        let layout = store.layout();
        store.close().expect("closed");
        let used = set.filter().used_bytes(set.registers()) as u64;
        for name in ["image.0", "image.1"] {
            let file = File::options()
                .write(true)
                .open(path.join(name))
                .expect("opened");
            for block in used / 8192 + 1..used / 8192 + 300 {
                file.write_all_at(&[0xA5; 8192], 4096 + 8192 * block)
                    .expect("written");
                let entry = layout.table_offset() + 4 * block;
                file.write_all_at(&[0xA5; 4], entry).expect("written");
            }
        }
        assert_eq!(verify(&path).expect("read"), [], "{filter}");
        let opening = OpenOptions::new()
            .backing(Backing::PrivateMap)
            .verify_first(false);
        let mut store = opening.open(&path).expect("opened");
        feed(&mut store, &mut set, 2000..80_000);
        let expected = digest(set.region(), set.registers());
        assert_eq!(
            digest(store.region(), store.registers()),
            expected,
            "{filter}"
        );
        store.close().expect("closed");
        assert_eq!(verify(&path).expect("read"), [], "{filter}");
        let mut lookup = KeyLookup::open(&path).expect("opened");
        assert_eq!(
            lookup.contains(7u64.to_le_bytes()).expect("read"),
            Verdict::Seen
        );
    }
}

#[test]
fn grow_keeps_the_state_and_raises_the_limit() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let mut store = Store::create(&path, &options(FILTERS[0])).expect("created");
    let mut set = options(FILTERS[0]).in_memory().expect("small");
    feed(&mut store, &mut set, 0..50_000);
    let in_use = grow(&path, 64 << 23).expect_err("a writer has it");
    assert!(matches!(in_use, StoreError::InUse { .. }), "{in_use}");
    // Not closed: the log is replayed.
    drop(store);
    let before = inspect_exactly(&path).expect("read");
    let small = grow(&path, 9 << 23).expect_err("less than a doubling");
    let needed = match small {
        StoreError::CannotGrow {
            reason: CannotGrow::NeedsMemory { minimum_bits },
            ..
        } => minimum_bits,
        error => panic!("{error}"),
    };
    assert!(needed > 14 << 23 && needed < 16 << 23, "{needed}");
    let report = grow(&path, 64 << 23).expect("grown");
    assert_eq!(report.filter, "quotient:bits=17,doublings=11,longest=56");
    assert!(report.memory_bits <= 64 << 23 && report.memory_bits > 48 << 23);
    assert_eq!(leftovers(&path), []);
    assert_eq!(verify(&path).expect("read"), []);
    let after = inspect(&path).expect("read");
    assert_eq!((after.id, after.seed), (before.id, before.seed));
    assert_eq!(after.observations, 50_000);
    assert_eq!(after.audit, before.audit);
    let growth = |it: dedupstore::store::GrowthInspection| it.growth;
    let (before, after) = (before.growth.map(growth), after.growth.map(growth));
    let (before, after) = (before.expect("it grows"), after.expect("it grows"));
    assert_eq!(before.used_bytes, after.used_bytes);
    assert!(after.keys_left > 7.9 * before.keys_left);
    // The same verdicts as before, until the old limit would have been reached.
    let mut store = Store::open(&path).expect("opened");
    feed(&mut store, &mut set, 40_000..200_000);
    store.close().expect("closed");
    let again = grow(&path, 256 << 23).expect("grown again");
    assert_eq!(again.filter, "quotient:bits=15,doublings=13,longest=56");
    let store = ReadOnlyStore::open(&path).expect("read");
    assert!((0..200_000u64).all(|key| store.contains(key.to_le_bytes()).is_seen()));
}

#[test]
fn a_filter_that_does_not_grow_says_what_to_do_instead() {
    for (filter, part) in [
        ("bloom", "does not grow"),
        ("growing", "follow from the memory"),
        ("quotient:bits=1", "too short"),
    ] {
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path().join("a.dds");
        let store = Store::create(&path, &options(filter)).expect("created");
        store.close().expect("closed");
        let before = std::fs::read(path.join("image.0")).expect("read");
        let error = grow(&path, 64 << 23).expect_err("it cannot");
        let message = dedupstore_view::error_message(path.display(), &error);
        assert!(
            message.contains(part) && message.contains("--grow-to"),
            "{message}"
        );
        assert!(std::fs::read(path.join("image.0")).expect("read") == before);
        assert_eq!(
            std::fs::read_dir(directory.path()).expect("there").count(),
            1
        );
    }
}

/// Equal parts of a given size are the same in a larger reserve.
#[test]
fn equal_parts_can_become_more() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let filter = "growing:fpr=0.0001,tighten=off,part=8388608,layout=shared";
    let mut store = Store::create(&path, &options(filter)).expect("created");
    let mut set = options(filter).in_memory().expect("small");
    feed(&mut store, &mut set, 0..50_000);
    store.close().expect("closed");
    grow(&path, 32 << 23).expect("grown");
    let mut store = Store::open(&path).expect("opened");
    feed(&mut store, &mut set, 0..80_000);
    assert!(store.filter().region_bytes() > 3 * set.filter().region_bytes());
}
