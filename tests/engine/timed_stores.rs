//! Stores whose filter has a window: the clock follows from the log.

use dedupstore::filter::Observation;
use dedupstore::store::{
    Claim, CreateOptions, Durability, OpenOptions, ReadOnlyStore, SharedStore, Store, verify,
};
use dedupstore::{Fingerprint, SeenSet, Verdict, state_digest};
use proptest::prelude::*;
use tempfile::TempDir;

const DAY: u64 = 86_400;
/// A time in 2020, far before that of the machine.
const START: u64 = 1_600_000_000;

fn week() -> CreateOptions {
    CreateOptions::new("window:k=4,span=604800,step=86400")
        .expect("a filter")
        .memory("16KiB")
        .seed(1)
        .log_size(8192)
}

fn new_store() -> (TempDir, std::path::PathBuf) {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("week.dds");
    Store::create(&path, &week())
        .expect("created")
        .close()
        .expect("closed");
    (directory, path)
}

#[test]
fn a_key_is_forgotten_after_its_span_also_across_restarts() {
    let (_directory, path) = new_store();
    let at = |day: u64| {
        let mut store = Store::open(&path).expect("opened");
        let verdict = store.observe_at("a", START + day * DAY).expect("recorded");
        // Some restarts replay the log, some do not.
        if day.is_multiple_of(2) {
            store.close().expect("closed");
        }
        verdict
    };
    assert_eq!(at(0), Verdict::New);
    assert_eq!(at(3), Verdict::Seen);
    assert_eq!(at(6), Verdict::Seen);
    assert_eq!(at(9), Verdict::New);
    assert_eq!(at(15), Verdict::Seen);
    // Late: it counts at the present step.
    assert_eq!(at(1), Verdict::Seen);
    let read = ReadOnlyStore::open(&path).expect("read");
    assert_eq!(read.contains_at("a", START + 15 * DAY), Verdict::Seen);
    assert_eq!(read.contains_at("a", START + 18 * DAY), Verdict::New);
}

#[test]
fn one_absurd_time_does_not_empty_the_store() {
    let (_directory, path) = new_store();
    let mut store = Store::open(&path).expect("opened");
    for key in 0..100u32 {
        let verdict = store
            .observe_at(key.to_le_bytes(), START)
            .expect("recorded");
        assert_eq!(verdict, Verdict::New);
    }
    for absurd in [START + 3000 * DAY, u64::from(u32::MAX), u64::MAX] {
        store.observe_at("absurd", absurd).expect("recorded");
    }
    assert_eq!(store.clock_report().ahead, 3);
    let seen =
        (0..100u32).filter(|key| store.contains_at(key.to_le_bytes(), START + DAY).is_seen());
    assert_eq!(seen.count(), 100);
    drop(store);
    let store = Store::open(&path).expect("recovered");
    assert_eq!(store.contains_at("absurd", START), Verdict::Seen);
}

#[test]
fn the_clock_follows_a_pause_and_the_machine() {
    let (_directory, path) = new_store();
    let mut store = Store::open(&path).expect("opened");
    store.observe_at("a", START).expect("recorded");
    let after_pause: Vec<Observation> = (0..20)
        .map(|key| Observation {
            fingerprint: Fingerprint(key << 56 | 77),
            tick: (START + 100 * DAY) as u32,
            importance: 0,
        })
        .collect();
    let mut verdicts = [Verdict::New; 20];
    store
        .observe_batch(&after_pause, &mut verdicts)
        .expect("recorded");
    // The second time confirms the first.
    assert_eq!(store.clock_report().ahead, 1);
    assert!(store.contains_at("a", START).is_new());
    store.observe_at("a", START + 100 * DAY).expect("recorded");
    // Known to be right, so it needs no confirmation.
    store.advance_clock(START + 300 * DAY);
    assert!(store.observe("a").expect("recorded").is_new());
}

/// What replay cannot know must not be in the state.
#[test]
fn a_store_with_times_that_were_not_followed_is_intact() {
    for filter in ["window", "stamped", "apbf"] {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("ahead.dds");
        let options = CreateOptions::new(filter)
            .expect("a filter")
            .memory("64KiB");
        let mut store = Store::create(&path, &options).expect("created");
        for seconds in [START, START + 3000 * DAY, START + 5, u64::MAX, START + 6] {
            store
                .observe_at(seconds.to_le_bytes(), seconds)
                .expect("recorded");
        }
        let digest = state_digest(store.region(), store.registers());
        drop(store);
        let store = Store::open(&path).expect("recovered");
        assert_eq!(
            state_digest(store.region(), store.registers()),
            digest,
            "{filter}"
        );
        store.close().expect("closed");
        let findings = verify(&path).expect("verified");
        assert!(findings.is_empty(), "{filter}: {findings:?}");
    }
}

#[test]
fn the_first_time_after_a_pause_between_runs_is_followed() {
    let (_directory, path) = new_store();
    for pause in 0..10 {
        let mut store = Store::open(&path).expect("opened");
        let verdict = store.observe_at("a", START + pause * 30 * DAY);
        assert_eq!(verdict.expect("recorded"), Verdict::New, "{pause}");
        store.close().expect("closed");
    }
}

#[test]
fn a_claim_counts_at_its_time() {
    let (_directory, path) = new_store();
    let mut store = Store::open(&path).expect("opened");
    let Claim::New(ticket) = store.claim_at("a", START) else {
        panic!("new");
    };
    assert_eq!(store.claim_at("a", START + DAY), Claim::Pending);
    store.commit(ticket).expect("recorded");
    assert_eq!(store.claim_at("a", START + 6 * DAY), Claim::Seen);
    assert!(matches!(
        store.claim_at("a", START + 9 * DAY),
        Claim::New(_)
    ));
}

#[test]
fn a_shared_store_has_windows_too() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("shared.dds");
    let store = SharedStore::create(&path, &week().shards(2)).expect("created");
    for (day, expected) in [(0, Verdict::New), (5, Verdict::Seen), (9, Verdict::New)] {
        for key in ["a", "b", "c", "d"] {
            let verdict = store.observe_at(key, START + day * DAY).expect("recorded");
            assert_eq!(verdict, expected, "{key}, day {day}");
        }
    }
}

#[test]
fn a_window_of_observations_needs_no_time() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("count.dds");
    let options = CreateOptions::new("window:span=100,step=10,clock=count");
    let options = options.expect("a filter").memory("4KiB").seed(1);
    let observe = |range: std::ops::Range<u32>| {
        let mut store = Store::open_or_create(&path, &options).expect("opened");
        range
            .map(|key| store.observe(key.to_le_bytes()).expect("recorded").is_new())
            .filter(|&is_new| is_new)
            .count()
    };
    assert_eq!(observe(0..50), 50);
    assert_eq!(observe(0..50), 0);
    assert_eq!(observe(50..120), 70);
    // The first keys were delivered 170 observations ago.
    assert_eq!(observe(0..50), 50);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// However a stream is divided into batches, pending batches and restarts, the store has the
    /// verdicts and the state of a set in memory that observes one by one.
    #[test]
    fn the_state_is_that_of_a_set_in_memory(
        stream in prop::collection::vec((0u64..60, 0u32..90_000, 0u32..4), 1..400),
        parts in prop::collection::vec((1usize..60, 0u8..3), 1..60),
    ) {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("week.dds");
        let options = week().audit(2048);
        let mut set: SeenSet = options.in_memory().expect("small");
        let open = OpenOptions::new().durability(Durability::None).threads(false);
        let mut store = open.create(&path, &options).expect("created");
        let mut now = START as u32;
        let stream: Vec<Observation> = stream
            .iter()
            .map(|&(key, passed, late)| {
                now += passed;
                Observation {
                    fingerprint: Fingerprint(key.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                    tick: now - late * 80_000,
                    importance: 0,
                }
            })
            .collect();
        let mut left = &stream[..];
        for (length, how) in parts.into_iter().cycle() {
            if left.is_empty() {
                break;
            }
            let (batch, rest) = left.split_at(length.min(left.len()).min(store.batch_limit()));
            left = rest;
            let expected: Vec<Verdict> = batch.iter().map(|&it| set.observe_one(it)).collect();
            let mut verdicts = vec![Verdict::New; batch.len()];
            match how {
                0 => store.observe_batch(batch, &mut verdicts).expect("recorded"),
                1 => {
                    let pending = store.observe_pending(batch, &mut verdicts).expect("decided");
                    pending.commit().expect("recorded");
                }
                _ => {
                    store.observe_batch(batch, &mut verdicts).expect("recorded");
                    drop(store);
                    store = open.open(&path).expect("recovered");
                }
            }
            prop_assert_eq!(verdicts, expected);
            prop_assert_eq!(
                state_digest(store.region(), store.registers()),
                state_digest(set.region(), set.registers())
            );
        }
    }
}
