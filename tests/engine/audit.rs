//! The error rates that an audit estimates, against the exact rates.

use std::collections::HashMap;

use dedupstore::audit::{AuditReport, AuditedFilter, Estimate};
use dedupstore::filter::{ClockKind, WindowClock};
use dedupstore::lab::StreamSpec;
use dedupstore::store::{CreateOptions, ReadOnlyStore, Store};
use dedupstore::{FilterSpec, Observation, SeenSetBuilder, Verdict};
use tempfile::TempDir;

/// The exact figures of a run.
struct Truth {
    distinct: u64,
    fpr: f64,
    fnr: f64,
}

/// The step of the last delivery of each key.
#[derive(Default)]
struct Deliveries {
    steps: HashMap<u64, u64>,
    count: u64,
}

impl Deliveries {
    /// Returns whether a key was new. If its steps do not tell whether its span has passed, the
    /// verdict decides.
    fn is_new(&mut self, clock: &WindowClock, key: u64, position: u64, verdict: Verdict) -> bool {
        let now = match clock.kind() {
            ClockKind::Deliveries => self.count,
            _ => position,
        } / clock.step();
        let age = self.steps.get(&key).map(|step| now - step);
        self.count += u64::from(verdict.is_new());
        if verdict.is_new() {
            self.steps.insert(key, now);
        }
        match age {
            Some(steps) if (steps + 1) * clock.step() <= clock.span() => false,
            Some(steps) if steps <= clock.age_limit() => verdict.is_new(),
            _ => true,
        }
    }
}

fn audited_run(
    filter: &str,
    memory_bits: u64,
    stream: &str,
    count: u64,
    seed: u64,
) -> (Truth, AuditReport) {
    let spec: FilterSpec = filter.parse().expect("a filter");
    let audit_bytes = AuditedFilter::default_audit_bytes(memory_bits);
    let mut set = SeenSetBuilder::new(&spec)
        .memory_bits(memory_bits)
        .seed(seed)
        .audit(audit_bytes)
        .build()
        .expect("small");
    let stream: StreamSpec = stream.parse().expect("a stream");
    let mut keys = stream.open(count, seed);
    let mut truth = keys.truth();
    let mut deliveries = Deliveries::default();
    let window = set.filter().window().copied();
    let (mut new, mut dropped, mut missed) = (0u64, 0u64, 0u64);
    for position in 0.. {
        let Some((key, number)) = keys.next_key() else {
            break;
        };
        let fingerprint = set.hasher().fingerprint(key);
        let verdict = set.observe_one(Observation {
            tick: position,
            ..fingerprint.into()
        });
        let first = truth.is_first(number);
        let is_new = match &window {
            None => first,
            Some(clock) => deliveries.is_new(clock, number, position.into(), verdict),
        };
        new += u64::from(is_new);
        dropped += u64::from(is_new && verdict == Verdict::Seen);
        missed += u64::from(!is_new && verdict == Verdict::New);
    }
    let truth = Truth {
        distinct: truth.distinct(),
        fpr: dropped as f64 / new as f64,
        fnr: missed as f64 / (count - new) as f64,
    };
    (truth, set.audit().expect("an audit"))
}

fn covers(estimate: Option<Estimate>, truth: f64) -> bool {
    estimate.is_some_and(|estimate| (estimate.low..=estimate.high).contains(&truth))
}

/// A 95 % interval should contain the exact rate in 95 of 100 runs; 93 are required, because the
/// number is random.
fn assert_intervals_hold(filter: &str, stream: &str) {
    const RUNS: u64 = 100;
    let (mut fpr, mut fnr, mut distinct) = (0, 0, 0);
    for seed in 0..RUNS {
        let (truth, audit) = audited_run(filter, 120_000, stream, 60_000, seed);
        assert!(audit.one_in > 1, "only a sample of the keys is audited");
        fpr += u64::from(covers(audit.fpr, truth.fpr));
        fnr += u64::from(covers(audit.fnr, truth.fnr));
        let bounds = audit.distinct.low..=audit.distinct.high;
        distinct += u64::from(bounds.contains(&(truth.distinct as f64)));
    }
    println!("{filter} on {stream}: FPR {fpr}, FNR {fnr}, distinct {distinct} of {RUNS}");
    assert!(fpr >= 93 && fnr >= 93 && distinct >= 93);
}

#[test]
fn intervals_hold_for_bloom() {
    assert_intervals_hold("bloom:k=3", "shuffle:60");
}

#[test]
fn intervals_hold_for_stable() {
    assert_intervals_hold("stable:k=2,p=4,max=1", "shuffle:60");
}

#[test]
fn intervals_hold_for_rlbsbf() {
    assert_intervals_hold("rlbsbf:k=2", "shuffle:60");
}

#[test]
fn intervals_hold_for_slot() {
    assert_intervals_hold("slot", "shuffle:60");
}

#[test]
fn intervals_hold_for_word() {
    assert_intervals_hold("word", "shuffle:60");
}

#[test]
fn intervals_hold_on_a_drifting_stream() {
    assert_intervals_hold("recent", "drift:40:5000");
}

/// A key that is wrongly reported as Seen stays new, so the errors of a window come in clusters.
#[test]
fn intervals_hold_for_a_window() {
    assert_intervals_hold("window:k=3,span=24000", "shuffle:60");
}

#[test]
fn intervals_hold_for_a_window_with_false_negatives() {
    assert_intervals_hold(
        "window:k=4,span=12000,step=1,clock=count,equal=2",
        "shuffle:30",
    );
}

#[test]
fn intervals_hold_for_a_window_of_deliveries_on_a_skewed_stream() {
    assert_intervals_hold("window:k=2,span=9000,clock=deliveries", "zipf:0.7:30000");
}

/// The sampled gaps are scaled up to the whole stream.
#[test]
fn the_estimated_gaps_are_those_of_the_stream() {
    let (_, audit) = audited_run("stable", 120_000, "drift:40:1000", 200_000, 3);
    assert!(audit.one_in > 4);
    let total: u64 = audit.gaps.iter().sum();
    let repeats = 200_000.0 * 0.6;
    assert!((total as f64 / repeats - 1.0).abs() < 0.15, "{total}");
    // Keys repeat only among the last thousand, so long gaps are rare.
    let far: u64 = audit.gaps.iter().skip(14).sum();
    assert!((far as f64) < 0.05 * total as f64, "{:?}", audit.gaps);
}

#[test]
fn a_store_keeps_its_audit_across_a_crash() {
    assert_audit_survives_a_crash("rlbsbf");
}

#[test]
fn a_store_with_a_window_keeps_its_audit_across_a_crash() {
    assert_audit_survives_a_crash("window:k=2,span=5000,clock=count");
    assert_audit_survives_a_crash("window:k=2,span=2000,step=7,clock=deliveries,equal=2");
}

fn assert_audit_survives_a_crash(filter: &str) {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("audited.dds");
    let options = CreateOptions::new(filter)
        .expect("a filter")
        .memory_bits(100_000)
        .seed(5)
        .log_size(64 << 10);
    let mut store = Store::create(&path, &options).expect("made");
    let mut set = options.in_memory().expect("small");
    let stream: StreamSpec = "shuffle:30".parse().expect("a stream");
    let mut keys = stream.open(50_000, 1);
    while let Some((key, _)) = keys.next_key() {
        assert_eq!(store.observe(key).expect("observed"), set.observe(key));
    }
    // The store is not closed: most observations are only in the log.
    drop(store);
    let store = Store::open(&path).expect("recovered");
    assert!(store.recovery().replayed > 0);
    assert_eq!(store.audit(), set.audit());
    assert!(store.audit().expect("an audit").one_in > 1);
    let read_only = ReadOnlyStore::open(&path).expect("readable");
    assert_eq!(read_only.audit(), set.audit());
    store.close().expect("closed");
    let inspection = dedupstore::store::inspect(&path).expect("inspected");
    assert_eq!(inspection.audit, set.audit());
}
