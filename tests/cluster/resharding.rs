//! Slots move between nodes while producers run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dedupstore::Fingerprint;
use dedupstore::sites::{FailureRule, SiteVerdict};
use dedupstore_cluster::CreateOptions;

use crate::servers::{Cluster, Server};
use crate::stores::{count, create, key, observe, open, options};

const BATCH: u64 = 64;

/// Moves a slot with all its keys, as `redis-cli --cluster reshard` does.
fn move_slot(slot: u16, from: &Server, to: &Server, others: &Server) {
    let slot = slot.to_string();
    let [from_id, to_id]: [String; 2] = [from, to].map(|it| it.call(&["CLUSTER", "MYID"]));
    to.call::<()>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]);
    from.call::<()>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]);
    // Some requests find the slot in this state.
    std::thread::sleep(Duration::from_millis(20));
    loop {
        let keys: Vec<String> = from.call(&["CLUSTER", "GETKEYSINSLOT", &slot, "10"]);
        if keys.is_empty() {
            break;
        }
        let port = to.port.to_string();
        let mut words = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "60000", "KEYS"];
        words.extend(keys.iter().map(String::as_str));
        from.call::<String>(&words);
        std::thread::sleep(Duration::from_millis(20));
    }
    for node in [to, from, others] {
        node.call::<()>(&["CLUSTER", "SETSLOT", &slot, "NODE", &to_id]);
    }
}

#[test]
fn slots_move_while_four_producers_run() {
    let cluster = Cluster::start(3, false);
    // Bloom filters, which forget nothing by themselves.
    let horizontal = options("bloom:k=4", "horizontal:12", 1 << 26, FailureRule::Unknown);
    let vertical = options("bloom:k=4", "vertical:12", 1 << 24, FailureRule::Unknown);
    let stores: [(&str, &CreateOptions); 2] = [("atomic", &horizontal), ("claims", &vertical)];
    let mut slots = Vec::new();
    for (name, options) in stores {
        let mut store = create(&cluster.address(name), options);
        for slice in store.inspect().expect("answers").slices {
            let slot: String = cluster.masters[0]
                .call::<u64>(&["CLUSTER", "KEYSLOT", &slice.key])
                .to_string();
            let owner = cluster
                .masters
                .iter()
                .position(|it| slice.node.ends_with(&format!(":{}", it.port)));
            slots.push((slot.parse::<u16>().expect("a slot"), owner.expect("a node")));
        }
    }
    let (done, cluster) = (AtomicBool::new(false), &cluster);
    let produce = |producer: u64| {
        let mut store = open(&cluster.address(stores[producer as usize % 2].0));
        let (mut told_new, mut rounds) = (0, 0u64);
        while !done.load(Ordering::Relaxed) || rounds < 20 {
            let first = (producer << 40) + rounds * BATCH;
            let keys: Vec<Fingerprint> = (first..first + BATCH).map(key).collect();
            let found = observe(&mut store, &keys, BATCH as usize);
            assert_eq!(
                count(&found, SiteVerdict::Unknown),
                0,
                "a failure reached the producer"
            );
            told_new += count(&found, SiteVerdict::New);
            // Everything so far is known, wherever it is.
            let earlier = (producer << 40) + rounds / 2 * BATCH;
            let keys: Vec<Fingerprint> = (earlier..earlier + BATCH).map(key).collect();
            let found = observe(&mut store, &keys, BATCH as usize);
            let lost = count(&found, SiteVerdict::New);
            assert_eq!(lost, 0, "keys of a batch were lost");
            rounds += 1;
        }
        (
            producer,
            rounds,
            told_new,
            store.router_counts().redirections,
        )
    };
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let producers: Vec<_> = (0..4).map(|it| scope.spawn(move || produce(it))).collect();
        for &(slot, owner) in &slots {
            let node = |step: usize| &cluster.masters[(owner + step) % 3];
            move_slot(slot, node(0), node(1), node(2));
        }
        done.store(true, Ordering::Relaxed);
        producers
            .into_iter()
            .map(|it| it.join().expect("no error"))
            .collect()
    });
    for (producer, rounds, told_new, redirections) in outcomes {
        let all = (rounds * BATCH) as usize;
        assert!(told_new + 3 >= all, "{told_new} of {all} new keys");
        assert!(redirections > 0, "slots moved under producer {producer}");
        let mut store = open(&cluster.address(stores[producer as usize % 2].0));
        let keys: Vec<Fingerprint> = (0..rounds * BATCH)
            .map(|it| key((producer << 40) + it))
            .collect();
        let mut verdicts = Vec::new();
        let mut known = 0;
        for keys in keys.chunks(1000) {
            store
                .contains_batch(keys, &mut verdicts)
                .expect("no refusal");
            known += count(&verdicts, SiteVerdict::Seen);
        }
        assert_eq!(known, all, "keys are lost");
    }
}
