//! Creating and opening stores: builders, defaults, and agreement with an existing store.

use std::fs;

use dedupstore::lines::{KeyOptions, KeyRule};
use dedupstore::store::{
    CreateOption, CreateOptions, OpenOptions, ReadOnlyStore, SharedStore, Store, StoreError,
    backup, inspect, merge, repair,
};
use dedupstore::{DEFAULT_FILTER, DEFAULT_MEMORY};
use tempfile::TempDir;

fn small() -> CreateOptions {
    CreateOptions::new("bloom:k=4")
        .expect("a filter")
        .memory("64KiB")
}

#[test]
fn open_or_create_creates_a_store_and_then_opens_it() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("links.dds");
    let mut store = Store::open_or_create(&path, &small()).expect("created");
    assert!(store.observe("a").expect("observed").is_new());
    store.close().expect("closed");
    let mut store = Store::open_or_create(&path, &small()).expect("opened");
    assert!(store.observe("a").expect("observed").is_seen());
    assert_eq!(store.sequence(), 2);
}

/// The default memory is large, so only its layout is computed.
#[test]
fn options_that_are_not_set_have_the_documented_defaults() {
    let defaults = CreateOptions::default().layout().expect("a layout");
    let explicit = CreateOptions::new(DEFAULT_FILTER)
        .expect("a filter")
        .memory(DEFAULT_MEMORY);
    assert_eq!(defaults, explicit.layout().expect("a layout"));
}

#[test]
fn only_options_that_are_set_must_agree_with_an_existing_store() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("links.dds");
    let created = small().seed(1).log_size("1MiB").audit("8KiB");
    let created = created.normalization("whatwg").max_fpr(0.01);
    drop(Store::create(&path, &created).expect("created"));
    let open = |options: CreateOptions| match Store::open_or_create(&path, &options) {
        Ok(_) => None,
        Err(StoreError::OptionMismatch {
            option,
            stored,
            requested,
        }) => Some((option, stored, requested)),
        Err(error) => panic!("{error}"),
    };
    let agreeing = small().memory(65_536).seed(1).log_size(1_048_576);
    assert_eq!(open(CreateOptions::default()), None);
    assert_eq!(open(agreeing.audit(8192).normalization("whatwg")), None);
    let filter = |text: &str| CreateOptions::new(text).expect("a filter");
    let unset = CreateOptions::default;
    for (options, option, stored, requested) in [
        (
            filter("bloom:k=5"),
            CreateOption::Filter,
            "bloom:k=4,layout=shared",
            "bloom:k=5,layout=shared",
        ),
        (
            unset().memory("1MiB"),
            CreateOption::Memory,
            "64KiB",
            "1MiB",
        ),
        (
            unset().memory_bits(67),
            CreateOption::Memory,
            "64KiB",
            "67 bits",
        ),
        (unset().seed(7), CreateOption::Seed, "1", "7"),
        (
            unset().log_size("2MiB"),
            CreateOption::LogSize,
            "1MiB",
            "2MiB",
        ),
        (unset().audit(0), CreateOption::Audit, "8KiB", "0B"),
        (
            unset().normalization(""),
            CreateOption::Normalization,
            "whatwg",
            "none",
        ),
        (unset().max_fpr(0.5), CreateOption::MaxFpr, "0.01", "0.5"),
    ] {
        let expected = (option, stored.to_owned(), requested.to_owned());
        assert_eq!(open(options), Some(expected));
    }
    let reader = ReadOnlyStore::open(&path).expect("opened");
    assert!(reader.check_agreement(&unset().seed(1)).is_ok());
    assert!(reader.check_agreement(&unset().seed(7)).is_err());
}

#[test]
fn the_key_of_a_line_is_recorded_and_must_agree_if_it_is_asked_for() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("links.dds");
    let rule: KeyRule = "field=7,delimiter=%2C,end=crlf".parse().expect("a rule");
    drop(Store::create(&path, &small().key(rule.clone())).expect("created"));
    let store = ReadOnlyStore::open(&path).expect("opened");
    let parameters = store.parameters();
    assert_eq!(parameters.normalization, rule.to_string());
    assert_eq!(
        parameters.key_rule(&KeyOptions::default()).ok(),
        Some(rule.clone())
    );
    let agrees = |options: CreateOptions| store.check_agreement(&options);
    assert!(agrees(small().key(rule)).is_ok());
    // Nothing is asked for, or only the normalization, of which there is none.
    assert!(agrees(small()).is_ok());
    assert!(agrees(small().key(KeyOptions::default())).is_ok());
    assert!(agrees(small().normalization("")).is_ok());
    let other = agrees(small().key(KeyRule::default())).expect_err("another key");
    let StoreError::OptionMismatch {
        option,
        stored,
        requested,
    } = other
    else {
        panic!("{other}");
    };
    assert_eq!(option, CreateOption::Key);
    assert_eq!((&*stored, &*requested), ("field=7,delimiter=%2C", "line"));
    assert!(agrees(small().normalization("whatwg")).is_err());
}

/// The size of the superblock limits the text.
#[test]
fn a_key_that_is_too_long_is_refused_and_leaves_nothing() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("links.dds");
    let rule: KeyRule = format!("json={}", "a".repeat(4000))
        .parse()
        .expect("a rule");
    let error = Store::create(&path, &small().key(rule)).map(|_| ());
    let error = error.expect_err("too long");
    assert!(
        matches!(error, StoreError::ParametersTooLong { .. }),
        "{error}"
    );
    let left = std::fs::read_dir(directory.path()).expect("a directory");
    assert_eq!(left.count(), 0);
}

#[test]
fn creating_reports_a_text_that_is_no_size() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("links.dds");
    for options in [
        small().memory("64XB"),
        small().log_size("64XB"),
        small().audit("64XB"),
    ] {
        let error = Store::create(&path, &options).map(|_| ());
        let error = error.expect_err("no size").to_string();
        assert!(error.ends_with("found `64XB`"), "{error}");
        assert!(!path.exists());
    }
}

#[test]
fn a_limit_must_be_a_rate() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("links.dds");
    for limit in [0.0, -0.1, 1.1, f64::NAN] {
        let created = Store::create(&path, &small().max_fpr(limit)).map(|_| ());
        let error = created.expect_err("no rate").to_string();
        assert!(error.contains("above 0 and at most 1"), "{error}");
        assert!(!path.exists());
    }
    let store = Store::create(&path, &small().max_fpr(1.0)).expect("created");
    assert_eq!(store.max_fpr(), Some(1.0));
}

/// A limit survives checkpoints, a copy, a repair and a merge, which takes the lower one.
#[test]
fn a_limit_stays_with_the_store() {
    let directory = TempDir::new().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let limit_of = |name: &str| ReadOnlyStore::open(at(name)).expect("opened").max_fpr();
    for (name, limit) in [
        ("a.dds", Some(0.01)),
        ("b.dds", Some(0.002)),
        ("c.dds", None),
    ] {
        let options = match limit {
            Some(limit) => small().seed(1).max_fpr(limit),
            None => small().seed(1),
        };
        let mut store = Store::create(at(name), &options).expect("created");
        for key in ["1", "2", "3"] {
            store.observe(key).expect("observed");
            store.checkpoint().expect("a checkpoint");
        }
        store.close().expect("closed");
        assert_eq!(limit_of(name), limit);
        assert_eq!(inspect(at(name)).expect("inspected").max_fpr, limit);
    }
    backup(at("a.dds"), at("copy.dds")).expect("copied");
    assert_eq!(limit_of("copy.dds"), Some(0.01));
    // The newest image, of generation 3.
    fs::write(at("copy.dds").join("image.1"), b"lost").expect("written");
    repair(at("copy.dds"), false).expect("repaired");
    assert_eq!(limit_of("copy.dds"), Some(0.01));
    for (name, first, second, expected) in [
        ("ab.dds", "a.dds", "b.dds", Some(0.002)),
        ("ac.dds", "a.dds", "c.dds", Some(0.01)),
        ("ca.dds", "c.dds", "a.dds", Some(0.01)),
        ("cc.dds", "c.dds", "c.dds", None),
    ] {
        merge(at(name), &[at(first), at(second)]).expect("merged");
        assert_eq!(limit_of(name), expected, "{name}");
        drop(Store::open(at(name)).expect("opened"));
    }
}

#[test]
fn a_shared_store_opens_or_creates_likewise() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("shared.dds");
    let options = small().seed(1).shards(3);
    let store = SharedStore::open_or_create(&path, &options).expect("created");
    assert!(store.observe("a").expect("observed").is_new());
    store.close().expect("closed");
    let store = SharedStore::open_or_create(&path, &options).expect("opened");
    assert_eq!(store.shards(), 3);
    assert!(store.contains("a").expect("looked up").is_seen());
    store.close().expect("closed");
    for other in [small().shards(2), small().memory("128KiB"), small().seed(2)] {
        let opened = OpenOptions::new().open_or_create_shared(&path, &other);
        let error = opened.map(|_| ()).expect_err("the options differ");
        assert!(
            matches!(error, StoreError::OptionMismatch { .. }),
            "{error}"
        );
    }
}
