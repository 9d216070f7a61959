//! Removing keys from a filter.

use dedupstore::filter::filters_that_forget;
use dedupstore::store::{
    Claim, CreateOptions, KeyLookup, OpenOptions, ReadOnlyStore, SharedStore, Store, StoreError,
    backup, inspect, inspect_exactly, verify,
};
use dedupstore::{FilterSpec, SeenSetBuilder, Verdict, state_digest};
use tempfile::TempDir;

const SEED: u64 = 9;
/// A time for filters with a window.
const SECONDS: u64 = 1_700_000_000;

/// The counters are wide enough that none reaches its maximum.
#[test]
fn removing_all_new_keys_leaves_an_empty_filter() {
    let spec: FilterSpec = "counting:bits=8".parse().expect("a filter");
    let mut set = SeenSetBuilder::new(&spec)
        .memory_bits(80_000)
        .seed(SEED)
        .build()
        .expect("small");
    let keys: Vec<[u8; 4]> = (0..2000u32).map(u32::to_le_bytes).collect();
    let new: Vec<_> = keys
        .iter()
        .filter(|key| set.observe(*key) == Verdict::New)
        .collect();
    let (removed, kept) = new.split_at(1000);
    for key in removed {
        assert_eq!(set.forget(*key), Ok(Verdict::Seen));
    }
    assert!(kept.iter().all(|key| set.contains(*key) == Verdict::Seen));
    for key in kept {
        assert_eq!(set.forget(*key), Ok(Verdict::Seen));
    }
    assert!(set.region().iter().all(|&byte| byte == 0));
    assert_eq!(set.load(), 0.0);
}

#[test]
fn a_filter_that_cannot_forget_names_those_that_can() {
    let spec: FilterSpec = "bloom".parse().expect("a filter");
    let mut set = SeenSetBuilder::new(&spec)
        .memory_bits(8000)
        .seed(SEED)
        .build()
        .expect("small");
    let error = set.forget(b"a").expect_err("it cannot");
    let able = filters_that_forget().join(", ");
    assert_eq!(
        error.to_string(),
        format!("bloom cannot forget a key; these filters can: {able}")
    );
    assert!(able.contains("counting"), "{able}");
}

fn options(filter: &str) -> CreateOptions {
    let options = CreateOptions::new(filter).expect("a filter");
    options.memory("64KiB").log_size("64KiB").seed(SEED)
}

/// Dropping a store leaves everything to the log.
#[test]
fn keys_taken_out_stay_out_across_crashes_and_reopening() {
    for filter in filters_that_forget() {
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path().join("a.dds");
        let mut store = Store::create(&path, &options(filter)).expect("created");
        let mut set = options(filter).in_memory().expect("small");
        for round in 0..3u32 {
            for key in 0..500u32 {
                let key = key.to_le_bytes();
                let verdict = store.observe_at(key, SECONDS).expect("observed");
                assert_eq!(verdict, set.observe_at(key, SECONDS));
            }
            for key in (0..600u32).step_by(3) {
                let key = (key + round).to_le_bytes();
                let there = store.contains(key);
                assert_eq!(store.forget(key).expect("taken out"), there, "{filter}");
                assert_eq!(set.forget(key), Ok(there), "{filter}");
            }
            let sequence = store.sequence();
            assert_eq!(sequence, set.registers().sequence());
            store.sync().expect("synced");
            assert_eq!(store.durable_sequence(), sequence);
            drop(store);
            let digest = state_digest(set.region(), set.registers());
            let read = ReadOnlyStore::open(&path).expect("read");
            assert_eq!(
                state_digest(read.region(), read.registers()),
                digest,
                "{filter}"
            );
            let mut lookup = KeyLookup::open(&path).expect("opened");
            for key in 0..600u32 {
                let key = key.to_le_bytes();
                let found = lookup.contains(key).expect("read");
                assert_eq!(found, set.contains(key), "{filter}");
            }
            store = OpenOptions::new().open(&path).expect("opened");
            assert_eq!(store.sequence(), sequence);
            assert_eq!(
                state_digest(store.region(), store.registers()),
                digest,
                "{filter}"
            );
        }
        store.close().expect("closed");
        assert_eq!(verify(&path).expect("read"), []);
        for inspection in [inspect(&path), inspect_exactly(&path)] {
            let inspection = inspection.expect("read");
            assert_eq!(inspection.observations, 1500);
            assert_eq!(inspection.forgotten, set.registers().forgotten());
            assert_eq!(inspection.log_sequence, set.registers().sequence());
        }
        let copy = directory.path().join("copy.dds");
        backup(&path, &copy).expect("copied");
        let copy = Store::open(&copy).expect("opened");
        assert_eq!(copy.registers(), set.registers());
    }
}

/// A store from which nothing was taken out is not marked; the first key marks it before its
/// frame is written.
#[test]
fn the_first_key_taken_out_marks_the_store() {
    const INCOMPATIBLE: usize = 16;
    const FORGETS: u8 = 16;
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let mut store = Store::create(&path, &options("counting")).expect("created");
    let is_marked = || {
        let images = ["image.0", "image.1"].map(|name| {
            let bytes = std::fs::read(path.join(name)).expect("read");
            bytes[INCOMPATIBLE] & FORGETS != 0
        });
        images.contains(&true)
    };
    store.observe("a").expect("observed");
    store.checkpoint().expect("written");
    assert!(!is_marked());
    assert_eq!(store.forget("never").expect("looked up"), Verdict::New);
    assert!(is_marked());
    assert_eq!(store.sequence(), 1);
    assert_eq!(store.forget("a").expect("taken out"), Verdict::Seen);
    assert_eq!(store.sequence(), 2);
    assert_eq!(store.observe("a").expect("observed"), Verdict::New);
    let generation = store.generation();
    assert_eq!(store.forget("a").expect("taken out"), Verdict::Seen);
    assert_eq!(
        store.generation(),
        generation,
        "only the first takes a checkpoint"
    );
}

#[test]
fn a_store_whose_filter_cannot_forget_refuses_and_is_not_marked() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let mut store = Store::create(&path, &options("bloom")).expect("created");
    let generation = store.generation();
    let refused = store.forget("a").expect_err("it cannot");
    assert!(matches!(refused, StoreError::CannotForget(_)));
    let message = dedupstore_view::error_message("a.dds", &refused);
    assert!(
        message.contains("create a store with one of them"),
        "{message}"
    );
    assert_eq!(store.generation(), generation);
    store.observe("a").expect("not poisoned");
}

/// A claimed key is not there until its claim is committed.
#[test]
fn claims_and_forgetting_do_not_disturb_each_other() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let mut store = Store::create(&path, &options("slot:values=65535")).expect("created");
    let Claim::New(ticket) = store.claim("a") else {
        panic!("a new key");
    };
    assert_eq!(store.forget("a").expect("looked up"), Verdict::New);
    assert_eq!(store.claim("a"), Claim::Pending);
    store.commit(ticket).expect("recorded");
    assert_eq!(store.claim("a"), Claim::Seen);
    assert_eq!(store.forget("a").expect("taken out"), Verdict::Seen);
    let Claim::New(ticket) = store.claim("a") else {
        panic!("new again");
    };
    store.abort(ticket);
    assert_eq!(store.contains("a"), Verdict::New);
}

#[test]
fn a_shared_store_takes_keys_out_of_their_shards() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let options = options("quotient").shards(3);
    let store = SharedStore::create(&path, &options).expect("created");
    for key in 0..300u32 {
        store.observe(key.to_le_bytes()).expect("observed");
    }
    for key in (0..300u32).step_by(2) {
        let found = store.forget(key.to_le_bytes()).expect("taken out");
        assert_eq!(found, Verdict::Seen);
    }
    store.close().expect("closed");
    let store = SharedStore::open(&path).expect("opened");
    for key in 0..300u32 {
        let verdict = store.contains(key.to_le_bytes()).expect("looked up");
        assert_eq!(verdict.is_seen(), key % 2 == 1, "{key}");
    }
}

/// Every key is in the sample. A key that was taken out is new when it occurs next, and neither
/// that occurrence nor what happened before is taken for an error.
#[test]
fn the_audit_stays_true_when_keys_are_taken_out() {
    for filter in ["buffer", "stamped:bits=32,span=1000000,clock=count"] {
        let builder = SeenSetBuilder::new(filter.parse::<FilterSpec>().expect("a filter"));
        let builder = builder.memory_bits(1 << 20).seed(SEED);
        let mut set = builder.audit("256KiB").build().expect("small");
        let (mut first, mut repeats) = (0, 0);
        for round in 0..4u32 {
            for key in 0..1000u32 {
                let verdict = set.observe(key.to_le_bytes());
                let is_new = round == 0 || key % 4 == 1;
                assert_eq!(verdict.is_new(), is_new, "{filter}: {round}, {key}");
                first += u64::from(is_new);
                repeats += u64::from(!is_new);
            }
            for key in (1..1000u32).step_by(4) {
                assert_eq!(set.forget(key.to_le_bytes()), Ok(Verdict::Seen));
            }
        }
        let audit = set.audit().expect("an audit");
        assert_eq!((audit.one_in, audit.keys), (1, 1000));
        let (fpr, fnr) = (audit.fpr.expect("new keys"), audit.fnr.expect("repeats"));
        assert_eq!((fpr.value, fnr.value), (0.0, 0.0), "{filter}");
        assert_eq!(fnr.sample, repeats, "{filter}");
        assert!(
            [1000, first].contains(&fpr.sample),
            "{filter}: {}",
            fpr.sample
        );
    }
}
