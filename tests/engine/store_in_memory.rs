//! Stores created and read in memory have the same bytes and state as those on a disk.

use std::fs;
use std::path::Path;

use dedupstore::store::{
    CreateOptions, Directory, InMemory, InitialFiles, Parameters, Store, StoreError, StoreFile,
    check_names, inspect, inspect_on, verify, verify_on,
};
use dedupstore::{Memory, SeenSet, registry, state_digest};
use dedupstore_view::error_message;
use tempfile::TempDir;

const SEED: u64 = 5;
const ID: [u8; 16] = [7; 16];
const NOW: u64 = 1_700_000_000;

fn options(filter: &str, memory_bits: u64) -> CreateOptions {
    CreateOptions::new(filter)
        .expect("a filter")
        .memory_bits(memory_bits)
        .seed(SEED)
        .normalization("whatwg")
}

fn keys() -> impl Iterator<Item = [u8; 8]> {
    (0..6000u64).map(|key| (key * key % 4001).to_le_bytes())
}

fn fed(options: &CreateOptions) -> SeenSet {
    let mut set = options.in_memory().expect("small");
    for key in keys() {
        set.observe_at(key, NOW);
    }
    set
}

fn zeros(options: &CreateOptions) -> [Vec<u8>; 5] {
    let layout = options.layout().expect("a layout");
    StoreFile::ALL.map(|file| vec![0; layout.file_bytes(file) as usize])
}

/// Assembles the files from their parts, as a caller without a disk does.
fn assembled(initial: &InitialFiles<Memory>) -> [Vec<u8>; 5] {
    let layout = initial.layout();
    let mut files = StoreFile::ALL.map(|file| vec![0; layout.file_bytes(file) as usize]);
    for part in initial.parts().expect("encoded") {
        let at = part.offset as usize;
        files[part.file as usize][at..at + part.bytes.len()].copy_from_slice(&part.bytes);
    }
    files
}

fn read(path: &Path) -> [Vec<u8>; 5] {
    StoreFile::ALL.map(|file| fs::read(path.join(file.name())).expect("there"))
}

fn write(path: &Path, files: &[Vec<u8>; 5]) {
    fs::create_dir(path).expect("created");
    fs::write(path.join("lock"), "").expect("written");
    for (file, bytes) in StoreFile::ALL.iter().zip(files) {
        fs::write(path.join(file.name()), bytes).expect("written");
    }
}

#[test]
fn an_empty_store_has_the_same_bytes_in_memory_and_on_a_disk() {
    let place = TempDir::new().expect("a temporary directory");
    for (i, filter) in ["bloom:k=4", "stable", "rlbsbf"].into_iter().enumerate() {
        let options = options(filter, 8 * 20_000);
        let path = place.path().join(format!("{i}.dds"));
        let layout = options.layout().expect("a layout");
        Directory::create(&path, &layout, |files| {
            options.write_initial_files(files, ID)
        })
        .expect("created");
        let made_at = inspect(&path).expect("read").created_unix_seconds;
        let memory = InMemory::holding(zeros(&options), made_at);
        options.write_initial_files(&memory, ID).expect("filled");
        assert!(memory.into_files() == read(&path), "{filter}");
    }
}

#[test]
fn a_store_created_from_a_set_has_the_state_of_one_on_a_disk() {
    let place = TempDir::new().expect("a temporary directory");
    for filter in registry() {
        let options = options(filter.name, 8 * 30_000);
        let primed = options.primed(fed(&options), ID, NOW).expect("primed");
        let files = assembled(&primed);

        let path = place.path().join(format!("{}.dds", filter.name));
        let mut store = Store::create(&path, &options).expect("created");
        for key in keys() {
            store.observe_at(key, NOW).expect("observed");
        }
        let digest = state_digest(store.region(), store.registers());
        let (audit, parameters) = (store.audit(), store.parameters().clone());
        store.close().expect("closed");

        let path = place.path().join(format!("{}-primed.dds", filter.name));
        write(&path, &files);
        let findings = verify_on(InMemory::holding(files, NOW)).expect("read");
        assert_eq!(findings, [], "{}", filter.name);
        let mut store = Store::open(&path).expect("it opens");
        assert_eq!(store.recovery().replayed, 0);
        assert_eq!(state_digest(store.region(), store.registers()), digest);
        assert_eq!(store.audit(), audit);
        let expected = Parameters {
            created_unix_seconds: NOW,
            ..parameters
        };
        assert_eq!(store.parameters(), &expected);
        let mut set = fed(&options);
        for key in keys().chain([*b"onwards!"]) {
            let verdict = store.observe_at(key, NOW).expect("observed");
            assert_eq!(verdict, set.observe_at(key, NOW));
        }
        store.close().expect("closed");
        let findings = verify(&path).expect("read");
        assert_eq!(findings, [], "{}", filter.name);
    }
}

#[test]
fn inspecting_a_store_gives_the_same_in_memory_and_on_a_disk() {
    let place = TempDir::new().expect("a temporary directory");
    let path = place.path().join("links.dds");
    let options = options("stable", 8 * 30_000);
    let mut store = Store::create(&path, &options).expect("created");
    for key in keys() {
        store.observe(key).expect("observed");
    }
    store.checkpoint().expect("checkpoint taken");
    store.observe(b"one more, in the log").expect("observed");
    store.sync().expect("durable");
    drop(store);
    let mut on_disk = inspect(&path).expect("read");
    on_disk.checkpoint_age_seconds = 60;
    let now = on_disk.checkpoint_unix_seconds + 60;
    let in_memory = inspect_on(&InMemory::holding(read(&path), now)).expect("read");
    assert_eq!(in_memory, on_disk);
    assert_eq!(in_memory.log_sequence, in_memory.checkpointed_sequence + 1);
    let plain = |inspection: &dedupstore::store::Inspection| {
        dedupstore_view::inspection_report(inspection, "links.dds", None, str::to_owned)
    };
    assert_eq!(plain(&in_memory), plain(&on_disk));
}

#[test]
fn a_set_with_another_filter_or_memory_is_rejected() {
    for other in [
        options("bloom:k=4", 8 * 30_000),
        options("stable", 8 * 20_000),
    ] {
        let set = fed(&options("bloom:k=4", 8 * 20_000));
        let refused = other.primed(set, ID, NOW).map(|_| ());
        assert!(
            matches!(refused, Err(StoreError::SetMismatch { .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn damage_is_reported_equally_in_memory_and_on_a_disk() {
    let place = TempDir::new().expect("a temporary directory");
    let options = options("bloom:k=4", 8 * 20_000);
    let whole = assembled(&options.primed(fed(&options), ID, NOW).expect("primed"));
    let changes: [fn(&mut [Vec<u8>; 5]); 4] = [
        |files| files[0][100] ^= 1,
        |files| files[0].truncate(9000),
        |files| files[2].clear(),
        |files| files[4].truncate(100),
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut files = whole.clone();
        change(&mut files);
        let path = place.path().join(format!("{i}.dds"));
        write(&path, &files);
        let message = |error: StoreError| error_message("links.dds", &error);
        let on_disk = inspect(&path).map_err(message).expect_err("it is damaged");
        let in_memory = inspect_on(&InMemory::holding(files, NOW)).map_err(message);
        assert_eq!(in_memory, Err(on_disk.clone()));
        assert!(on_disk.contains("dedupstore verify links.dds"), "{on_disk}");
    }
}

#[test]
fn a_store_is_recognized_by_the_names_of_its_files() {
    let path = Path::new("links.dds");
    let all = ["image.0", "image.1", "log.0", "log.1", "mark", "lock"];
    assert!(check_names(path, |name| Ok(all.contains(&name))).is_ok());
    for missing in all {
        let found = check_names(path, |name| Ok(name != missing && all.contains(&name)));
        let error = found.expect_err("a file is missing").to_string();
        assert_eq!(error, format!("links.dds lacks the file `{missing}`"));
    }
    for only in all {
        let error = check_names(path, |name| Ok(name == only)).expect_err("files are missing");
        assert!(error.to_string().starts_with("links.dds lacks the files "));
    }
    let error = check_names(path, |_| Ok(false)).expect_err("no file");
    let expected = "links.dds is not a store: it has no file `image.0`";
    assert_eq!(error.to_string(), expected);
}
