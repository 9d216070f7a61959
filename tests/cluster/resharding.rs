//! Slots move between nodes while producers run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dedupstore::sites::{FailureRule, SiteVerdict};
use dedupstore::{Fingerprint, SeenSetBuilder};
use dedupstore_cluster::{CreateOptions, Window};

use crate::servers::{Cluster, Server};
use crate::stores::{SEED, count, create, key, observe, open, options};

const BATCH: u64 = 64;
/// The size of the table of slots: so small that keys are overwritten.
const SLOT_BITS: u64 = 16 << 14;

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

/// Returns the stores that producers use meanwhile.
fn stores() -> [(&'static str, CreateOptions); 4] {
    // Bloom filters forget nothing by themselves.
    let bloom = |slicing, bits| options("bloom:k=4", slicing, bits, FailureRule::Unknown);
    let window = Window::of_span(Duration::from_secs(3600)).expect("long enough");
    [
        ("atomic", bloom("horizontal:12", 1 << 26)),
        ("claims", bloom("vertical:12", 1 << 24)),
        (
            "window",
            CreateOptions {
                window: Some(window),
                ..bloom("horizontal:12", 1 << 27)
            },
        ),
        (
            "slots",
            options(
                "slot:values=65535",
                "horizontal:12",
                SLOT_BITS,
                FailureRule::Unknown,
            ),
        ),
    ]
}

/// Returns the hash slots of all slices, with their masters.
fn slots_of(cluster: &Cluster) -> Vec<(u16, usize)> {
    let mut slots = Vec::new();
    for (name, options) in &stores() {
        let mut store = create(&cluster.address(name), options);
        for slice in store.inspect().expect("answers").slices {
            let slot: u64 = cluster.masters[0].call(&["CLUSTER", "KEYSLOT", &slice.key]);
            let owner = cluster
                .masters
                .iter()
                .position(|it| slice.node.ends_with(&format!(":{}", it.port)));
            slots.push((slot as u16, owner.expect("a node")));
        }
    }
    slots
}

/// Observes new keys, and repeats of earlier ones, in a filter that forgets nothing. Returns the
/// number of rounds and of redirections.
fn produce(address: &str, producer: u64, done: &AtomicBool) -> (u64, u64) {
    let mut store = open(address);
    let (mut told_new, mut rounds) = (0, 0u64);
    let batch = |number: u64| -> Vec<Fingerprint> {
        let first = (producer << 40) + number * BATCH;
        (first..first + BATCH).map(key).collect()
    };
    while !done.load(Ordering::Relaxed) || rounds < 20 {
        let found = observe(&mut store, &batch(rounds), BATCH as usize);
        let unknown = count(&found, SiteVerdict::Unknown);
        assert_eq!(unknown, 0, "a failure reached the producer");
        told_new += count(&found, SiteVerdict::New);
        // Everything so far is known, wherever it is.
        let found = observe(&mut store, &batch(rounds / 2), BATCH as usize);
        let lost = count(&found, SiteVerdict::New);
        assert_eq!(lost, 0, "keys of a batch were lost");
        rounds += 1;
    }
    let all = (rounds * BATCH) as usize;
    assert!(told_new + 3 >= all, "{told_new} of {all} new keys");
    (rounds, store.router_counts().redirections)
}

/// Observes keys in a table of slots, which forgets keys whose slot another key takes: each verdict
/// must be that of the engine's filter. Returns the redirections.
fn produce_like_the_engine(address: &str, done: &AtomicBool) -> u64 {
    let mut store = open(address);
    let spec = "slot:values=65535".parse().expect("valid");
    let engine = SeenSetBuilder::new(&spec).memory_bits(SLOT_BITS).seed(SEED);
    let mut engine = engine.build().expect("small");
    let (mut forgotten, mut rounds) = (0, 0u64);
    while !done.load(Ordering::Relaxed) || rounds < 100 {
        let (new, old) = (rounds * BATCH, rounds / 2 * BATCH);
        let numbers = (new..new + BATCH).chain(old..old + BATCH);
        let keys: Vec<Fingerprint> = numbers.map(|it| key((9 << 40) + it)).collect();
        let found = observe(&mut store, &keys, BATCH as usize);
        for (index, (key, verdict)) in keys.into_iter().zip(found).enumerate() {
            let expected = engine.observe_one(key.into());
            assert_ne!(
                verdict,
                SiteVerdict::Unknown,
                "a failure reached the producer"
            );
            assert_eq!(
                verdict.is_seen(),
                expected.is_seen(),
                "key {index} of round {rounds}"
            );
            forgotten += usize::from(index >= BATCH as usize && expected.is_new());
        }
        rounds += 1;
    }
    assert!(
        forgotten > 0,
        "the table is small enough that keys are overwritten"
    );
    store.router_counts().redirections
}

#[test]
fn slots_move_while_producers_run() {
    let cluster = Cluster::start(3, false);
    let slots = slots_of(&cluster);
    let (done, cluster) = (AtomicBool::new(false), &cluster);
    // Two on each of the stores that several may use, and one each on the others.
    let producers = ["atomic", "claims", "window", "atomic", "claims"];
    let outcomes: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let done = &done;
        let run = |(number, name): (usize, &&str)| {
            let address = cluster.address(name);
            scope.spawn(move || produce(&address, number as u64, done))
        };
        let started: Vec<_> = producers.iter().enumerate().map(run).collect();
        let address = cluster.address("slots");
        let like_the_engine = scope.spawn(move || produce_like_the_engine(&address, done));
        for &(slot, owner) in &slots {
            let node = |step: usize| &cluster.masters[(owner + step) % 3];
            move_slot(slot, node(0), node(1), node(2));
        }
        done.store(true, Ordering::Relaxed);
        let redirections = like_the_engine.join().expect("no error");
        assert!(redirections > 0, "slots moved under the table of slots");
        started
            .into_iter()
            .map(|it| it.join().expect("no error"))
            .collect()
    });
    for (number, (rounds, redirections)) in outcomes.into_iter().enumerate() {
        assert!(redirections > 0, "slots moved under producer {number}");
        let mut store = open(&cluster.address(producers[number]));
        let numbers = (0..rounds * BATCH).map(|it| key(((number as u64) << 40) + it));
        let keys: Vec<Fingerprint> = numbers.collect();
        let (mut verdicts, mut known) = (Vec::new(), 0);
        for keys in keys.chunks(1000) {
            let looked_up = store.contains_batch(keys, &mut verdicts);
            looked_up.expect("no refusal");
            known += count(&verdicts, SiteVerdict::Seen);
        }
        assert_eq!(known, keys.len(), "keys are lost");
    }
}
