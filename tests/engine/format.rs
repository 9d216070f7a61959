//! The format document says what the code does; and stores of every version open for ever.

use std::fs;
use std::path::Path;

use dedupstore::lab::StreamSpec;
use dedupstore::store::format::{frame_offsets, superblock_offsets};
use dedupstore::store::{CreateOptions, OpenOptions, Store, StoreError};
use dedupstore::{FilterSpec, SeenSet, registry, state_digest};
use dedupstore_tests::{fixture, root};
use tempfile::TempDir;

/// The rows of a table of the document, as (offset, field).
fn table(document: &str, heading: &str) -> Vec<(usize, String)> {
    let section = document.split(heading).nth(1).expect("the section");
    let section = section.split("\n## ").next().expect("the section");
    let rows = section.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ").map(str::trim);
        let offset = cells.next()?.parse().ok()?;
        let field = cells.nth(1)?.to_owned();
        (!field.is_empty()).then_some((offset, field))
    });
    rows.collect()
}

#[test]
fn the_document_and_the_code_agree_on_every_offset() {
    let document = fs::read_to_string(root().join("docs/FORMAT.md")).expect("kept");
    let owned = |(offset, field): (usize, &str)| (offset, field.to_owned());
    let superblock: Vec<_> = superblock_offsets().into_iter().map(owned).collect();
    assert_eq!(table(&document, "\n## Superblock\n"), superblock);
    let frame: Vec<_> = frame_offsets().into_iter().map(owned).collect();
    assert_eq!(table(&document, "\n## Log\n"), frame);
}

const GOLDEN_SEED: u64 = 11;
const GOLDEN_BITS: u64 = 60_000;
const GOLDEN_OBSERVATIONS: u64 = 3000;

fn golden_keys() -> Vec<Vec<u8>> {
    let stream: StreamSpec = "shuffle:60".parse().expect("a stream");
    let mut stream = stream.open(GOLDEN_OBSERVATIONS, GOLDEN_SEED);
    let mut keys = Vec::new();
    while let Some((key, _)) = stream.next_key() {
        keys.push(key.to_vec());
    }
    keys
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir(to).expect("made");
    for entry in fs::read_dir(from).expect("there") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

/// Made by this program when it was at version 1, and never again. To add one for a new
/// filter: run this test with DEDUPSTORE_MAKE_GOLDEN=1, which touches none that exists.
#[test]
fn stores_of_version_1_open_for_ever() {
    let plain = registry().iter().map(|descriptor| (descriptor.name, 0));
    let audited = [("bloom", 4096), ("stable", 4096)];
    for (name, audit_bytes) in plain.chain(audited) {
        let kept = fixture("stores").join(match audit_bytes {
            0 => format!("version-1-{name}.dds"),
            _ => format!("version-1-{name}-audited.dds"),
        });
        let spec: FilterSpec = name.parse().expect("a filter");
        if std::env::var_os("DEDUPSTORE_MAKE_GOLDEN").is_some() && !kept.exists() {
            make_golden(&kept, &spec, audit_bytes);
        }
        let directory = TempDir::new().expect("a place");
        let path = directory.path().join("copy.dds");
        copy_directory(&kept, &path);
        let store = Store::open(&path, OpenOptions::default()).expect("it opens");
        assert_eq!(store.spec(), &spec);
        assert_eq!(store.audit_bytes(), audit_bytes);
        assert!(
            store.recovery().replayed > 0,
            "it was left with a log to replay"
        );
        let mut set =
            SeenSet::audited(&spec, GOLDEN_BITS, GOLDEN_SEED, audit_bytes).expect("small");
        for key in golden_keys() {
            set.observe(&key);
        }
        assert_eq!(
            state_digest(store.region(), store.registers()),
            state_digest(set.region(), set.registers()),
            "{name}",
        );
    }
}

fn make_golden(path: &Path, spec: &FilterSpec, audit_bytes: u32) {
    let mut options = CreateOptions::new(spec.clone(), GOLDEN_BITS);
    options.seed = Some(GOLDEN_SEED);
    options.log_bytes = Some(8192);
    options.audit_bytes = Some(audit_bytes);
    let opening = OpenOptions {
        threads: false,
        ..OpenOptions::default()
    };
    let mut store = Store::create(path, &options, opening).expect("made");
    for (i, key) in golden_keys().iter().enumerate() {
        store.observe(key).expect("observed");
        if i == 2900 {
            store.checkpoint().expect("folded");
        }
    }
    store.sync().expect("durable");
}

/// A golden store whose superblocks have a number changed and their checksums made right.
fn with_superblock_field(offset: usize, value: &[u8]) -> (TempDir, std::path::PathBuf) {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("copy.dds");
    copy_directory(&fixture("stores").join("version-1-bloom.dds"), &path);
    for image in ["image.0", "image.1"] {
        let file = path.join(image);
        let mut bytes = fs::read(&file).expect("there");
        bytes[offset..offset + value.len()].copy_from_slice(value);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&[0; 32]);
        hasher.update(&bytes[..4092]);
        bytes[4092..4096].copy_from_slice(&hasher.finalize().to_le_bytes());
        fs::write(&file, bytes).expect("written");
    }
    (directory, path)
}

fn error_of(path: &Path) -> StoreError {
    match Store::open(path, OpenOptions::default()) {
        Ok(_) => panic!("it opened"),
        Err(error) => error,
    }
}

/// The sizes are checked against the files before anything is allocated: a petabyte would
/// not be refused so quietly.
#[test]
fn absurd_sizes_are_refused_without_being_allocated() {
    let offsets = superblock_offsets();
    let offset_of = |name: &str| {
        offsets
            .iter()
            .find(|(_, field)| *field == name)
            .map(|(at, _)| *at)
    };
    for (field, value) in [
        ("region bytes", 1u64 << 40),
        ("region bytes", u64::MAX),
        ("region bytes", 0),
        ("log bytes", 1 << 33),
        ("log bytes", u64::MAX),
        ("log offset", u64::MAX),
        ("sequence", u64::MAX),
    ] {
        let at = offset_of(field).expect("a field");
        let (_directory, path) = with_superblock_field(at, &value.to_le_bytes());
        let error = error_of(&path);
        assert!(
            matches!(error, StoreError::Corrupt(_)),
            "{field} {value}: {error}"
        );
    }
    let at = offset_of("parameter bytes").expect("a field");
    let (_directory, path) = with_superblock_field(at, &u32::MAX.to_le_bytes());
    assert!(matches!(error_of(&path), StoreError::Corrupt(_)));
}

#[test]
fn newer_formats_are_refused_by_name() {
    let (_directory, path) = with_superblock_field(8, &7u32.to_le_bytes());
    let text = error_of(&path).to_string();
    assert!(
        text.contains("format version 7") && text.contains("use a newer one"),
        "{text}"
    );
    let (_directory, path) = with_superblock_field(16, &4u32.to_le_bytes());
    let text = error_of(&path).to_string();
    assert!(text.contains("features 0x00000004"), "{text}");
}
