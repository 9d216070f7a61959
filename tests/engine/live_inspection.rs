//! What an inspection shows beside a running writer.

use std::path::PathBuf;

use dedupstore::store::{CreateOptions, Durability, OpenOptions, Store, inspect, inspect_exactly};
use dedupstore::{Observation, Verdict};
use dedupstore_view::inspection_report;
use tempfile::TempDir;

const REPEATS: u64 = 3;
const DISTINCT: u64 = 40_000;

/// Returns a store whose observations are all in the log.
fn live(directory: &TempDir, options: &CreateOptions) -> (PathBuf, Store) {
    let path = directory.path().join("a.dds");
    let options = options.clone().memory("1MiB").log_size("4MiB").seed(1);
    let opening = OpenOptions::new().durability(Durability::None);
    let mut store = opening.create(&path, &options).expect("created");
    let hasher = store.hasher();
    let keys = (0..DISTINCT).map(|key| hasher.fingerprint(&key.to_le_bytes()));
    let keys: Vec<Observation> = keys.map(Observation::from).collect();
    let mut verdicts = vec![Verdict::New; keys.len()];
    for _ in 0..REPEATS {
        store.observe_batch(&keys, &mut verdicts).expect("observed");
    }
    store.sync().expect("synced");
    (path, store)
}

#[test]
fn observations_in_the_log_are_counted_beside_a_writer() {
    let directory = TempDir::new().expect("a temporary directory");
    let (path, store) = live(&directory, &CreateOptions::default());
    let cheap = inspect(&path).expect("read");
    assert_eq!((cheap.exact, cheap.observations), (false, 0));
    assert_eq!(cheap.live_observations, REPEATS * DISTINCT);
    // The log records keys of the audit's sample whatever their verdict.
    assert_eq!((cheap.live_new, cheap.live_seen), (None, None));
    let report = inspection_report(&cheap, "a.dds", None, str::to_owned);
    for part in [
        "Now\n  observations   120,000\n",
        "--exact replays the log into 1.06 MiB",
        "At the last checkpoint\n  observations   0\n",
    ] {
        assert!(report.contains(part), "`{part}` is not in: {report}");
    }

    let exact = inspect_exactly(&path).expect("read");
    assert!(exact.exact);
    assert_eq!(exact.observations, store.sequence());
    assert_eq!(exact.new, store.registers().new_count());
    assert_eq!(exact.seen, store.registers().seen_count());
    assert_eq!(exact.live_new, Some(exact.new));
    assert_eq!(exact.load.to_bits(), store.load().to_bits());
    assert_eq!(exact.audit, store.audit());
    assert_eq!(exact.checkpointed_sequence, 0);
    let mut both = cheap.clone();
    both.set_live(&exact);
    assert_eq!((both.observations, both.live_new), (0, Some(exact.new)));
    assert_eq!(both.live_load, Some(exact.load));
    let report = inspection_report(&both, "a.dds", None, str::to_owned);
    assert!(report.contains("At the last checkpoint\n  observations   0\n"));
    assert!(report.contains("  new            40,000\n"), "{report}");
    let report = inspection_report(&exact, "a.dds", None, str::to_owned);
    assert!(
        report.contains("Now\n  observations   120,000\n"),
        "{report}"
    );
    assert!(!report.contains("At the last checkpoint"), "{report}");
}

#[test]
fn a_log_of_new_keys_alone_tells_how_many_are_new() {
    let directory = TempDir::new().expect("a temporary directory");
    let (path, store) = live(&directory, &CreateOptions::default().audit(0));
    let cheap = inspect(&path).expect("read");
    assert!(!cheap.exact);
    assert_eq!(cheap.live_new, Some(store.registers().new_count()));
    assert_eq!(cheap.live_seen, Some(store.registers().seen_count()));
}

#[test]
fn a_closed_store_needs_no_replay() {
    let directory = TempDir::new().expect("a temporary directory");
    let (path, store) = live(&directory, &CreateOptions::default());
    store.close().expect("closed");
    let cheap = inspect(&path).expect("read");
    assert!(cheap.exact);
    assert_eq!(cheap.live_new, Some(cheap.new));
    assert_eq!(inspect_exactly(&path).expect("read"), cheap);
}
