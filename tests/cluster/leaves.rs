//! A local filter in front of the store answers repeats.

use dedupstore::lab::StreamSpec;
use dedupstore::sites::{BloomTree, FailureRule, TreeSpec};
use dedupstore::{Fingerprint, KeyHasher, SeenSet, SeenSetBuilder};
use dedupstore_cluster::{CreateOptions, Recording};

use crate::stores::{SEED, create, options, shared_cluster};

const BITS: u64 = 100_000;
const LEAVES: usize = 4;
const KEYS: u64 = 60_000;

/// Returns the keys of a stream, each with the leaf that it comes from.
fn keys_with_leaves() -> Vec<(Fingerprint, usize)> {
    let stream: StreamSpec = "zipf:1:5000".parse().expect("valid");
    let mut stream = stream.open(KEYS, 3);
    let mut keys = Vec::new();
    while let Some((key, _)) = stream.next_key() {
        let leaf = KeyHasher::new(keys.len() as u64).fingerprint(b"leaf").0 >> 62;
        keys.push((KeyHasher::new(SEED).fingerprint(key), leaf as usize));
    }
    keys
}

/// The verdicts, accesses and messages are those of the engine's dense tree of two levels.
#[test]
fn a_dense_leaf_saves_most_accesses_of_the_root() {
    let keys = keys_with_leaves();
    let spec: TreeSpec = "dense:levels=2,fanout=4,root-slices=10"
        .parse()
        .expect("valid");
    let mut tree = BloomTree::of_bits(&spec, BITS).expect("small");
    let mut expected_new = 0;
    for &(key, leaf) in &keys {
        expected_new += u64::from(tree.observe(leaf, key, 0).is_new());
    }
    let root = tree.counts(0);

    let bloom = "bloom:k=4".parse().expect("valid");
    let leaf = |_| -> SeenSet {
        let leaf = SeenSetBuilder::new(&bloom).memory_bits(BITS).seed(SEED);
        leaf.build().expect("small")
    };
    let mut leaves: Vec<SeenSet> = (0..LEAVES).map(leaf).collect();
    let address = shared_cluster().address("leaves");
    let options = CreateOptions {
        recording: Some(Recording::Atomic),
        ..options("bloom:k=4", "vertical:10", BITS, FailureRule::Unknown)
    };
    let mut store = create(&address, &options);
    let (mut accesses, mut new, mut verdicts) = (0, 0, Vec::new());
    for chunk in keys.chunks(2000) {
        for (index, leaf) in leaves.iter_mut().enumerate() {
            let keys: Vec<Fingerprint> = chunk
                .iter()
                .filter(|it| it.1 == index)
                .map(|it| it.0)
                .collect();
            let before = store.counters().observations();
            store
                .observe_through(leaf, &keys, &mut verdicts)
                .expect("no refusal");
            accesses += store.counters().observations() - before;
            new += verdicts.iter().filter(|verdict| verdict.is_new()).count() as u64;
        }
    }
    let within = |found: u64, expected: u64, what: &str| {
        let difference = found.abs_diff(expected) as f64 / expected as f64;
        assert!(difference <= 0.01, "{what}: {found} instead of {expected}");
    };
    within(accesses, root.accesses, "accesses");
    within(new, expected_new, "new keys");
    let messages = store.traffic().iter().map(|it| it.messages()).sum();
    within(messages, root.traffic.messages(), "messages");
    assert!(
        3 * accesses <= KEYS,
        "{accesses} of {KEYS} observations reach the root"
    );
}
