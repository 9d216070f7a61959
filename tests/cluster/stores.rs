//! Stores and keys for tests.

use std::sync::OnceLock;
use std::time::Duration;

use dedupstore::sites::{FailureRule, SiteVerdict};
use dedupstore::{Fingerprint, KeyHasher};
use dedupstore_cluster::{Access, ClusterAddress, ClusterStore, CreateOptions};

use crate::servers::{Cluster, PATIENCE};

pub const SEED: u64 = 7;

/// Returns a cluster of six masters that stays as it is. All tests of this process share it.
pub fn shared_cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start(6, false))
}

/// Returns options with a fixed seed.
pub fn options(filter: &str, slicing: &str, memory_bits: u64, rule: FailureRule) -> CreateOptions {
    CreateOptions {
        filter: filter.parse().expect("a filter"),
        memory_bits,
        window: None,
        slicing: slicing.parse().expect("a slicing"),
        rule,
        recording: None,
        seed: Some(SEED),
        key: String::new(),
    }
}

/// Returns how tests reach servers: patiently.
pub fn access(address: &ClusterAddress) -> Access {
    let access = Access::of(address).expect("no file");
    Access {
        connect_timeout: PATIENCE,
        answer_timeout: PATIENCE,
        ..access
    }
}

pub fn address(text: &str) -> ClusterAddress {
    text.parse().expect("an address")
}

pub fn create(text: &str, options: &CreateOptions) -> ClusterStore {
    let address = address(text);
    ClusterStore::create(&address, access(&address), options).expect("a new store")
}

pub fn open(text: &str) -> ClusterStore {
    let address = address(text);
    ClusterStore::open(&address, access(&address)).expect("a store")
}

/// Lets a store wait for a paused or dead node only shortly.
pub fn impatient(mut store: ClusterStore) -> ClusterStore {
    store.set_answer_timeout(Duration::from_secs(2));
    store
}

pub fn key(number: u64) -> Fingerprint {
    KeyHasher::new(SEED).fingerprint(&number.to_le_bytes())
}

/// Returns keys with repeats, also close ones.
pub fn keys_with_repeats(count: u64) -> Vec<Fingerprint> {
    let number = |i: u64| match i % 3 {
        0 => i * i % (count / 5 + 1),
        _ => i / 2,
    };
    (0..count).map(|i| key(number(i))).collect()
}

/// Observes keys in batches.
pub fn observe(store: &mut ClusterStore, keys: &[Fingerprint], batch: usize) -> Vec<SiteVerdict> {
    let (mut all, mut verdicts) = (Vec::with_capacity(keys.len()), Vec::new());
    for keys in keys.chunks(batch) {
        store
            .observe_batch(keys, &mut verdicts)
            .expect("no refusal");
        all.extend_from_slice(&verdicts);
    }
    all
}

pub fn count(verdicts: &[SiteVerdict], verdict: SiteVerdict) -> usize {
    verdicts.iter().filter(|it| **it == verdict).count()
}
