//! Verdicts and messages on six masters are those of the engine.

use dedupstore::SeenSetBuilder;
use dedupstore::sites::{FailureRule, SitePrimitive, SiteVerdict, SlicePlan, SlicedFilter};
use dedupstore_cluster::Recording;

use crate::stores::{SEED, create, keys_with_repeats, observe, options, shared_cluster};

const BITS: u64 = 40_003;
const KEYS: u64 = 12_000;

/// Slices of a Bloom filter give the verdicts of the simulation, and send its messages.
#[test]
fn a_bloom_filter_in_slices_is_the_simulation() {
    let keys = keys_with_repeats(KEYS);
    for (index, slicing) in [
        "horizontal:16",
        "vertical:16",
        "diced:4x4",
        "general:16,k1=2",
    ]
    .into_iter()
    .enumerate()
    {
        let mut simulated =
            SlicedFilter::in_process(slicing.parse().expect("valid"), 4, BITS).expect("sites");
        simulated.set_primitive(SitePrimitive::TestAndSet);
        let expected: Vec<SiteVerdict> = keys.iter().map(|&key| simulated.observe(key)).collect();
        let address = shared_cluster().address(&format!("agreement-{index}"));
        let options = options("bloom:k=4", slicing, BITS, FailureRule::Unknown);
        let raw = dedupstore_cluster::CreateOptions {
            recording: Some(Recording::Atomic),
            ..options.clone()
        };
        let mut store = create(&address, &raw);
        assert!(observe(&mut store, &keys, 700) == expected, "{slicing}");
        assert_eq!(store.traffic(), simulated.traffic(), "{slicing}");
        let batches = KEYS.div_ceil(700);
        let counts = store.router_counts();
        assert!(
            counts.messages <= 6 * batches + 100,
            "{slicing}: one message per node and batch: {counts:?}"
        );
        store.delete().expect("deleted");
        // With claims, one producer alone gets the same verdicts.
        let claims = dedupstore_cluster::CreateOptions {
            recording: Some(Recording::Claim),
            ..options
        };
        let mut store = create(&address, &claims);
        let found = observe(&mut store, &keys, 700);
        let wrong = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
        assert_eq!(wrong, 0, "{slicing} with claims");
    }
}

/// The slices are the engine's seam to sites: its own filter runs on them.
#[test]
fn the_engines_filter_runs_on_slices_on_redis() {
    let keys = keys_with_repeats(3000);
    let slicing = "vertical:16".parse().expect("valid");
    let mut simulated = SlicedFilter::in_process(slicing, 4, BITS).expect("sites");
    let address = shared_cluster().address("seam");
    let options = options("bloom:k=4", "vertical:16", BITS, FailureRule::Unknown);
    let slices = create(&address, &options).into_slices().expect("of bits");
    let plan = SlicePlan::new(slicing, 4, BITS).expect("a plan");
    let mut filter = SlicedFilter::new(plan, slices).expect("alike");
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    for keys in keys.chunks(500) {
        filter.observe_batch(keys, &mut found);
        simulated.observe_batch(keys, &mut expected);
        assert_eq!(found, expected);
    }
    assert_eq!(filter.traffic(), simulated.traffic());
    filter.sites_mut().check().expect("no refusal");
}

/// A table of slots gives the verdicts of the engine's undivided filter, with one message per key.
#[test]
fn a_table_of_slots_is_the_engines_filter() {
    let keys = keys_with_repeats(KEYS);
    // A third of the slots that the keys would need, so that keys are overwritten.
    let memory_bits = 16 * KEYS / 6;
    let spec = "slot:values=65535".parse().expect("valid");
    let set = SeenSetBuilder::new(&spec)
        .memory_bits(memory_bits)
        .seed(SEED);
    let mut set = set.build().expect("small");
    let expected: Vec<bool> = keys
        .iter()
        .map(|&key| set.observe_one(key.into()).is_seen())
        .collect();
    let address = shared_cluster().address("slots");
    let options = options(
        "slot:values=65535",
        "horizontal:16",
        memory_bits,
        FailureRule::Unknown,
    );
    let mut store = create(&address, &options);
    let found = observe(&mut store, &keys, 1000);
    let found: Vec<bool> = found.into_iter().map(SiteVerdict::is_seen).collect();
    assert!(found == expected);
    let tests: u64 = store.traffic().iter().map(|it| it.messages()).sum();
    assert_eq!(tests, KEYS);
    // The slices are spread over all nodes.
    let inspection = store.inspect().expect("answers");
    let mut nodes: Vec<&str> = inspection
        .slices
        .iter()
        .map(|it| it.node.as_str())
        .collect();
    nodes.sort();
    nodes.dedup();
    assert_eq!((inspection.nodes.len(), nodes.len()), (6, 6));
    let counters = inspection.counters.expect("readable");
    assert_eq!(counters.new + counters.seen, KEYS);
    assert!(inspection.slices.iter().all(|it| it.failure.is_none()));
    let fill = inspection.fill().expect("all answer");
    let load = set.load();
    assert!((fill - load).abs() < 0.01, "{fill} of {load}");
}
