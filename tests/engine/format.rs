//! The format document agrees with the code, and stores of every version can be opened.

use std::fs;
use std::path::Path;

use dedupstore::store::format::{frame_offsets, superblock_offsets};
use dedupstore::store::{Store, StoreError};
use dedupstore::{FilterSpec, registry, state_digest};
use dedupstore_tests::{fixture, root};
use dedupstore_tools::golden;
use tempfile::TempDir;

/// Returns the rows of a table of the document as (offset, field).
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

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir(to).expect("created");
    for entry in fs::read_dir(from).expect("there") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

fn golden_spec_of(name: &str) -> FilterSpec {
    let descriptor = registry().iter().find(|it| it.name == name);
    golden::store_filter(descriptor.expect("a filter"))
}

/// The golden stores were created by version 1 and never change. `cargo xtask golden NAME` adds the
/// store of a new filter.
#[test]
fn stores_of_version_1_can_be_opened() {
    let plain = registry().iter().map(|descriptor| {
        let name = descriptor.name;
        let options = golden::options(&golden_spec_of(name));
        (golden::store_name(name), options, None)
    });
    let audited = ["bloom", "stable"].map(|name| {
        let options = golden::options(&golden_spec_of(name)).audit(4096);
        (format!("version-1-{name}-audited.dds"), options, None)
    });
    let limited = golden::options(&golden_spec_of("bloom")).max_fpr(0.01);
    let limited = (
        "version-1-bloom-limited.dds".to_owned(),
        limited,
        Some(0.01),
    );
    for (name, options, max_fpr) in plain.chain(audited).chain([limited]) {
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path().join("copy.dds");
        copy_directory(&fixture("stores").join(&name), &path);
        let store = Store::open(&path).expect("it opens");
        store.check_agreement(&options).expect("the same options");
        assert_eq!(store.max_fpr(), max_fpr, "{name}");
        assert!(
            store.recovery().replayed > 0,
            "the golden store has a log to replay"
        );
        let mut set = options.in_memory().expect("small");
        for (i, key) in golden::keys().iter().enumerate() {
            let observation = golden::observation(&set.hasher(), i, key);
            set.observe_one(observation);
        }
        assert_eq!(
            state_digest(store.region(), store.registers()),
            state_digest(set.region(), set.registers()),
            "{name}",
        );
    }
}

/// A store without a limit has zeros at its place, as before there were limits.
#[test]
fn a_limit_is_written_only_if_there_is_one() {
    let offsets = superblock_offsets();
    let at = offsets.iter().find(|(_, field)| *field == "max fpr");
    let at = at.expect("a field").0;
    let directory = TempDir::new().expect("a temporary directory");
    for (number, limit) in [None, Some(0.25)].into_iter().enumerate() {
        let options = golden::options(&golden_spec_of("bloom"));
        let options = match limit {
            Some(limit) => options.max_fpr(limit),
            None => options,
        };
        let path = directory.path().join(format!("{number}.dds"));
        drop(Store::create(&path, &options).expect("created"));
        let image = fs::read(path.join("image.0")).expect("there");
        let bits = limit.map_or(0, f64::to_bits);
        assert_eq!(image[at..at + 8], bits.to_le_bytes());
        assert_eq!(image[16] & 4 != 0, limit.is_some());
    }
}

/// The feature without a rate, or with one that is no probability.
#[test]
fn an_impossible_limit_is_corruption() {
    for limit in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY] {
        let features = 5u32.to_le_bytes();
        let limit_bytes = limit.to_bits().to_le_bytes();
        let (_directory, path) =
            with_superblock_fields(&[(16, &features[..]), (120, &limit_bytes[..])]);
        let error = error_of(&path);
        assert!(
            matches!(error, StoreError::Corrupt(_)) && error.to_string().contains("byte 120"),
            "{limit}: {error}"
        );
    }
}

/// Copies a golden store, changes a field of its superblocks, and corrects their checksums.
fn with_superblock_field(offset: usize, value: &[u8]) -> (TempDir, std::path::PathBuf) {
    with_superblock_fields(&[(offset, value)])
}

fn with_superblock_fields(fields: &[(usize, &[u8])]) -> (TempDir, std::path::PathBuf) {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("copy.dds");
    copy_directory(&fixture("stores").join("version-1-bloom.dds"), &path);
    for image in ["image.0", "image.1"] {
        let file = path.join(image);
        let mut bytes = fs::read(&file).expect("there");
        for &(offset, value) in fields {
            bytes[offset..offset + value.len()].copy_from_slice(value);
        }
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&[0; 32]);
        hasher.update(&bytes[..4092]);
        bytes[4092..4096].copy_from_slice(&hasher.finalize().to_le_bytes());
        fs::write(&file, bytes).expect("written");
    }
    (directory, path)
}

fn error_of(path: &Path) -> StoreError {
    match Store::open(path) {
        Ok(_) => panic!("it opened"),
        Err(error) => error,
    }
}

/// Sizes are checked against the files before anything is allocated.
#[test]
fn impossible_sizes_are_rejected_before_allocating() {
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
fn newer_formats_are_rejected_with_their_version() {
    let (_directory, path) = with_superblock_field(8, &7u32.to_le_bytes());
    let error = error_of(&path);
    assert!(
        matches!(error, StoreError::NewerVersion { found: 7, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("format version 7"), "{error}");
    let (_directory, path) = with_superblock_field(16, &64u32.to_le_bytes());
    let error = error_of(&path);
    assert!(
        matches!(error, StoreError::UnknownFeatures { bits: 64, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("features 0x00000040"), "{error}");
}
