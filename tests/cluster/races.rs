//! Four producers observe the same new keys at the same time.

use std::sync::Barrier;

use dedupstore::Fingerprint;
use dedupstore::sites::{FailureRule, SiteVerdict};
use dedupstore_cluster::{CreateOptions, Recording};

use crate::stores::{create, key, open, options, shared_cluster};

const PRODUCERS: usize = 4;
const KEYS: u64 = 3000;
const BATCH: usize = 100;
/// Enough to see two winners on a machine with few cores.
const RAW_RACES: usize = 60;

/// Lets all producers observe the same keys, batch by batch. Returns how often each key was New.
fn race(name: &str, options: &CreateOptions) -> Vec<usize> {
    let address = shared_cluster().address(name);
    create(&address, options).close();
    let keys: Vec<Fingerprint> = (0..KEYS).map(|it| key(it + 1_000_000)).collect();
    let barrier = Barrier::new(PRODUCERS);
    let produce = || {
        let mut store = open(&address);
        let (mut all, mut verdicts) = (Vec::new(), Vec::new());
        for keys in keys.chunks(BATCH) {
            barrier.wait();
            store
                .observe_batch(keys, &mut verdicts)
                .expect("no refusal");
            all.extend_from_slice(&verdicts);
        }
        all
    };
    let answers: Vec<Vec<SiteVerdict>> = std::thread::scope(|scope| {
        let producers: Vec<_> = (0..PRODUCERS).map(|_| scope.spawn(produce)).collect();
        producers
            .into_iter()
            .map(|it| it.join().expect("no panic"))
            .collect()
    });
    let told_new = |index: usize| answers.iter().filter(|it| it[index].is_new()).count();
    (0..keys.len()).map(told_new).collect()
}

fn twice(told_new: &[usize]) -> usize {
    told_new.iter().filter(|&&it| it > 1).count()
}

#[test]
fn exactly_one_producer_is_told_new() {
    let bits = 4_000_000;
    let slots = options(
        "slot:values=65535",
        "horizontal:12",
        16 * bits,
        FailureRule::Unknown,
    );
    let vertical = |recording| CreateOptions {
        recording: Some(recording),
        ..options("bloom:k=4", "vertical:12", bits, FailureRule::Unknown)
    };
    let told_new = race("race-slots", &slots);
    assert_eq!(twice(&told_new), 0, "horizontal");
    let lost = told_new.iter().filter(|&&it| it == 0).count();
    assert!(
        lost <= 3,
        "{lost} keys were taken for others, of 3000 with a chance of 2^-16 each"
    );
    let told_new = race("race-claims", &vertical(Recording::Claim));
    assert_eq!(twice(&told_new), 0, "vertical with claims");
    assert!(told_new.iter().filter(|&&it| it == 0).count() <= 3);
    // Whether messages cross is chance; without claims it happens sooner or later.
    let crossed = (0..RAW_RACES).any(|round| {
        let told_new = race(&format!("race-raw-{round}"), &vertical(Recording::Atomic));
        twice(&told_new) > 0
    });
    assert!(crossed, "without claims, vertical slices let two win");
}
