//! Clients of a server with two stores: requests, batches, replies, checkpoints and syncs.
//!
//! The event loop and the threads of the stores are the real ones; sockets and disks are simulated.
//! A reply means that the keys are in the log, each request has one reply, in order, and a server
//! that is stopped answers what it has begun and closes its stores.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dedupstore::Fingerprint;
use dedupstore::store::{CreateOptions, Durability};
use dedupstore_server::explored::{provide, reset};
use dedupstore_server::{Limits, Server, Settings, StoreSettings};
use dedupstore_tests::crash::Failure;
use dedupstore_tests::crash::random_crashes::random_surviving;
use dedupstore_tests::crash::session::SEED;
use dedupstore_tests::crash::simulated_medium::{Disk, SimulatedMedium};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::medium::{Calls, FailingCall, Moments, ScheduledMedium};
use crate::recovered_keys::{KeysOfClient, check};
use crate::server_client::{Client, STORES, Sent, World};

/// How many crashes a run records at most, besides the one at its end.
const MOST_CRASHES: usize = 4;
const SOCKET: &str = "socket";

/// A state that a crash finds: the disks, and per connection and store what is known.
struct Crash {
    disks: Vec<Disk>,
    known: Vec<[Known; STORES.len()]>,
}

/// How many keys of a connection must survive the end of the machine, that of the process, and how
/// many can be there.
#[derive(Clone, Copy)]
struct Known {
    acknowledged: u64,
    logged: u64,
    begun: u64,
}

/// Who stops the server.
#[derive(Clone, Copy, PartialEq)]
enum Stopping {
    /// A signal, at any time.
    Signal(u64),
    /// The last request of a client.
    Request,
    /// A signal, after all clients.
    AtTheEnd,
}

/// Runs the scenario of a seed. Returns how many crashed states were opened.
pub fn run(seed: u64) -> Result<u64, Failure> {
    reset();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let options = CreateOptions::new("bloom:k=6")
        .map_err(|error| Failure(error.to_string()))?
        .memory_bits((1 + rng.next_u64() % 3) * 65_000)
        .seed(SEED)
        // The audit's table depends on the order of keys, and the clients' order is not known.
        .audit(0)
        .log_size(4096);
    let window_bytes = [0, 320, 2048][(rng.next_u64() % 3) as usize];
    let disks: Vec<SimulatedMedium> = (0..STORES.len())
        .map(|store| SimulatedMedium::with_store_of(&options, store as u8))
        .map(|disk| SimulatedMedium::holding(disk.disk().clone().with_windows(window_bytes)))
        .collect();
    let latest = [60, 200, 600][(rng.next_u64() % 3) as usize];
    let moments = Moments::new((0..2).map(|_| rng.next_u64() % latest).collect());
    provide_disks(&disks, &moments, &mut rng);
    let stopping = match rng.next_u64() % 3 {
        0 => Stopping::Signal(rng.next_u64() % 300),
        1 => Stopping::Request,
        _ => Stopping::AtTheEnd,
    };
    let clients: Vec<Client> = (0..2 + (rng.next_u64() % 2) as usize)
        .map(|number| Client {
            number,
            connections: (0..1 + rng.next_u64() % 2)
                .map(|_| Default::default())
                .collect(),
            seed: rng.next_u64(),
            shuts_down: stopping == Stopping::Request && number == 0,
        })
        .collect();
    let clients = Arc::new(clients);
    let crashes: Arc<Mutex<Vec<Crash>>> = Arc::default();
    let record = {
        let (disks, clients, crashes) = (disks.clone(), clients.clone(), crashes.clone());
        Arc::new(move || {
            let mut crashes = crashes.lock().unwrap_or_else(PoisonError::into_inner);
            let known = connections(&clients).map(|sent| sent.each_ref().map(Known::of));
            crashes.push(Crash {
                disks: disks.iter().map(|disk| disk.disk().clone()).collect(),
                known: known.collect(),
            });
        })
    };
    let (recorded, limited) = (Arc::clone(&crashes), Arc::clone(&record));
    let crash = move || {
        let count = recorded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len();
        if count < MOST_CRASHES {
            limited();
        }
    };
    moments.on_crash(Arc::new(crash.clone()));
    let durability = match rng.next_u64() % 4 {
        0 => Durability::None,
        1 => Durability::Every,
        _ => Durability::Interval(Duration::from_secs(1)),
    };
    let world = Arc::new(World {
        path: Path::new(SOCKET),
        stopping: AtomicBool::new(false),
        holds: AtomicBool::new(false),
        syncs_all: durability == Durability::Every,
        has_failed: Box::new(move || disks.iter().any(|disk| disk.disk().has_failed())),
        crash: Box::new(crash),
    });
    let settings = settings(durability, 1 + (rng.next_u64() % 6) as usize);
    let ended = session(settings, &clients, &world, stopping);
    moments.end();
    ended?;
    if !(world.has_failed)() {
        // The stores are closed.
        let all = connections(&clients).flatten();
        all.for_each(|sent| sent.acknowledge(sent.logged.load(Ordering::Relaxed)));
    }
    record();
    let crashes = std::mem::take(&mut *crashes.lock().unwrap_or_else(PoisonError::into_inner));
    for (number, crash) in crashes.iter().enumerate() {
        let here = |failure: Failure| failure.at(format!("crash {number}"));
        crash.check(&options, &clients, &mut rng).map_err(here)?;
    }
    Ok((2 * STORES.len() * crashes.len()) as u64)
}

/// Gives the server its disks, of which a call may fail.
fn provide_disks(disks: &[SimulatedMedium], moments: &Arc<Moments>, rng: &mut Xoshiro256PlusPlus) {
    let failing = rng.next_u64() % 12;
    for (store, disk) in disks.iter().enumerate() {
        let mut medium = ScheduledMedium::new(disk.clone(), moments);
        if failing == store as u64 {
            medium = medium.failing(FailingCall {
                calls: [Calls::WriteOfLog, Calls::SyncOfLog][(rng.next_u64() % 2) as usize],
                // Opening makes three of them.
                left: AtomicI64::new(4 + (rng.next_u64() % 8) as i64),
            });
        }
        provide(Path::new(STORES[store]), medium);
    }
}

fn settings(durability: Durability, pipeline: usize) -> Settings {
    let named = |name: &str| (name.as_bytes().to_vec(), Path::new(name).to_owned());
    Settings {
        listen: Vec::new(),
        unix: Some(Path::new(SOCKET).to_owned()),
        directory: None,
        stores: STORES.map(named).to_vec(),
        create: false,
        allow_delete: false,
        password: None,
        tls: None,
        limits: Limits {
            pipeline,
            idle: None,
            ..Limits::default()
        },
        store: StoreSettings {
            durability,
            claim_timeout: Duration::from_secs(60),
            max_claims: 1000,
        },
        new_store: Arc::new(|_| Err("there are no new stores".to_owned())),
        log: Arc::new(|_, _| {}),
    }
}

/// Runs the server and its clients until all have ended.
fn session(
    settings: Settings,
    clients: &Arc<Vec<Client>>,
    world: &Arc<World>,
    stopping: Stopping,
) -> Result<(), Failure> {
    let server = match Server::start(settings) {
        Ok(server) => server,
        Err(_) if (world.has_failed)() => return Ok(()),
        Err(error) => return Err(Failure(format!("the server does not start: {error}"))),
    };
    let handle = server.handle();
    let server = shuttle::thread::spawn(move || server.run());
    let stop = {
        let world = Arc::clone(world);
        move || {
            world.stopping.store(true, Ordering::Relaxed);
            handle.stop();
        }
    };
    let threads: Vec<_> = (0..clients.len())
        .map(|number| {
            let (clients, world) = (Arc::clone(clients), Arc::clone(world));
            shuttle::thread::spawn(move || clients[number].run(&world))
        })
        .collect();
    if let Stopping::Signal(after) = stopping {
        (0..after).for_each(|_| shuttle::thread::yield_now());
        stop();
    }
    let panicked = |_| Failure("a thread panicked".to_owned());
    let mut ended = Ok(());
    for thread in threads {
        ended = ended.and(thread.join().map_err(panicked)?);
    }
    // Again, if the client that should have stopped the server could not use its connection.
    stop();
    let summary = server.join().map_err(panicked)?;
    ended?;
    let summary = summary.map_err(|error| Failure(format!("the server ended: {error}")))?;
    let is_closed = summary.stores == STORES.len() && summary.failures.is_empty();
    match is_closed || (world.has_failed)() {
        true => Ok(()),
        false => Err(Failure(format!("not all stores were closed: {summary:?}"))),
    }
}

/// Returns what was sent over each connection.
fn connections(clients: &[Client]) -> impl Iterator<Item = &[Sent; STORES.len()]> {
    clients.iter().flat_map(|client| &client.connections)
}

impl Sent {
    fn acknowledge(&self, keys: u64) {
        self.acknowledged.fetch_max(keys, Ordering::Relaxed);
    }
}

impl Known {
    fn of(sent: &Sent) -> Self {
        Known {
            acknowledged: sent.acknowledged.load(Ordering::Relaxed),
            logged: sent.logged.load(Ordering::Relaxed),
            begun: sent.begun.load(Ordering::Relaxed),
        }
    }
}

impl Crash {
    /// Checks what each store recovers after a crash of the machine, and after the end of the
    /// process.
    fn check(
        &self,
        options: &CreateOptions,
        clients: &[Client],
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<(), Failure> {
        for (store, disk) in self.disks.iter().enumerate() {
            let sent: Vec<Vec<Fingerprint>> = connections(clients)
                .map(|sent| {
                    let keys = sent[store].keys.lock();
                    keys.unwrap_or_else(PoisonError::into_inner).clone()
                })
                .collect();
            let recovers = |disk: Disk, least: fn(&Known) -> u64| {
                let mut clients = Vec::new();
                for (keys, known) in sent.iter().zip(&self.known) {
                    clients.push(KeysOfClient {
                        keys: (0..).zip(keys).collect(),
                        known: least(&known[store])..=known[store].begun,
                    });
                }
                check(disk, options, &clients)
            };
            let surviving = random_surviving(disk, rng);
            let here = |failure: Failure| failure.at(format!("store {store}, {surviving:?}"));
            recovers(disk.after_crash(surviving), |known| known.acknowledged).map_err(here)?;
            recovers(disk.after_kill(), |known| known.logged)
                .map_err(|failure| failure.at("the process was killed"))?;
        }
        Ok(())
    }
}
