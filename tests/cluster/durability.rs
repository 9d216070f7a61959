//! A master dies with keys that its replica does not have.

use std::time::{Duration, Instant};

use dedupstore::Fingerprint;
use dedupstore::sites::{FailureRule, SiteVerdict};
use dedupstore_cluster::{Acknowledgement, ClusterStore, Degrade};

use crate::servers::{Cluster, Server, until};
use crate::stores::{create, impatient, key, open, options};

const BATCH: u64 = 200;

const WAIT: Acknowledgement = Acknowledgement {
    replicas: 1,
    on_disk: false,
    timeout: Duration::from_millis(200),
};

/// What a producer was told.
#[derive(Default)]
struct Told {
    new: Vec<Fingerprint>,
    unknown: Vec<Fingerprint>,
}

impl Told {
    /// Observes new keys.
    fn produce(&mut self, store: &mut ClusterStore, next: &mut u64) {
        let keys: Vec<Fingerprint> = (*next..*next + BATCH).map(key).collect();
        *next += BATCH;
        let mut verdicts = Vec::new();
        store
            .observe_batch(&keys, &mut verdicts)
            .expect("no refusal");
        for (key, verdict) in keys.into_iter().zip(verdicts) {
            match verdict {
                SiteVerdict::New => self.new.push(key),
                SiteVerdict::Unknown => self.unknown.push(key),
                SiteVerdict::Seen => {}
            }
        }
    }
}

/// Kills a master under load after its replica was cut off, and lets the replica take over. Returns
/// how many keys were told New and are not known afterwards, and how often a New was not confirmed.
fn lose_a_master(
    cluster: &Cluster,
    master: usize,
    name: &str,
    wait: Option<Acknowledgement>,
) -> (usize, u64) {
    // By way of a master that stays.
    let path = format!("redis://127.0.0.1:{}/{name}", cluster.masters[2].port);
    // A Bloom filter forgets nothing by itself.
    let options = options("bloom:k=4", "horizontal:12", 1 << 26, FailureRule::Unknown);
    create(&path, &options).close();
    let mut store = impatient(open(&path));
    store.set_acknowledgement(wait, Degrade::Unknown);
    let (mut told, mut next) = (Told::default(), 0);
    for _ in 0..10 {
        told.produce(&mut store, &mut next);
    }
    let (dying, replica): (&Server, &Server) =
        (&cluster.masters[master], &cluster.replicas[master]);
    until("a replica that has everything", || {
        let offset = |server: &Server, field: &str| -> Option<u64> {
            let text: String = server.call(&["INFO", "replication"]);
            let line = text.lines().find_map(|line| line.strip_prefix(field))?;
            line.trim().parse().ok()
        };
        offset(dying, "master_repl_offset:") == offset(replica, "slave_repl_offset:")
    });
    replica.pause();
    // What is sent to a process that stands still waits in the buffers of the system, and arrives
    // later. So the connection ends, too.
    dying.call::<u64>(&["CLIENT", "KILL", "TYPE", "replica"]);
    let before = told.new.len() + told.unknown.len();
    told.produce(&mut store, &mut next);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(700));
            dying.kill();
        });
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(1000) {
            told.produce(&mut store, &mut next);
        }
    });
    assert!(told.new.len() + told.unknown.len() > before);
    replica.resume();
    until("a takeover", || {
        replica
            .try_call::<()>(&["CLUSTER", "FAILOVER", "TAKEOVER"])
            .is_ok()
    });
    let mut store = impatient(open(&path));
    until("all slices", || {
        store.failures().is_ok_and(|failures| failures.is_empty())
    });
    let mut verdicts = Vec::new();
    let mut lost = 0;
    for keys in told.new.chunks(1000) {
        store
            .contains_batch(keys, &mut verdicts)
            .expect("no refusal");
        lost += verdicts.iter().filter(|verdict| verdict.is_new()).count();
    }
    // What was Unknown is New when it is tried again: nothing ends without a New.
    for keys in told.unknown.chunks(1000) {
        store.retry_batch(keys, &mut verdicts).expect("no refusal");
        assert!(verdicts.iter().all(|verdict| verdict.is_new()));
    }
    (lost, told.unknown.len() as u64)
}

#[test]
fn nothing_acknowledged_by_a_replica_is_lost_with_its_master() {
    let cluster = Cluster::start(3, true);
    let (lost, unconfirmed) = lose_a_master(&cluster, 0, "with-wait", Some(WAIT));
    assert_eq!(lost, 0, "acknowledged and lost");
    assert!(unconfirmed > 0, "the replica was cut off");
    let (lost, _) = lose_a_master(&cluster, 1, "without-wait", None);
    assert!(
        lost > 50,
        "without WAIT, what the replica lacks is lost: {lost} keys"
    );
}

#[test]
fn a_missing_replica_is_counted_or_makes_keys_unknown() {
    let server = Server::start(&[]);
    let path = format!("redis://127.0.0.1:{}/x", server.port);
    let options = options(
        "slot:values=65535",
        "horizontal:4",
        1 << 20,
        FailureRule::Unknown,
    );
    let mut store = create(&path, &options);
    let short = Acknowledgement {
        timeout: Duration::from_millis(10),
        ..WAIT
    };
    let mut verdicts = Vec::new();
    store.set_acknowledgement(Some(short), Degrade::Count);
    store
        .observe_batch(&[key(1)], &mut verdicts)
        .expect("no refusal");
    assert_eq!(verdicts, [SiteVerdict::New]);
    store.set_acknowledgement(Some(short), Degrade::Unknown);
    store
        .observe_batch(&[key(2), key(1)], &mut verdicts)
        .expect("no refusal");
    assert_eq!(verdicts, [SiteVerdict::Unknown, SiteVerdict::Seen]);
    assert_eq!(store.counters().unacknowledged, 2);
    store
        .retry_batch(&[key(2)], &mut verdicts)
        .expect("no refusal");
    assert_eq!(verdicts, [SiteVerdict::New]);
    // The disk: if the server can, it confirms or not; if it cannot, it is named.
    let disk = Acknowledgement {
        replicas: 0,
        on_disk: true,
        ..short
    };
    store.set_acknowledgement(Some(disk), Degrade::Count);
    let outcome = store.observe_batch(&[key(3)], &mut verdicts);
    let error = outcome.expect_err("no appendonly file").to_string();
    assert!(
        error.contains("WAITAOF") && error.contains("appendonly"),
        "{error}"
    );
}
