//! Merging stores.

use std::path::PathBuf;

use dedupstore::filter::{filters_that_merge, registry};
use dedupstore::store::{CreateOptions, MergeError, ReadOnlyStore, Store, merge, verify};
use dedupstore::{KeyHasher, Observation, Verdict};
use tempfile::TempDir;

fn create(
    directory: &TempDir,
    name: &str,
    options: &CreateOptions,
    keys: std::ops::Range<u64>,
) -> PathBuf {
    let path = directory.path().join(name);
    let mut store = Store::create(&path, options).expect("created");
    let hasher = store.hasher();
    let keys = keys.map(|key| hasher.fingerprint(&key.to_le_bytes()));
    let keys: Vec<Observation> = keys.map(Observation::from).collect();
    let mut verdicts = vec![Verdict::New; keys.len()];
    store.observe_batch(&keys, &mut verdicts).expect("observed");
    store.close().expect("closed");
    path
}

/// The default filter in the default memory, a million keys each.
#[test]
fn every_key_of_merged_default_stores_is_seen() {
    const MILLION: u64 = 1_000_000;
    let directory = TempDir::new().expect("a temporary directory");
    let options = CreateOptions::default().seed(7);
    let east = create(&directory, "east.dds", &options, 0..MILLION);
    let west = create(&directory, "west.dds", &options, MILLION..2 * MILLION);
    let both = directory.path().join("both.dds");
    let report = merge(&both, &[east, west]).expect("merged");
    assert_eq!(report.observations, 2 * MILLION);
    let merged = ReadOnlyStore::open(&both).expect("read");
    let hasher = KeyHasher::new(7);
    let missed = (0..2 * MILLION).filter(|key| {
        let fingerprint = hasher.fingerprint(&key.to_le_bytes());
        merged.contains_fingerprint(fingerprint) == Verdict::New
    });
    assert_eq!(missed.count(), 0);
    let recounted = merged.filter().recount(merged.filter_region());
    assert_eq!(merged.registers().occupied(), recounted);
    assert!((report.load - merged.load()).abs() < 1e-12);
}

/// A crowded filter: after the merge, cache lines are fuller than the cap.
#[test]
fn cache_lines_beyond_the_cap_stay_valid_and_forget_with_the_next_keys() {
    let directory = TempDir::new().expect("a temporary directory");
    let options = CreateOptions::new("blocked:k=6,cap=60").expect("a filter");
    let options = options.memory("64KiB").seed(7).audit(0);
    let stores = [0u64, 1, 2].map(|number| {
        let keys = 60_000 * number..60_000 * (number + 1);
        create(&directory, &format!("{number}.dds"), &options, keys)
    });
    let seen_in = |path: &PathBuf| {
        let store = ReadOnlyStore::open(path).expect("read");
        move |key: u64| store.contains(key.to_le_bytes()) == Verdict::Seen
    };
    let all = directory.path().join("all.dds");
    let report = merge(&all, &stores).expect("merged");
    assert!(report.load > 0.7, "{}", report.load);
    let parts = stores.each_ref().map(seen_in);
    let merged = seen_in(&all);
    for key in 0..180_000 {
        assert!(merged(key) || !parts.iter().any(|seen| seen(key)), "{key}");
    }
    let mut store = Store::open(&all).expect("opened");
    for key in 1_000_000..1_200_000u64 {
        store.observe(key.to_le_bytes()).expect("observed");
    }
    assert!(store.load() < 0.66, "{}", store.load());
    let recounted = store.filter().recount(store.filter_region());
    assert_eq!(store.registers().occupied(), recounted);
    store.close().expect("closed");
    assert_eq!(verify(&all).expect("read"), []);
}

/// Keys 250 to 499 are in both filters.
#[test]
fn a_key_of_two_counting_filters_must_be_removed_twice() {
    let options = CreateOptions::new("counting:k=3,bits=2").expect("a filter");
    let options = options.memory("64KiB").seed(7).audit(0);
    let directory = TempDir::new().expect("a temporary directory");
    let paths = [("a.dds", 0..500), ("b.dds", 250..750)];
    let paths = paths.map(|(name, keys)| create(&directory, name, &options, keys));
    let both = directory.path().join("both.dds");
    merge(&both, &paths).expect("merged");
    let store = ReadOnlyStore::open(&both).expect("read");
    let recounted = store.filter().recount(store.filter_region());
    assert_eq!(store.registers().occupied(), recounted);
    let mut region = store.filter_region().to_vec();
    let mut registers = store.registers().clone();
    let hasher = store.hasher();
    let mut forget = |key: u64| {
        let fingerprint = hasher.fingerprint(&key.to_le_bytes());
        let forgotten = store
            .filter()
            .forget(&mut region[..], &mut registers, fingerprint);
        forgotten.expect("the filter can")
    };
    assert_eq!([0; 2].map(|_| forget(300)), [Verdict::Seen; 2]);
    assert_eq!(forget(300), Verdict::New);
    assert_eq!([0; 2].map(|_| forget(10)), [Verdict::Seen, Verdict::New]);
}

#[test]
fn filters_that_cannot_be_merged_are_refused_and_the_others_are_listed() {
    let mergeable = filters_that_merge();
    for name in [
        "bloom", "blocked", "split", "counting", "window", "recent", "quotient",
    ] {
        assert!(mergeable.contains(&name), "{name}");
    }
    let mut refused = Vec::new();
    for descriptor in registry() {
        let directory = TempDir::new().expect("a temporary directory");
        let options = CreateOptions::new(descriptor.name).expect("a filter");
        let options = options.memory("64KiB").seed(7);
        if options.layout().is_err() {
            continue;
        }
        let paths = ["a.dds", "b.dds"].map(|name| create(&directory, name, &options, 0..10));
        let merged = merge(directory.path().join("c.dds"), &paths);
        match mergeable.contains(&descriptor.name) {
            true => assert_eq!(merged.expect("merged").observations, 20),
            false => {
                let error = merged.expect_err("it cannot be merged");
                let message = dedupstore_view::merge_error_message(&error);
                assert!(matches!(error, MergeError::NoUnion { .. }));
                for part in ["Feed the logs", "bloom, stable, rlbsbf, blocked"] {
                    assert!(message.contains(part), "{message}");
                }
                refused.push(descriptor.name);
            }
        }
    }
    assert_eq!(refused, ["dsqf", "ibf", "growing", "reinsert"]);
}

/// Parameters with which a filter has no union, although it has one with others.
#[test]
fn parameters_that_exclude_a_union_are_named() {
    for (filter, reason) in [
        ("window:k=4,equal=2", "`equal` above 1"),
        ("apbf:clock=count", "numbers of observations"),
    ] {
        let directory = TempDir::new().expect("a temporary directory");
        let options = CreateOptions::new(filter)
            .expect("a filter")
            .memory("64KiB");
        let options = options.seed(7);
        let paths = ["a.dds", "b.dds"].map(|name| create(&directory, name, &options, 0..10));
        let refused = merge(directory.path().join("c.dds"), &paths).expect_err("no union");
        let message = dedupstore_view::merge_error_message(&refused);
        assert!(message.contains(reason), "{message}");
    }
}

/// The western store stops half a window before the eastern one: its older keys are forgotten in
/// the union, and the younger ones are not.
#[test]
fn windows_are_merged_at_the_later_clock() {
    for filter in ["window", "stamped:bits=24", "apbf"] {
        let separator = if filter.contains(':') { ',' } else { ':' };
        let filter = format!("{filter}{separator}span=1200,step=100");
        let directory = TempDir::new().expect("a temporary directory");
        let options = CreateOptions::new(&*filter).expect("a filter");
        let options = options.memory("256KiB").seed(7);
        let start = 1_700_000_000;
        let paths = [("east.dds", 1200), ("west.dds", 600)].map(|(name, seconds)| {
            let path = directory.path().join(name);
            let mut store = Store::create(&path, &options).expect("created");
            for second in 0..seconds {
                let key = format!("{name} {second}");
                store.observe_at(key, start + second).expect("observed");
            }
            store.close().expect("closed");
            path
        });
        let both = directory.path().join("both.dds");
        merge(&both, &paths).expect("merged");
        let merged = ReadOnlyStore::open(&both).expect("read");
        let now = start + 1199;
        for (path, name) in paths.iter().zip(["east.dds", "west.dds"]) {
            let part = ReadOnlyStore::open(path).expect("read");
            for second in 0..600 {
                let key = format!("{name} {second}");
                let (alone, united) = (part.contains_at(&key, now), merged.contains(&key));
                assert!(united.is_seen() || alone.is_new(), "{filter}: {key}");
            }
        }
        // Much later, the western keys have left the window, and the union has forgotten them.
        let later = merged.contains_at("west.dds 599", now + 1200);
        assert_eq!(later, Verdict::New, "{filter}");
        let mut store = Store::open(&both).expect("opened");
        assert!(
            store
                .observe_at("one more", now + 50)
                .expect("observed")
                .is_new()
        );
        let recounted = store.filter().recount(store.filter_region());
        assert_eq!(store.registers().occupied(), recounted, "{filter}");
        store.close().expect("closed");
        assert_eq!(verify(&both).expect("read"), []);
    }
}
