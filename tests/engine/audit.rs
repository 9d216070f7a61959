//! What a filter says of its own error, against the truth.

use dedupstore::SeenSet;
use dedupstore::audit::{AuditReport, AuditedFilter, Estimate};
use dedupstore::lab::StreamSpec;
use dedupstore::store::{CreateOptions, OpenOptions, Store};
use dedupstore::{FilterSpec, Verdict};
use tempfile::TempDir;

/// Of a whole run, by an exact set.
struct Truth {
    distinct: u64,
    fpr: f64,
    fnr: f64,
}

fn run(
    filter: &str,
    memory_bits: u64,
    stream: &str,
    count: u64,
    seed: u64,
) -> (Truth, AuditReport) {
    let spec: FilterSpec = filter.parse().expect("a filter");
    let audit_bytes = AuditedFilter::default_audit_bytes(memory_bits);
    let mut set = SeenSet::audited(&spec, memory_bits, seed, audit_bytes).expect("small");
    let stream: StreamSpec = stream.parse().expect("a stream");
    let mut keys = stream.open(count, seed);
    let mut truth = keys.truth();
    let (mut distinct, mut dropped, mut missed) = (0u64, 0u64, 0u64);
    while let Some((key, number)) = keys.next_key() {
        let first = truth.is_first(number);
        let verdict = set.observe(key);
        distinct += u64::from(first);
        dropped += u64::from(first && verdict == Verdict::Seen);
        missed += u64::from(!first && verdict == Verdict::New);
    }
    let truth = Truth {
        distinct,
        fpr: dropped as f64 / distinct as f64,
        fnr: missed as f64 / (count - distinct) as f64,
    };
    (truth, set.audit().expect("an audit"))
}

fn covers(estimate: Option<Estimate>, truth: f64) -> bool {
    estimate.is_some_and(|estimate| (estimate.low..=estimate.high).contains(&truth))
}

/// 95 runs in 100 are promised; 93 must be, as chance has its say in a hundred runs.
fn intervals_hold(filter: &str, stream: &str) {
    const RUNS: u64 = 100;
    let (mut fpr, mut fnr, mut distinct) = (0, 0, 0);
    for seed in 0..RUNS {
        let (truth, audit) = run(filter, 120_000, stream, 60_000, seed);
        assert!(audit.one_in > 1, "it is a sample");
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
    intervals_hold("bloom:k=3", "shuffle:60");
}

#[test]
fn intervals_hold_for_stable() {
    intervals_hold("stable:k=2,p=4,max=1", "shuffle:60");
}

#[test]
fn intervals_hold_for_rlbsbf() {
    intervals_hold("rlbsbf:k=2", "shuffle:60");
}

#[test]
fn intervals_hold_for_slot() {
    intervals_hold("slot", "shuffle:60");
}

#[test]
fn intervals_hold_for_word() {
    intervals_hold("word", "shuffle:60");
}

#[test]
fn intervals_hold_for_a_stream_that_drifts() {
    intervals_hold("recent", "drift:40:5000");
}

/// Repeats are counted by how far back their key last came, scaled up from the sample.
#[test]
fn the_gaps_are_those_of_the_stream() {
    let (_, audit) = run("stable", 120_000, "drift:40:1000", 200_000, 3);
    assert!(audit.one_in > 4);
    let total: u64 = audit.gaps.iter().sum();
    let repeats = 200_000.0 * 0.6;
    assert!((total as f64 / repeats - 1.0).abs() < 0.15, "{total}");
    // Keys come from the last thousand: hardly a repeat can lie much farther back.
    let far: u64 = audit.gaps.iter().skip(14).sum();
    assert!((far as f64) < 0.05 * total as f64, "{:?}", audit.gaps);
}

#[test]
fn a_store_keeps_its_audit_across_a_crash() {
    let directory = TempDir::new().expect("a place");
    let path = directory.path().join("audited.dds");
    let options = CreateOptions {
        seed: Some(5),
        log_bytes: Some(64 << 10),
        ..CreateOptions::new("rlbsbf".parse().expect("a filter"), 100_000)
    };
    let mut store = Store::create(&path, &options, OpenOptions::default()).expect("made");
    let mut set = options.in_memory(5).expect("small");
    let stream: StreamSpec = "shuffle:30".parse().expect("a stream");
    let mut keys = stream.open(50_000, 1);
    while let Some((key, _)) = keys.next_key() {
        assert_eq!(store.observe(key).expect("observed"), set.observe(key));
    }
    // Not closed: most of it is only in the log.
    drop(store);
    let store = Store::open(&path, OpenOptions::default()).expect("recovered");
    assert!(store.recovery().replayed > 0);
    assert_eq!(store.audit(), set.audit());
    assert!(store.audit().expect("an audit").one_in > 1);
    let read_only = Store::open_read_only(&path).expect("readable");
    assert_eq!(read_only.audit(), set.audit());
    store.close().expect("closed");
    let inspection = dedupstore::store::inspect(&path).expect("inspected");
    assert_eq!(inspection.audit, set.audit());
}
