//! A master is killed: the other slices answer, errors are those of the theory, and a node that
//! comes back empty is dead until it is rebuilt.

use dedupstore::Fingerprint;
use dedupstore::sites::{
    BitSite, FailureRule, SiteFailure, SitePrimitive, SiteVerdict, SlicedFilter,
};
use dedupstore_cluster::{ClusterStore, CreateOptions, Recording};

use crate::servers::{Cluster, Server, until};
use crate::stores::{count, create, impatient, key, observe, open, options};

const KEYS: u64 = 6000;

fn keys(range: std::ops::Range<u64>) -> Vec<Fingerprint> {
    range.map(key).collect()
}

/// Returns the slices of a node.
fn slices_of(store: &mut ClusterStore, port: u16) -> Vec<usize> {
    let inspection = store.inspect().expect("answers");
    let suffix = format!(":{port}");
    let slices = inspection.slices.iter().enumerate();
    slices
        .filter(|(_, it)| it.node.ends_with(&suffix))
        .map(|(index, _)| index)
        .collect()
}

/// Returns the simulation with the same keys, in which these slices have failed.
fn simulated(
    slicing: &str,
    bits: u64,
    rule: FailureRule,
    failed: &[usize],
) -> SlicedFilter<Vec<BitSite>> {
    let mut filter =
        SlicedFilter::in_process(slicing.parse().expect("valid"), 4, bits).expect("sites");
    filter.set_primitive(SitePrimitive::TestAndSet);
    filter.set_rule(rule);
    keys(0..KEYS).into_iter().for_each(|key| {
        filter.observe(key);
    });
    failed
        .iter()
        .for_each(|&site| filter.sites_mut()[site].fail());
    filter
}

#[test]
fn a_killed_master_fails_its_slices_only_until_they_are_rebuilt() {
    let mut cluster = Cluster::start(6, false);
    let bits = 200_000;
    let live_zero = FailureRule::LiveZero { x: 3 };
    let atomic = |slicing: &str, rule| CreateOptions {
        recording: Some(Recording::Atomic),
        ..options("bloom:k=4", slicing, bits, rule)
    };
    let horizontal = cluster.address("horizontal");
    let slots = cluster.address("slots");
    let vertical = cluster.address("vertical");
    let all = keys(0..KEYS);
    for (address, options) in [
        (&horizontal, atomic("horizontal:24", FailureRule::Unknown)),
        (
            &slots,
            options(
                "slot:values=65535",
                "horizontal:24",
                64 * bits,
                FailureRule::Unknown,
            ),
        ),
        (&vertical, atomic("vertical:24", live_zero)),
    ] {
        observe(&mut create(address, &options), &all, 1000);
    }
    let dead = cluster.masters[3].port;
    let failed = slices_of(&mut open(&horizontal), dead);
    let failed_vertical = slices_of(&mut open(&vertical), dead);
    assert_eq!(
        (failed.len(), failed_vertical.len()),
        (4, 4),
        "24 slices on 6 nodes"
    );
    let mut before = [open(&horizontal), open(&slots), open(&vertical)].map(impatient);
    cluster.masters[3].kill();

    // Clients that were connected, and clients that connect now, see the same.
    let mut after = [&horizontal, &slots, &vertical].map(|address| impatient(open(address)));
    for stores in [&mut before, &mut after] {
        let [horizontal, slots, vertical] = stores;
        // Horizontal: nothing wrong is said; the keys of the failed slices are Unknown.
        let mut simulation = simulated("horizontal:24", bits, FailureRule::Unknown, &failed);
        let expected: Vec<SiteVerdict> = all.iter().map(|&key| simulation.observe(key)).collect();
        let found = observe(horizontal, &all, 1000);
        assert!(found == expected);
        assert_eq!(count(&found, SiteVerdict::New), 0, "wrong misses");
        assert!(count(&found, SiteVerdict::Seen) > 4 * count(&found, SiteVerdict::Unknown));
        let found = observe(slots, &all, 1000);
        let overwritten = count(&found, SiteVerdict::New);
        assert!(
            overwritten < 50,
            "{overwritten} of {KEYS} keys were overwritten by others"
        );
        assert!(count(&found, SiteVerdict::Unknown) > 0);
        let failures = horizontal.failures().expect("no refusal");
        let expected = failed
            .iter()
            .map(|&slice| (slice, SiteFailure::Unavailable));
        assert!(failures.into_iter().eq(expected));
        // Vertical: a repeat is missed if less than 3 of its 4 bits are live.
        let mut simulation = simulated("vertical:24", bits, live_zero, &failed_vertical);
        let expected: Vec<SiteVerdict> = all.iter().map(|&key| simulation.observe(key)).collect();
        let found = observe(vertical, &all, 1000);
        assert!(found == expected);
        let share = count(&found, SiteVerdict::New) as f64 / KEYS as f64;
        let live = 20.0 / 24.0f64;
        let theory = 1.0 - live.powi(4) - 4.0 * live.powi(3) * (1.0 - live);
        let error = (theory * (1.0 - theory) / KEYS as f64).sqrt();
        assert!(
            (share - theory).abs() < 3.0 * error,
            "{share} of {theory} ± {error}"
        );
    }

    // The node comes back without its memory. Its clear bits are not believed.
    cluster.masters[3].restart();
    let is_back = |node: &Server| {
        let nodes: String = node.call(&["CLUSTER", "NODES"]);
        let state: String = node.call(&["CLUSTER", "INFO"]);
        !nodes.contains(",fail") && state.contains("cluster_state:ok")
    };
    until("a node that is back", || {
        cluster.masters.iter().all(is_back)
    });
    for address in [&horizontal, &vertical] {
        let mut store = impatient(open(address));
        let failures = store.failures().expect("no refusal");
        assert_eq!(failures.len(), 4);
        assert!(
            failures
                .iter()
                .all(|(_, failure)| *failure == SiteFailure::Empty)
        );
    }
    let mut store = impatient(open(&horizontal));
    let found = observe(&mut store, &all, 1000);
    assert_eq!(
        count(&found, SiteVerdict::New),
        0,
        "an empty slice is not believed"
    );
    let unknown = count(&found, SiteVerdict::Unknown);
    assert!(unknown > 0);

    // A new key of a dead slice is Unknown, and New when it is tried again after the rebuild.
    let later = keys(KEYS..KEYS + 500);
    let verdicts = observe(&mut store, &later, 1000);
    let undecided: Vec<Fingerprint> = later
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| **verdict == SiteVerdict::Unknown)
        .map(|(&key, _)| key)
        .collect();
    assert!(!undecided.is_empty());

    // Rebuilt from the keys, and counted.
    let mut rebuild = store.begin_rebuild().expect("reachable");
    assert_eq!(rebuild.slices, failed);
    for keys in all.chunks(1000) {
        store.rebuild_batch(&mut rebuild, keys).expect("reachable");
    }
    store.finish_rebuild(&rebuild).expect("reachable");
    assert_eq!(rebuild.keys, unknown as u64);
    assert_eq!(store.failures().expect("no refusal"), []);
    let found = observe(&mut impatient(open(&horizontal)), &all, 1000);
    assert_eq!(
        count(&found, SiteVerdict::Seen),
        all.len(),
        "everything is known again"
    );
    let mut retried = Vec::new();
    store
        .retry_batch(&undecided, &mut retried)
        .expect("no refusal");
    assert_eq!(
        count(&retried, SiteVerdict::New),
        undecided.len(),
        "no key without a New"
    );
    let counters = store.recorded_counters().expect("readable");
    assert_eq!(counters.rebuilt, rebuild.keys);
}
