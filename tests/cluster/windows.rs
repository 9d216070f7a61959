//! Stores that forget after a time, by the clocks of the servers.

use std::collections::HashMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dedupstore::sites::{FailureRule, SiteFailure, SiteVerdict};
use dedupstore::{FilterSpec, Fingerprint, Observation, SeenSet, SeenSetBuilder, Verdict};
use dedupstore_cluster::{CreateOptions, Window};

use crate::servers::{Cluster, Server, until};
use crate::stores::{SEED, count, create, key, observe, open, options};

const STEPS: u64 = 8;
/// The memory of all generations.
const BITS: u64 = 1 << 25;

fn with_window(filter: &str, step: Duration) -> CreateOptions {
    let window = Window::in_steps(step * STEPS as u32, STEPS as u32);
    CreateOptions {
        window: Some(window.expect("long enough")),
        ..options(filter, "horizontal:6", BITS, FailureRule::Unknown)
    }
}

/// Returns the clock of a server, in milliseconds.
fn time(server: &Server) -> u64 {
    let parts: Vec<String> = server.call(&["TIME"]);
    let part = |index: usize| parts[index].parse::<u64>().expect("a number");
    part(0) * 1000 + part(1) / 1000
}

/// Waits for the first half of a step after this one. Returns the step.
fn next_step(server: &Server, step: Duration, after: u64) -> u64 {
    let length = step.as_millis() as u64;
    loop {
        let now = time(server);
        if now / length > after && now % length < length / 2 {
            return now / length;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The keys of a round: new ones, and repeats of different ages.
fn keys_of(round: u64) -> Vec<Fingerprint> {
    let ages = [0, 0, 1, 4, 7, 8, 9, 10, 12];
    let rounds = ages.iter().filter_map(|age| round.checked_sub(*age));
    rounds
        .flat_map(|round| (0..40).map(move |number| key(1000 * round + number)))
        .collect()
}

/// Observes the keys of many steps, one batch per step. Returns None if a step ended during a batch,
/// so that it is not known which one counts; else the verdicts with their steps.
fn observe_steps(
    server: &Server,
    name: &str,
    filter: &str,
    step: Duration,
) -> Option<Vec<(u64, Vec<SiteVerdict>)>> {
    let address = format!("redis://127.0.0.1:{}/{name}", server.port);
    let mut store = create(&address, &with_window(filter, step));
    // The first message learns the time.
    store.failures().expect("answers");
    let (mut all, mut last) = (Vec::new(), 0);
    for round in 0..26 {
        last = next_step(server, step, last);
        let found = observe(&mut store, &keys_of(round), 1000);
        if time(server) / step.as_millis() as u64 != last {
            return None;
        }
        all.push((last, found));
    }
    Some(all)
}

/// Observes the keys of many steps, on a new store for each attempt.
fn observe_undisturbed(filter: &str) -> Vec<(u64, Vec<SiteVerdict>)> {
    let server = Server::start(&[]);
    let step = Duration::from_millis(250);
    let attempt = |number: u64| observe_steps(&server, &format!("steps-{number}"), filter, step);
    let found = (0..10).find_map(attempt);
    found.expect("a machine that is not too busy")
}

/// A Bloom filter forgets nothing by itself. Its verdicts are those of the engine's filter `window`,
/// whose steps are these, and of an exact account: a key is Seen if it was New in one of the last
/// eight steps or in this one.
#[test]
fn verdicts_are_those_of_the_engines_window() {
    let rounds = observe_undisturbed("bloom:k=4");
    let spec = format!("window:k=8,span={},step=10,clock=seconds", 10 * STEPS);
    let engine = SeenSetBuilder::new(spec.parse::<FilterSpec>().expect("valid"));
    let mut engine = engine.memory_bits(1 << 22).build().expect("small");
    let mut delivered = HashMap::new();
    let mut forgotten = 0;
    let first = rounds[0].0;
    for (round, (step, verdicts)) in rounds.iter().enumerate() {
        for (key, verdict) in keys_of(round as u64).into_iter().zip(verdicts) {
            let known = delivered.get(&key.0).is_some_and(|at| step - at <= STEPS);
            forgotten += usize::from(!known && delivered.contains_key(&key.0));
            if !known {
                delivered.insert(key.0, *step);
            }
            assert_eq!(verdict.is_seen(), known, "round {round}, step {step}");
            let observation = Observation {
                // Somewhere in the step.
                tick: 10 * ((step - first) as u32 + 100) + 5,
                ..key.into()
            };
            let of_engine = engine.observe_one(observation);
            assert_eq!(of_engine == Verdict::Seen, known, "round {round}");
        }
    }
    assert!(
        forgotten > 100,
        "keys came again after the window: {forgotten}"
    );
}

/// A table of slots forgets keys whose slot another key takes. Its verdicts are those of one of the
/// engine's tables per step.
#[test]
fn generations_of_slots_are_the_engines_tables() {
    let rounds = observe_undisturbed("slot:values=65535");
    let spec = "slot:values=65535".parse().expect("valid");
    let table = || {
        let set = SeenSetBuilder::new(&spec).memory_bits(BITS / (STEPS + 1));
        set.seed(SEED).build().expect("small")
    };
    let mut tables: HashMap<u64, SeenSet> = HashMap::new();
    for (round, (step, verdicts)) in rounds.iter().enumerate() {
        for (key, verdict) in keys_of(round as u64).into_iter().zip(verdicts) {
            let known = (step - STEPS..=*step).any(|step| {
                let table = tables.get(&step);
                table.is_some_and(|it| it.contains_fingerprint(key).is_seen())
            });
            if !known {
                let present = tables.entry(*step).or_insert_with(table);
                present.observe_fingerprint(key);
            }
            assert_eq!(verdict.is_seen(), known, "round {round}, step {step}");
        }
    }
}

/// What is known is not recorded again, and generations are deleted when their time has come.
#[test]
fn a_seen_verdict_leaves_no_trace_and_generations_expire() {
    let server = Server::start(&[]);
    let step = Duration::from_millis(200);
    let address = format!("redis://127.0.0.1:{}/links", server.port);
    let mut store = create(&address, &with_window("slot:values=65535", step));
    let keys: Vec<Fingerprint> = (0..200).map(key).collect();
    let generations = || -> Vec<String> {
        let keys: Vec<String> = server.call(&["KEYS", "dds:*@*"]);
        keys
    };
    assert_eq!(
        count(&observe(&mut store, &keys, 1000), SiteVerdict::New),
        200
    );
    let recorded = generations();
    assert!(recorded.len() >= 6, "one per slice: {recorded:?}");
    for generation in &recorded {
        let number = generation
            .rsplit('@')
            .next()
            .and_then(|it| it.parse::<u64>().ok());
        let end = server.call::<u64>(&["PEXPIRETIME", generation]);
        assert_eq!(Some(end), number.map(|it| (it + 1 + STEPS) * 200));
    }
    std::thread::sleep(step);
    assert_eq!(
        count(&observe(&mut store, &keys, 1000), SiteVerdict::Seen),
        200
    );
    let mut after = generations();
    after.retain(|it| !recorded.contains(it));
    assert_eq!(after, Vec::<String>::new(), "a repeat was recorded");
    let inspection = store.inspect().expect("answers");
    let rate = inspection.false_positive_rate().expect("all answer");
    assert!(rate > 0.0 && rate < 1e-6, "{rate}");
    until("the end of the window", || generations().is_empty());
    assert_eq!(
        count(&observe(&mut store, &keys, 1000), SiteVerdict::New),
        200
    );
    store.delete().expect("deleted");
    assert_eq!(
        server.call::<Vec<String>>(&["KEYS", "dds:*"]),
        Vec::<String>::new()
    );
}

/// Producers race for the same keys while steps end, and while the server stands still for longer
/// than a step, so that messages are carried out in a later step than their sender thought.
#[test]
fn exactly_one_producer_is_told_new_when_a_step_ends() {
    let server = Server::start(&[]);
    let step = Duration::from_millis(100);
    let address = format!("redis://127.0.0.1:{}/race", server.port);
    // No key of this test is forgotten before it ends.
    let window = Window::in_steps(step * 64, 64).expect("long enough");
    let options = CreateOptions {
        window: Some(window),
        ..with_window("bloom:k=4", step)
    };
    create(&address, &options).close();
    const BATCH: u64 = 20;
    const ROUNDS: u64 = 150;
    let (barrier, done) = (Barrier::new(4), AtomicBool::new(false));
    let produce = || {
        let mut store = open(&address);
        let (mut all, mut crossed) = (Vec::new(), 0);
        for round in 0..ROUNDS {
            let keys: Vec<Fingerprint> = (round * BATCH..(round + 1) * BATCH).map(key).collect();
            barrier.wait();
            let before = time(&server) / 100;
            all.extend(observe(&mut store, &keys, BATCH as usize));
            crossed += u64::from(time(&server) / 100 != before);
        }
        (all, crossed)
    };
    let outcomes: Vec<(Vec<SiteVerdict>, u64)> = std::thread::scope(|scope| {
        let stops = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(37));
                server.pause();
                std::thread::sleep(Duration::from_millis(130));
                server.resume();
            }
        });
        let producers: Vec<_> = (0..4).map(|_| scope.spawn(produce)).collect();
        let all = producers.into_iter().map(|it| it.join().expect("no panic"));
        let all = all.collect();
        done.store(true, Ordering::Relaxed);
        stops.join().expect("no panic");
        all
    });
    let crossed: u64 = outcomes.iter().map(|(_, crossed)| crossed).sum();
    assert!(crossed > 20, "steps ended during {crossed} batches");
    let told_new = |index: usize| {
        outcomes
            .iter()
            .filter(|(all, _)| all[index].is_new())
            .count()
    };
    let all: Vec<usize> = (0..(ROUNDS * BATCH) as usize).map(told_new).collect();
    assert_eq!(
        all.iter().filter(|&&it| it > 1).count(),
        0,
        "told New twice"
    );
    let never = all.iter().filter(|&&it| it == 0).count();
    assert!(never <= 1, "{never} keys were taken for others");
}

/// A key can be claimed, delivered and then recorded, with a window as without.
#[test]
fn claims_record_in_the_present_step() {
    let server = Server::start(&[]);
    let address = format!("redis://127.0.0.1:{}/claims", server.port);
    let options = with_window("slot:values=65535", Duration::from_millis(200));
    let (mut first, mut second) = (create(&address, &options), open(&address));
    let claimed = first.claim_batch(&[key(1), key(2)]).expect("no refusal");
    assert_eq!(claimed.verdicts, [SiteVerdict::New; 2]);
    let others = second.claim_batch(&[key(1)]).expect("no refusal");
    assert!(others.is_contested);
    second.abort(others).expect("no refusal");
    // In a later step than the claim.
    std::thread::sleep(Duration::from_millis(300));
    first.commit(claimed).expect("no refusal");
    let mut verdicts = Vec::new();
    second
        .contains_batch(&[key(1), key(2), key(3)], &mut verdicts)
        .expect("no refusal");
    assert_eq!(
        verdicts,
        [SiteVerdict::Seen, SiteVerdict::Seen, SiteVerdict::New]
    );
}

#[test]
fn a_node_that_lost_its_memory_is_noticed_without_a_live_generation() {
    let mut cluster = Cluster::start(3, false);
    let address = cluster.address("window");
    // A Bloom filter forgets nothing by itself.
    let options = with_window("bloom:k=4", Duration::from_secs(3600));
    let mut store = create(&address, &options);
    let keys: Vec<Fingerprint> = (0..600).map(key).collect();
    observe(&mut store, &keys, 100);
    cluster.masters[1].kill();
    cluster.masters[1].restart();
    until("a node that is back", || {
        open(&address).failures().is_ok_and(|failures| {
            failures.len() == 2 && failures.iter().all(|(_, it)| *it == SiteFailure::Empty)
        })
    });
    let mut store = open(&address);
    let unknown = count(&observe(&mut store, &keys, 100), SiteVerdict::Unknown);
    assert!(unknown > 100, "{unknown}");
    let mut rebuild = store.begin_rebuild().expect("reachable");
    store.rebuild_batch(&mut rebuild, &keys).expect("reachable");
    store.finish_rebuild(&rebuild).expect("reachable");
    assert_eq!(rebuild.keys, unknown as u64);
    assert_eq!(
        count(&observe(&mut store, &keys, 100), SiteVerdict::Seen),
        keys.len()
    );
}
