//! Trees of Bloom filters: equal to a single filter, with the accesses of the paper.
//!
//! Unless a test says otherwise: k = 4, 100,000 observations, one run. Tolerances are three standard
//! errors.

use dedupstore::fingerprint::reduce;
use dedupstore::lab::StreamSpec;
use dedupstore::rng::Generator;
use dedupstore::sites::{
    BitNode, BitSite, BloomTree, SiteVerdict, TimerNode, TopDown, TreeError, TreeNode, TreeOrder,
    TreeSpec,
};
use dedupstore::{Fingerprint, KeyHasher, SeenSet};

const SEED: u64 = 1;
const N: u64 = 100_000;
/// The web log of the paper: about 16,850 distinct keys, Zipf distributed.
const WEB_LOG: &str = "zipf:0.885:22099";

/// A key with its random leaf.
struct Event {
    key: Fingerprint,
    leaf: usize,
    is_first: bool,
}

fn events(stream: &str, count: u64, leaves: u64) -> Vec<Event> {
    let stream: StreamSpec = stream.parse().expect("a stream");
    let (hasher, producers) = (KeyHasher::new(SEED), Generator::from_seed(77));
    let mut keys = stream.open(count, SEED);
    let mut truth = keys.truth();
    let mut events = Vec::new();
    while let Some((key, number)) = keys.next_key() {
        let draw = producers.draw(events.len() as u64);
        events.push(Event {
            key: hasher.fingerprint(key),
            leaf: reduce(draw, leaves) as usize,
            is_first: truth.is_first(number),
        });
    }
    events
}

fn spec(text: &str) -> TreeSpec {
    text.parse().expect("a tree")
}

fn bits(text: &str, m: u64) -> BloomTree<BitNode<Vec<BitSite>>> {
    BloomTree::of_bits(&spec(text), m).expect("small")
}

fn run<T: TreeNode>(tree: &mut BloomTree<T>, events: &[Event]) -> Vec<bool> {
    let verdicts = (0..).zip(events).map(|(now, event)| {
        let verdict = tree.observe(event.leaf, event.key, now);
        assert_ne!(verdict, SiteVerdict::Unknown);
        verdict.is_new()
    });
    verdicts.collect()
}

/// The verdicts of one filter of the registry: whether each is New.
fn single(filter: &str, memory_bits: u64, events: &[Event]) -> Vec<bool> {
    let set = SeenSet::builder(filter).expect("a filter");
    let mut set = set.memory_bits(memory_bits).build().expect("small");
    let verdicts = events.iter().map(|it| set.observe_fingerprint(it.key));
    verdicts.map(|verdict| verdict.is_new()).collect()
}

fn count(flags: impl IntoIterator<Item = bool>) -> u64 {
    flags.into_iter().filter(|flag| *flag).count() as u64
}

/// False positives and false negatives.
fn errors(events: &[Event], is_new: &[bool]) -> (u64, u64) {
    let judged = || events.iter().zip(is_new);
    (
        count(judged().map(|(event, &is_new)| event.is_first && !is_new)),
        count(judged().map(|(event, &is_new)| !event.is_first && is_new)),
    )
}

#[test]
fn dense_sparse_and_a_single_filter_give_the_same_verdicts() {
    for stream in ["shuffle:16.85", WEB_LOG] {
        for shape in [
            "levels=1,fanout=2",
            "levels=2,fanout=16",
            "levels=2,fanout=16,root-slices=7",
            "levels=3,fanout=4",
            "levels=5,fanout=2",
            "levels=3,fanout=3,k=7",
        ] {
            let shape_spec = spec(&format!("dense:{shape}"));
            let events = events(stream, N / 2, shape_spec.leaves());
            let m = 60_000;
            let expected = single(&format!("bloom:k={}", shape_spec.k), m, &events);
            for order in ["dense", "sparse"] {
                let mut tree = bits(&format!("{order}:{shape}"), m);
                assert!(
                    run(&mut tree, &events) == expected,
                    "{stream}, {order}:{shape}"
                );
            }
        }
    }
}

#[test]
fn accesses_and_hits_of_local_filters_obey_the_identities() {
    let events = events(WEB_LOG, N, 16);
    let new = |is_new: &[bool]| count(is_new.iter().copied());
    let mut dense = bits("dense:levels=2,fanout=16", 143_000);
    let dense_new = new(&run(&mut dense, &events));
    let (root, leaves) = (dense.counts(0), dense.counts(1));
    assert_eq!(leaves.accesses, N);
    assert_eq!(root.accesses, N - leaves.hits);
    assert_eq!(root.hits + leaves.hits + dense_new, N);
    let mut sparse = bits("sparse:levels=2,fanout=16", 143_000);
    let sparse_new = new(&run(&mut sparse, &events));
    let (root, leaves) = (sparse.counts(0), sparse.counts(1));
    assert_eq!(sparse_new, dense_new);
    assert_eq!(leaves.accesses, N + sparse_new);
    assert_eq!(root.accesses, N - leaves.hits + sparse_new);
    assert_eq!(root.hits + leaves.hits + sparse_new, N);
    // Without slices and failures, an access is a message.
    let traffic = root.traffic;
    assert_eq!((traffic.tests, traffic.sets), (N - leaves.hits, sparse_new));
    assert_eq!(traffic.bits, root.accesses * 4 * 18, "143,000 < 2^18");
}

/// The standard errors are 203 and 83.
#[test]
fn leaves_of_a_dense_tree_find_half_and_of_a_sparse_tree_a_twentieth() {
    let events = events(WEB_LOG, N, 16);
    for (order, expected, tolerance) in [("dense", 49_810, 610), ("sparse", 5180, 250)] {
        let mut tree = bits(&format!("{order}:levels=2,fanout=16"), 143_000);
        run(&mut tree, &events);
        let hits = tree.counts(1).hits;
        println!("{order}: {hits} leaf hits");
        assert!(hits.abs_diff(expected) <= tolerance, "{order}: {hits}");
    }
}

/// The number of false negatives as printed is about Poisson distributed.
#[test]
fn top_down_testing_misses_repeats_only_as_printed() {
    let events = events(WEB_LOG, N, 16);
    let errors_of = |tree: &str| errors(&events, &run(&mut bits(tree, 89_000), &events));
    let off = errors_of("sparse:levels=5,fanout=2");
    let ours = errors_of("sparse:levels=5,fanout=2,top-down=2");
    let printed = errors_of("sparse:levels=5,fanout=2,top-down-printed=2");
    println!(
        "(false positives, false negatives): off {off:?}, d = 2 {ours:?}, printed {printed:?}"
    );
    assert_eq!((off.1, ours.1), (0, 0));
    assert!(printed.1.abs_diff(43) <= 20, "{printed:?}");
    assert!(20 * ours.0 < off.0, "{ours:?}, {off:?}");
}

/// At most a few accesses more than without, in the levels down to the threshold.
#[test]
fn top_down_testing_costs_accesses_down_to_its_threshold_only() {
    let events = events(WEB_LOG, N / 4, 16);
    let accesses = |tree: &str| {
        let mut tree = bits(tree, 89_000);
        run(&mut tree, &events);
        [0, 1, 2, 3, 4].map(|level| tree.counts(level).accesses)
    };
    let off = accesses("sparse:levels=5,fanout=2");
    let on = accesses("sparse:levels=5,fanout=2,top-down=2");
    println!("accesses per level: off {off:?}, d = 2 {on:?}");
    assert!(on[1] > off[1] && on[2] > off[2]);
    // Fewer false positives are more new keys, and each is set once more.
    for level in [0, 3, 4] {
        assert!(on[level] >= off[level] && on[level] - off[level] < 200);
    }
}

/// With a threshold d, the verdict is Seen if and only if some node at level d has the key.
#[test]
fn top_down_testing_asks_whether_any_node_at_the_threshold_has_the_key() {
    let has = |bytes: &[u8], at: u64| bytes[(at / 8) as usize] >> (at % 8) & 1 == 1;
    for order in ["dense", "sparse"] {
        for threshold in 0..3 {
            let m = 6000;
            let mut tree = bits(
                &format!("{order}:levels=4,fanout=3,top-down={threshold}"),
                m,
            );
            for event in events("shuffle:20", 10_000, 27) {
                let mut probes = event.key.probes();
                let positions: Vec<u64> = (0..4).map(|_| probes.next_below(m)).collect();
                let nodes = tree.nodes(threshold).iter();
                let expected = nodes
                    .map(|node| node.sites()[0].bytes())
                    .any(|bytes| positions.iter().all(|&position| has(bytes, position)));
                let verdict = tree.observe(event.leaf, event.key, 0);
                assert_eq!(verdict.is_seen(), expected, "{order}, d = {threshold}");
            }
            assert!(tree.counts(0).refuted > 0 || threshold == 0);
        }
    }
}

const SPAN: u64 = 10_000;
const TIMERS: u64 = 60_000;

fn window_events() -> Vec<Event> {
    events("zipf:0.885:4000", N, 16)
}

/// The filter `window` has the same cells and the same hash; a timer takes 14 bits.
#[test]
fn trees_with_timers_and_a_single_filter_with_a_window_give_the_same_verdicts() {
    let events = window_events();
    let filter = format!("window:k=4,span={SPAN},step=1,clock=count");
    let expected = single(&filter, 14 * TIMERS, &events);
    for order in ["dense", "sparse"] {
        for shape in [
            "levels=1,fanout=2",
            "levels=2,fanout=16",
            "levels=5,fanout=2",
        ] {
            let spec = spec(&format!("{order}:{shape},span={SPAN}"));
            let mut tree = BloomTree::of_timers(&spec, TIMERS).expect("small");
            assert!(run(&mut tree, &events) == expected, "{order}:{shape}");
        }
    }
}

/// A dense tree of two levels, as simple as possible. Returns whether each verdict is New.
fn naive_dense(events: &[Event], copies_present_time: bool) -> Vec<bool> {
    // The time plus one, by node and position. Node 16 is the root.
    let mut cells = vec![vec![0; TIMERS as usize]; 17];
    let verdicts = (1..).zip(events).map(|(now, event)| {
        let mut probes = event.key.probes();
        let positions: Vec<usize> = (0..4).map(|_| probes.next_below(TIMERS) as usize).collect();
        let least = |cells: &[u64]| positions.iter().map(|&at| cells[at]).min();
        let live = |time: &u64| *time > 0 && now - time < SPAN;
        if least(&cells[event.leaf]).filter(live).is_some() {
            return false;
        }
        let found = least(&cells[16]).filter(live);
        let copied = match found {
            Some(time) if !copies_present_time => time,
            _ => now,
        };
        for &position in &positions {
            cells[event.leaf][position] = cells[event.leaf][position].max(copied);
            if found.is_none() {
                cells[16][position] = now;
            }
        }
        found.is_none()
    });
    verdicts.collect()
}

/// The share of Seen among observations of keys that were not delivered within the span.
fn false_positive_rate_in_window(events: &[Event], is_new: &[bool]) -> f64 {
    let mut delivered = std::collections::BTreeMap::new();
    let (mut new, mut dropped) = (0, 0);
    for (now, (event, &is_new)) in (0u64..).zip(events.iter().zip(is_new)) {
        let last = delivered.get(&event.key.0);
        if last.is_none_or(|last| now - last >= SPAN) {
            new += 1;
            dropped += u64::from(!is_new);
        }
        if is_new {
            delivered.insert(event.key.0, now);
        }
    }
    dropped as f64 / f64::from(new)
}

#[test]
fn a_dense_tree_that_copied_the_present_time_would_drop_keys_after_their_window() {
    let events = window_events();
    let spec = spec(&format!("dense:levels=2,fanout=16,span={SPAN}"));
    let mut tree = BloomTree::of_timers(&spec, TIMERS).expect("small");
    let found = run(&mut tree, &events);
    assert!(found == naive_dense(&events, false));
    let least = false_positive_rate_in_window(&events, &found);
    let present = false_positive_rate_in_window(&events, &naive_dense(&events, true));
    println!("false positive rate: time of the hit {least:.5}, present time {present:.5}");
    assert!(least < 0.001, "{least}");
    assert!(present > 0.1, "{present}");
}

#[test]
fn a_dense_tree_with_timers_answers_more_at_its_leaves_than_a_sparse_one() {
    let events = window_events();
    let leaf_hits = ["dense", "sparse"].map(|order| {
        let spec = spec(&format!("{order}:levels=2,fanout=16,span={SPAN}"));
        let mut tree = BloomTree::of_timers(&spec, TIMERS).expect("small");
        run(&mut tree, &events);
        tree.counts(1).hits
    });
    println!("leaf hits: {leaf_hits:?}");
    assert!(leaf_hits[0] > 3 * leaf_hits[1], "{leaf_hits:?}");
}

#[test]
fn a_failed_leaf_is_passed_over_and_a_failed_root_is_unknown() {
    let key = |i: u64| KeyHasher::new(SEED).fingerprint(&i.to_le_bytes());
    for order in ["dense", "sparse"] {
        let mut tree = bits(&format!("{order}:levels=2,fanout=2"), 10_000);
        assert!(tree.observe(0, key(1), 0).is_new());
        tree.nodes_mut(1)[0].sites_mut()[0].fail();
        assert!(tree.observe(0, key(1), 0).is_seen(), "the root has it");
        assert!(tree.observe(0, key(2), 0).is_new());
        assert!(tree.observe(1, key(2), 0).is_seen());
        tree.nodes_mut(0)[0].sites_mut()[0].fail();
        assert_eq!(tree.observe(1, key(3), 0), SiteVerdict::Unknown);
        assert!(tree.counts(0).traffic.unanswered > 0);
        assert!(tree.counts(1).traffic.unanswered > 0);
    }
    // A hit that cannot be checked counts.
    let mut tree = bits("sparse:levels=2,fanout=2,top-down=1", 10_000);
    assert!(tree.observe(0, key(1), 0).is_new());
    tree.nodes_mut(1)[0].sites_mut()[0].fail();
    assert!(tree.observe(1, key(1), 0).is_seen());
}

#[test]
fn a_sliced_root_receives_one_message_per_slice() {
    let events = events(WEB_LOG, 5000, 4);
    let mut tree = bits("sparse:levels=2,fanout=4,root-slices=40", 50_000);
    run(&mut tree, &events);
    let root = tree.counts(0);
    let per_access = root.traffic.messages() as f64 / root.accesses as f64;
    // The expected number of different slices among four is 40·(1 − (39/40)⁴) = 3.852.
    assert!((per_access - 3.852).abs() < 0.02, "{per_access}");
    assert_eq!(tree.nodes(0)[0].sites().len(), 40);
}

#[test]
fn trees_that_cannot_be_built_are_refused() {
    let built = |text: &str, m| BloomTree::of_bits(&spec(text), m).map(|_| ());
    assert!(matches!(
        built("dense", 0),
        Err(TreeError::NodeSize { found: 0, .. })
    ));
    assert!(matches!(
        built("dense:levels=3,fanout=64", 1 << 33),
        Err(TreeError::TooLarge { nodes: 4161, .. })
    ));
    assert!(matches!(
        built("dense:root-slices=9", 8),
        Err(TreeError::TooManySlices { slices: 9, .. })
    ));
    assert_eq!(built("dense:span=9", 800), Err(TreeError::BitsWithSpan));
    let sliced = spec("dense:span=9,root-slices=2");
    let sliced = BloomTree::of_timers(&sliced, 800).map(|_| ());
    assert_eq!(sliced, Err(TreeError::SlicedWindow));
    let deep = TreeSpec {
        top_down: TopDown::Threshold(2),
        ..TreeSpec::new(TreeOrder::Dense, 2, 4)
    };
    assert!(BloomTree::<TimerNode>::new(&deep, 8, |_, _| TimerNode::new(8, 1)).is_err());
}
