//! Damaged stores: what `verify` reports, what `repair` repairs, and what it never changes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use dedupstore::store::{
    CreateOptions, Directory, Durability, Finding, Loss, OpenOptions, RepairError, Severity, Store,
    StoreError, StoreFile, inspect, repair, verify,
};
use dedupstore::{KeyHasher, Observation, Verdict, state_digest};
use tempfile::TempDir;

const SEED: u64 = 5;
const FILTER: &str = "stable:k=3,p=10,max=3";
const MEMORY_BITS: u64 = 800_001;
const TOTAL: usize = 50_000;
const CHECKPOINTED: usize = 40_000;

fn keys(count: usize) -> Vec<Observation> {
    let hasher = KeyHasher::new(SEED);
    let fingerprint = |key: u64| hasher.fingerprint(&(key * key % 50_021).to_le_bytes());
    (0..count as u64)
        .map(|key| fingerprint(key).into())
        .collect()
}

fn expected_digest(count: usize) -> u64 {
    let mut set = CreateOptions::new(FILTER)
        .expect("a filter")
        .memory_bits(MEMORY_BITS)
        .seed(SEED)
        .in_memory()
        .expect("small");
    let mut verdicts = vec![Verdict::New; count];
    set.observe_batch(&keys(count), &mut verdicts);
    state_digest(set.region(), set.registers())
}

fn feed(store: &mut Store<Directory>, observations: &[Observation]) {
    for chunk in observations.chunks(1000) {
        let mut verdicts = vec![Verdict::New; chunk.len()];
        store.observe_batch(chunk, &mut verdicts).expect("observed");
    }
}

/// Creates a store with two valid images (the newest, of generation 2, is image.0) and a log of
/// ten frames after it (epoch 2: log.0). Everything is durable if `synced`.
fn store(directory: &TempDir, synced: bool) -> PathBuf {
    let path = directory.path().join("a.dds");
    let create = CreateOptions::new(FILTER)
        .expect("a filter")
        .memory_bits(MEMORY_BITS)
        .seed(SEED)
        .log_size(1 << 20);
    let opening = OpenOptions::new().durability(Durability::None);
    let all = keys(TOTAL);
    let mut store = opening.create(&path, &create).expect("created");
    feed(&mut store, &all[..CHECKPOINTED / 2]);
    store.checkpoint().expect("checkpoint taken");
    feed(&mut store, &all[CHECKPOINTED / 2..CHECKPOINTED]);
    store.checkpoint().expect("checkpoint taken");
    feed(&mut store, &all[CHECKPOINTED..]);
    if synced {
        store.sync().expect("synced");
    }
    path
}

fn change(path: &Path, file: StoreFile, change: impl FnOnce(&mut [u8])) {
    let path = path.join(file.name());
    let mut bytes = fs::read(&path).expect("there");
    change(&mut bytes);
    fs::write(&path, bytes).expect("written");
}

fn flip(path: &Path, file: StoreFile, offset: u64) {
    change(path, file, |bytes| bytes[offset as usize] ^= 0x10);
}

fn findings(path: &Path) -> Vec<Finding> {
    verify(path).expect("read")
}

#[track_caller]
fn assert_finds(path: &Path, expected: &[(Severity, StoreFile, u64)]) {
    let found: Vec<_> = findings(path)
        .iter()
        .map(|finding| (finding.severity, finding.damage.file, finding.damage.offset))
        .collect();
    assert_eq!(found, expected);
}

fn contents(path: &Path) -> Vec<Vec<u8>> {
    let file = |file: StoreFile| fs::read(path.join(file.name())).expect("there");
    StoreFile::ALL.map(file).to_vec()
}

fn opened_digest(path: &Path) -> u64 {
    let store = Store::open(path).expect("opened");
    state_digest(store.region(), store.registers())
}

fn table_offset() -> u64 {
    let create = CreateOptions::new(FILTER)
        .expect("a filter")
        .memory_bits(MEMORY_BITS);
    create.layout().expect("a layout").table_offset()
}

/// Repairs without a loss: the store holds all observations, and the damaged files are kept.
#[track_caller]
fn assert_repairs(path: &Path, damaged: &[StoreFile]) {
    let before = contents(path);
    let report = repair(path, false).expect("repaired");
    assert_eq!(report.lost, None);
    assert_eq!(report.observations, Some(TOTAL as u64));
    assert_eq!(report.remaining, []);
    let kept = report.kept.expect("kept");
    assert_eq!(
        kept,
        fs::canonicalize(path)
            .expect("there")
            .with_file_name("a.dds.damaged-1")
    );
    for &file in damaged {
        let copy = fs::read(kept.join(file.name())).expect("kept");
        assert!(copy == before[file as usize], "{file}");
    }
    assert_eq!(findings(path), []);
    assert_eq!(opened_digest(path), expected_digest(TOTAL));
    assert_eq!(findings(path), []);
}

#[test]
fn an_intact_store_is_not_changed() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    assert_finds(&path, &[]);
    let before = contents(&path);
    let report = repair(&path, true).expect("nothing to do");
    assert_eq!((report.kept, report.observations), (None, None));
    assert!(contents(&path) == before);
}

#[test]
fn a_new_store_and_a_closed_store_have_no_findings() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let create = CreateOptions::new("bloom")
        .expect("a filter")
        .memory_bits(100_000);
    let mut store = Store::create(&path, &create).expect("created");
    store.observe(b"a").expect("observed");
    let in_use = verify(&path).err();
    assert!(matches!(in_use, Some(StoreError::InUse { .. })));
    drop(store);
    assert_finds(&path, &[]);
    let store = Store::open(&path).expect("opened");
    store.close().expect("closed");
    assert_finds(&path, &[]);
}

#[test]
fn a_corrupt_superblock_is_covered_by_the_older_image() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    flip(&path, StoreFile::Image0, 200);
    assert_finds(&path, &[(Severity::Covered, StoreFile::Image0, 4092)]);
    assert_repairs(&path, &[StoreFile::Image0]);
}

#[test]
fn corrupt_blocks_of_the_newest_image_are_repaired() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    flip(&path, StoreFile::Image0, 4096 + 5);
    flip(&path, StoreFile::Image0, 4096 + 3 * 8192);
    let (file, severity) = (StoreFile::Image0, Severity::Refused);
    assert_finds(
        &path,
        &[(severity, file, 4096), (severity, file, 4096 + 3 * 8192)],
    );
    let refused = Store::open(&path).err();
    assert!(matches!(refused, Some(StoreError::Corrupt(_))));
    assert_repairs(&path, &[StoreFile::Image0]);
}

#[test]
fn a_corrupt_table_is_repaired() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    flip(&path, StoreFile::Image0, table_offset() + 1);
    assert_finds(
        &path,
        &[(Severity::Refused, StoreFile::Image0, table_offset())],
    );
    assert_repairs(&path, &[StoreFile::Image0]);
}

#[test]
fn a_corrupt_older_image_is_replaced() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    flip(&path, StoreFile::Image1, 4096 + 8192);
    assert_finds(
        &path,
        &[(Severity::Covered, StoreFile::Image1, 4096 + 8192)],
    );
    assert_repairs(&path, &[StoreFile::Image1]);
}

#[test]
fn corruption_of_a_log_that_only_the_older_image_needs_is_covered() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    flip(&path, StoreFile::Log1, 600);
    assert_finds(&path, &[(Severity::Covered, StoreFile::Log1, 512)]);
    assert_repairs(&path, &[StoreFile::Log1]);
}

#[test]
fn a_corrupt_mark_is_rewritten() {
    for slots in [&[0][..], &[4096], &[0, 4096]] {
        let directory = TempDir::new().expect("a temporary directory");
        let path = store(&directory, true);
        slots
            .iter()
            .for_each(|&slot| flip(&path, StoreFile::Mark, slot + 20));
        let severity = match slots.len() {
            1 => Severity::Covered,
            _ => Severity::Refused,
        };
        let expected: Vec<_> = slots
            .iter()
            .map(|&slot| (severity, StoreFile::Mark, slot))
            .collect();
        assert_finds(&path, &expected);
        assert_repairs(&path, &[StoreFile::Mark]);
    }
}

#[test]
fn files_of_wrong_size_are_repaired() {
    for (file, size) in [
        (StoreFile::Mark, 100),
        (StoreFile::Image0, 9000),
        (StoreFile::Log1, 5000),
        (StoreFile::Log0, 2 << 20),
    ] {
        let directory = TempDir::new().expect("a temporary directory");
        let path = store(&directory, true);
        let handle = File::options().write(true).open(path.join(file.name()));
        handle.expect("there").set_len(size).expect("cut");
        let found = findings(&path);
        let sized = |finding: &Finding| {
            finding.damage.file == file && finding.severity == Severity::Refused
        };
        assert!(found.iter().any(sized), "{file}: {found:?}");
        let refused = Store::open(&path).err();
        assert!(matches!(refused, Some(StoreError::Corrupt(_))));
        assert_repairs(&path, &StoreFile::ALL);
    }
}

/// Ten frames of 8040 bytes: the fifth holds observations 44,001 to 45,000.
#[test]
fn a_repair_with_loss_fails_and_names_it_unless_accepted() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    let fifth = 512 + 4 * 8040;
    flip(&path, StoreFile::Log0, fifth + 100);
    assert_finds(&path, &[(Severity::Refused, StoreFile::Log0, fifth)]);
    let before = contents(&path);
    let loss = Loss {
        first: 44_001,
        last: Some(50_000),
    };
    match repair(&path, false) {
        Err(RepairError::WouldLose { kept, lost, .. }) => assert_eq!((kept, lost), (44_000, loss)),
        other => panic!("{other:?}"),
    }
    assert!(contents(&path) == before, "nothing is touched");
    assert_eq!(fs::read_dir(directory.path()).expect("there").count(), 1);
    let report = repair(&path, true).expect("accepted");
    assert_eq!(
        (report.lost, report.observations),
        (Some(loss), Some(44_000))
    );
    assert_eq!(report.remaining, []);
    assert!(contents(&report.kept.expect("kept")) == before);
    assert_eq!(opened_digest(&path), expected_digest(44_000));
    let mut store = Store::open(&path).expect("opened");
    feed(&mut store, &keys(TOTAL)[44_000..]);
    store.close().expect("closed");
    assert_eq!(opened_digest(&path), expected_digest(TOTAL), "it goes on");
    assert_eq!(findings(&path), []);
    assert_eq!(fs::read_dir(directory.path()).expect("there").count(), 2);
}

#[test]
fn without_the_mark_a_torn_tail_counts_as_a_possible_loss() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    flip(&path, StoreFile::Log0, 512 + 9 * 8040 + 100);
    flip(&path, StoreFile::Mark, 20);
    flip(&path, StoreFile::Mark, 4096 + 20);
    let lost = match repair(&path, false) {
        Err(RepairError::WouldLose { lost, .. }) => lost,
        other => panic!("{other:?}"),
    };
    assert_eq!((lost.first, lost.last), (49_001, None));
    repair(&path, true).expect("accepted");
    assert_eq!(opened_digest(&path), expected_digest(49_000));
}

#[test]
fn a_torn_tail_is_not_damage() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, false);
    let last = 512 + 9 * 8040;
    flip(&path, StoreFile::Log0, last + 100);
    assert_finds(&path, &[(Severity::Information, StoreFile::Log0, last)]);
    let inspection = inspect(&path).expect("inspected");
    assert_eq!(inspection.torn_tail.map(|torn| torn.offset), Some(last));
    assert_eq!(inspection.log_sequence, 49_000);
    assert_eq!(inspection.durable_sequence, Some(CHECKPOINTED as u64));
    let before = contents(&path);
    assert_eq!(repair(&path, false).expect("nothing to do").kept, None);
    assert!(contents(&path) == before);
    assert_eq!(opened_digest(&path), expected_digest(49_000));
}

#[test]
fn an_interrupted_checkpoint_is_not_damage() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    change(&path, StoreFile::Image1, |bytes| bytes[..4096].fill(0));
    assert_finds(&path, &[(Severity::Information, StoreFile::Image1, 0)]);
    assert!(inspect(&path).expect("inspected").checkpoint_unfinished);
    assert_eq!(opened_digest(&path), expected_digest(TOTAL));
}

#[test]
fn an_image_of_another_store_is_replaced() {
    let (here, there) = (
        TempDir::new().expect("a temporary directory"),
        TempDir::new().expect("a temporary directory"),
    );
    let (path, other) = (store(&here, true), store(&there, true));
    let mut opened = Store::open(&other).expect("opened");
    opened.checkpoint().expect("checkpoint taken");
    drop(opened);
    fs::copy(other.join("image.1"), path.join("image.1")).expect("copied");
    let found = findings(&path);
    assert!(
        found
            .iter()
            .any(|finding| finding.severity == Severity::Refused)
    );
    assert_repairs(&path, &[StoreFile::Image1]);
}

#[test]
fn a_store_beyond_repair_is_not_changed() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    flip(&path, StoreFile::Image0, 5000);
    flip(&path, StoreFile::Image1, 200);
    let before = contents(&path);
    for accept_loss in [false, true] {
        let refused = repair(&path, accept_loss).err();
        assert!(matches!(refused, Some(RepairError::NothingLeft { .. })));
    }
    assert!(contents(&path) == before);
    assert_eq!(fs::read_dir(directory.path()).expect("there").count(), 1);
}

#[test]
fn a_store_in_use_is_not_repaired() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = store(&directory, true);
    let held = Store::open(&path).expect("opened");
    let refused = repair(&path, false).err();
    assert!(matches!(
        refused,
        Some(RepairError::Store(StoreError::InUse { .. }))
    ));
    drop(held);
}
