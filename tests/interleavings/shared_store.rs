//! Several clients of one shared store.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dedupstore::store::{
    Backing, CreateOptions, Durability, OpenOptions, SharedStore, StoreError, shard_of,
};
use dedupstore::{Fingerprint, Observation, Verdict};
use dedupstore_tests::crash::Failure;
use dedupstore_tests::crash::random_crashes::random_surviving;
use dedupstore_tests::crash::session::SEED;
use dedupstore_tests::crash::simulated_medium::{Disk, SimulatedMedium};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::medium::{Moments, ScheduledMedium};
use crate::recovered_keys::{KeysOfClient, check};

const SHARDS: usize = 2;
/// How many crashes a run records, besides the one at its end.
const CRASHES: usize = 2;

/// A client and its keys, which no other client has.
struct Client {
    keys: Vec<Fingerprint>,
    /// The number of keys whose calls have begun.
    begun: AtomicU64,
    /// The number of keys that a sync has acknowledged.
    acknowledged: AtomicU64,
    seed: u64,
}

/// A state that a crash finds: the disks, and what each client knows.
struct Crash {
    disks: Vec<Disk>,
    known: Vec<RangeInclusive<u64>>,
}

/// Runs the scenario of a seed. Returns how many crashed states were opened.
pub fn run(seed: u64) -> Result<u64, Failure> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let blocks = 1 + rng.next_u64() % 3;
    let options = CreateOptions::new("bloom:k=6")
        .map_err(|error| Failure(error.to_string()))?
        .memory_bits(blocks * 65_000)
        .seed(SEED)
        // The audit's table depends on the order of keys, and the clients' order is not known.
        .audit(0)
        .log_size(4096);
    let latest = [20, 60, 200, 600][(rng.next_u64() % 4) as usize];
    let crash_moments = (0..CRASHES).map(|_| rng.next_u64() % latest).collect();
    let moments = Moments::new(crash_moments);
    let disks: Vec<SimulatedMedium> = (0..SHARDS)
        .map(|shard| SimulatedMedium::with_store_of(&options, shard as u8))
        .collect();
    let clients: Vec<Client> = (0..2 + rng.next_u64() % 2)
        .map(|_| Client {
            keys: (0..40).map(|_| Fingerprint(rng.next_u64())).collect(),
            begun: AtomicU64::new(0),
            acknowledged: AtomicU64::new(0),
            seed: rng.next_u64(),
        })
        .collect();
    let clients = Arc::new(clients);
    let crashes: Arc<Mutex<Vec<Crash>>> = Arc::default();
    let crash = {
        let (disks, clients, crashes) = (disks.clone(), clients.clone(), crashes.clone());
        Arc::new(move || {
            let known = clients.iter().map(Client::known).collect();
            let disks = disks.iter().map(|disk| disk.disk().clone()).collect();
            let mut crashes = crashes.lock().unwrap_or_else(PoisonError::into_inner);
            crashes.push(Crash { disks, known });
        })
    };
    moments.on_crash(crash.clone());
    let ended = session(&disks, &moments, &clients);
    moments.end();
    ended.map_err(|error| Failure(error.to_string()))?;
    crash();
    let crashes = std::mem::take(&mut *crashes.lock().unwrap_or_else(PoisonError::into_inner));
    for crash in &crashes {
        crash.check(&options, &clients, &mut rng)?;
    }
    Ok(crashes.len() as u64)
}

fn session(
    disks: &[SimulatedMedium],
    moments: &Arc<Moments>,
    clients: &Arc<Vec<Client>>,
) -> Result<(), StoreError> {
    let opening = OpenOptions::new()
        .durability(Durability::Interval(Duration::from_secs(1)))
        .backing(Backing::Anonymous);
    let stores = disks
        .iter()
        .map(|disk| opening.open_on(ScheduledMedium::new(disk.clone(), moments)));
    let stores = stores.collect::<Result<Vec<_>, _>>()?;
    let ended = |cause: &str| StoreError::Poisoned {
        cause: cause.to_owned(),
    };
    let store = SharedStore::of_shards(stores, 1).map_err(|_| ended("shards differ"))?;
    let store = Arc::new(store);
    let threads: Vec<_> = (0..clients.len())
        .map(|index| {
            let (store, clients) = (Arc::clone(&store), Arc::clone(clients));
            shuttle::thread::spawn(move || clients[index].observe_all(&store))
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| ended("a client panicked"))??;
    }
    match Arc::into_inner(store) {
        Some(store) => store.close()?,
        None => return Err(ended("a client still holds the store")),
    }
    for client in clients.iter() {
        client.acknowledge(client.keys.len());
    }
    Ok(())
}

impl Client {
    /// Observes all keys, one by one and in batches, with a sync or a checkpoint in between.
    fn observe_all(&self, store: &SharedStore<ScheduledMedium>) -> Result<(), StoreError> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut at = 0;
        while at < self.keys.len() {
            let count = [1, 1, 8, 24][(rng.next_u64() % 4) as usize].min(self.keys.len() - at);
            let keys = &self.keys[at..at + count];
            at += count;
            self.begun.store(at as u64, Ordering::Relaxed);
            let mut verdicts = vec![Verdict::Seen; count];
            match count {
                1 => verdicts[0] = store.observe_fingerprint(keys[0])?,
                _ => {
                    let batch: Vec<Observation> = keys.iter().map(|&key| key.into()).collect();
                    store.observe_batch(&batch, &mut verdicts)?;
                }
            }
            if verdicts.contains(&Verdict::Seen) {
                let cause = "a key of one client was seen before".to_owned();
                return Err(StoreError::Poisoned { cause });
            }
            match rng.next_u64() % 8 {
                0 | 1 => {
                    store.sync()?;
                    self.acknowledge(at);
                }
                2 => {
                    store.checkpoint()?;
                    self.acknowledge(at);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn acknowledge(&self, keys: usize) {
        self.acknowledged.store(keys as u64, Ordering::Relaxed);
    }

    /// Returns how many keys must be recovered at least and at most.
    fn known(&self) -> RangeInclusive<u64> {
        self.acknowledged.load(Ordering::Relaxed)..=self.begun.load(Ordering::Relaxed)
    }
}

impl Crash {
    /// Checks that each shard recovers a prefix of each client's keys, with all that were
    /// acknowledged, and exactly the state that these keys give.
    fn check<'a>(
        &self,
        options: &CreateOptions,
        clients: &'a [Client],
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<(), Failure> {
        for (shard, disk) in self.disks.iter().enumerate() {
            let surviving = random_surviving(disk, rng);
            let of_client = |(client, known): (&'a Client, &RangeInclusive<u64>)| {
                let keys = (0..).zip(&client.keys);
                let keys = keys.filter(|(_, key)| shard_of(**key, SHARDS) == shard);
                let (keys, known) = (keys.collect(), known.clone());
                KeysOfClient { keys, known }
            };
            let clients: Vec<_> = clients.iter().zip(&self.known).map(of_client).collect();
            check(disk.after_crash(surviving), options, &clients)
                .map_err(|failure| failure.at(format!("shard {shard}, {surviving:?}")))?;
        }
        Ok(())
    }
}
