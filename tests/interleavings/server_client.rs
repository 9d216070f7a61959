//! A client of a server: sends requests, reads the replies, and knows what they promise.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use dedupstore::{Fingerprint, KeyHasher};
use dedupstore_server::explored::{ClientSocket, connect};
use dedupstore_server::resp::{Value, ValueParser};
use dedupstore_tests::crash::Failure;
use dedupstore_tests::crash::session::SEED;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The names of the stores.
pub const STORES: [&str; 2] = ["a", "b"];
/// A key that all clients claim and nobody records.
const CONTESTED: u64 = 0x5ead_0a11_5ead_0a11;

/// What a client has sent to one store over one connection, and what it was told.
#[derive(Default)]
pub struct Sent {
    pub keys: Mutex<Vec<Fingerprint>>,
    /// The number of keys that were sent.
    pub begun: AtomicU64,
    /// The number of keys that the end of the process must not undo.
    pub logged: AtomicU64,
    /// The number of keys that a crash of the machine must not undo.
    pub acknowledged: AtomicU64,
}

/// A client, which connects once per element.
pub struct Client {
    pub number: usize,
    pub connections: Vec<[Sent; STORES.len()]>,
    pub seed: u64,
    /// Whether its last request ends the server.
    pub shuts_down: bool,
}

/// What all clients share.
pub struct World {
    pub path: &'static Path,
    /// The server may close connections.
    pub stopping: AtomicBool,
    /// A client has a ticket for the contested key.
    pub holds: AtomicBool,
    /// Whether keys are synced before they are answered.
    pub syncs_all: bool,
    pub has_failed: Box<dyn Fn() -> bool + Send + Sync>,
    /// Records a crash.
    pub crash: Box<dyn Fn() + Send + Sync>,
}

/// What a reply must be.
enum Expected {
    /// All keys are new, and this many are in the log after that.
    Added {
        store: usize,
        count: usize,
        logged: u64,
    },
    /// One key is there, and the other is not.
    Found,
    /// So many keys of each store are synced.
    Synced([u64; STORES.len()]),
    /// A ticket for the contested key, or none.
    Ticket,
    /// This simple string.
    Text(&'static str),
}

/// How the use of a connection ended.
enum Ended {
    /// As the client wished.
    Done,
    /// The server closed it, or the disk has failed.
    Early,
}

impl Client {
    /// Uses all connections, one after the other.
    pub fn run(&self, world: &World) -> Result<(), Failure> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        for (number, sent) in self.connections.iter().enumerate() {
            let buffer_bytes = [24, 100, 1000][(rng.next_u64() % 3) as usize];
            let Some(socket) = connect(world.path, buffer_bytes) else {
                return world.may_end("a connection was refused");
            };
            let is_last = number + 1 == self.connections.len();
            let mut connection = Connection {
                socket,
                name: format!("{}-{number}", self.number),
                sent,
                world,
                expected: VecDeque::new(),
                replies: ValueParser::default(),
                holds: false,
                rng: &mut rng,
            };
            let used = connection.session(self.shuts_down && is_last);
            // Closing the connection gives the claim back.
            connection.release();
            if let Ended::Early = used? {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl World {
    /// A connection may end only if the server stops or the disk has failed.
    fn may_end(&self, what: &str) -> Result<(), Failure> {
        match self.stopping.load(Ordering::Relaxed) || (self.has_failed)() {
            true => Ok(()),
            false => Err(Failure(what.to_owned())),
        }
    }
}

struct Connection<'a> {
    socket: ClientSocket,
    name: String,
    sent: &'a [Sent; STORES.len()],
    world: &'a World,
    expected: VecDeque<Expected>,
    replies: ValueParser,
    /// Whether it has a ticket for the contested key.
    holds: bool,
    rng: &'a mut Xoshiro256PlusPlus,
}

impl Connection<'_> {
    fn pick(&mut self, below: u64) -> u64 {
        self.rng.next_u64() % below
    }

    fn send(&mut self, requests: &[u8]) -> bool {
        let mut received = Vec::new();
        let sent = self.socket.send(requests, &mut received);
        self.replies.push(&received);
        sent
    }

    fn session(&mut self, shuts_down: bool) -> Result<Ended, Failure> {
        for _ in 0..1 + self.pick(4) {
            let mut requests = Vec::new();
            for _ in 0..1 + self.pick(4) {
                self.add_request(&mut requests);
            }
            if !self.send(&requests) {
                return self.ended_early();
            }
            if !shuts_down && self.pick(6) == 0 {
                // Goes without the replies.
                return Ok(Ended::Done);
            }
            if let Ended::Early = self.read_replies()? {
                return Ok(Ended::Early);
            }
        }
        if shuts_down {
            return self.shut_down();
        }
        if self.pick(2) == 0 {
            // The server closes the connection.
            self.release();
            self.expected.push_back(Expected::Text("OK"));
            if !self.send(&request(&[b"QUIT"])) {
                return self.ended_early();
            }
            if let Ended::Early = self.read_replies()? {
                return Ok(Ended::Early);
            }
            return self.expect_end();
        }
        Ok(Ended::Done)
    }

    /// Adds keys and ends the server, which must answer what came before.
    fn shut_down(&mut self) -> Result<Ended, Failure> {
        let mut requests = Vec::new();
        (0..STORES.len()).for_each(|store| self.add_keys(&mut requests, store, 3));
        requests.extend(request(&[b"SHUTDOWN"]));
        self.world.stopping.store(true, Ordering::Relaxed);
        if !self.send(&requests) {
            return Err(Failure("the server closed before SHUTDOWN".to_owned()));
        }
        if let Ended::Early = self.read_replies()? {
            return match (self.world.has_failed)() {
                true => Ok(Ended::Early),
                false => Err(Failure("requests before SHUTDOWN got no reply".to_owned())),
            };
        }
        self.expect_end()
    }

    fn ended_early(&self) -> Result<Ended, Failure> {
        self.world.may_end("the server closed a connection")?;
        Ok(Ended::Early)
    }

    /// Nothing may follow the replies.
    fn expect_end(&self) -> Result<Ended, Failure> {
        let is_over = self.expected.is_empty() && self.socket.receive().is_empty();
        match is_over {
            true => Ok(Ended::Done),
            false => Err(Failure("a reply came that nobody waits for".to_owned())),
        }
    }

    fn add_request(&mut self, requests: &mut Vec<u8>) {
        let store = self.pick(STORES.len() as u64) as usize;
        let name = STORES[store].as_bytes();
        match self.pick(12) {
            0..6 => {
                let count = [1, 1, 3, 20][self.pick(4) as usize];
                self.add_keys(requests, store, count);
            }
            6 | 7 if self.sent[store].begun.load(Ordering::Relaxed) > 0 => {
                let there = key_name(&self.name, store, 0);
                let parts: [&[u8]; 4] = [b"BF.MEXISTS", name, there.as_bytes(), b"nobody adds it"];
                requests.extend(request(&parts));
                self.expected.push_back(Expected::Found);
            }
            8 | 9 => {
                requests.extend(request(&[b"WAITAOF", b"1", b"0", b"0"]));
                let begun = |store: usize| self.sent[store].begun.load(Ordering::Relaxed);
                let begun = std::array::from_fn(begun);
                self.expected.push_back(Expected::Synced(begun));
            }
            10 => {
                requests.extend(request(&[b"DEDUP.CHECKPOINT", name]));
                self.expected.push_back(Expected::Text("OK"));
            }
            11 if !self.holds => {
                let mut key = CONTESTED.to_le_bytes().to_vec();
                key.extend([0; 8]);
                requests.extend(request(&[b"DEDUP.HCLAIM", STORES[0].as_bytes(), &key]));
                self.expected.push_back(Expected::Ticket);
            }
            _ => {
                requests.extend(request(&[b"PING"]));
                self.expected.push_back(Expected::Text("PONG"));
            }
        }
    }

    /// Adds keys that nobody else has.
    fn add_keys(&mut self, requests: &mut Vec<u8>, store: usize, count: usize) {
        let sent = &self.sent[store];
        let mut keys = sent.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let from = keys.len();
        let names: Vec<String> = (from..from + count)
            .map(|number| key_name(&self.name, store, number))
            .collect();
        let hasher = KeyHasher::new(SEED);
        keys.extend(names.iter().map(|name| hasher.fingerprint(name.as_bytes())));
        let command: &[u8] = if count == 1 { b"BF.ADD" } else { b"BF.MADD" };
        let mut parts = vec![command, STORES[store].as_bytes()];
        parts.extend(names.iter().map(|name| name.as_bytes()));
        requests.extend(request(&parts));
        let logged = keys.len() as u64;
        sent.begun.store(logged, Ordering::Relaxed);
        self.expected.push_back(Expected::Added {
            store,
            count,
            logged,
        });
    }

    /// Reads a reply per request, in their order, and no more.
    fn read_replies(&mut self) -> Result<Ended, Failure> {
        loop {
            let parsed = self.replies.next_value();
            let value = parsed.map_err(|error| Failure(format!("a malformed reply: {error}")))?;
            match (value, self.expected.is_empty()) {
                (Some(value), true) => {
                    let message = format!("a reply came that nobody waits for: {value:?}");
                    return Err(Failure(message));
                }
                (None, true) => return Ok(Ended::Done),
                (Some(Value::Error(text)), false) => {
                    return match (self.world.has_failed)() {
                        true => Ok(Ended::Early),
                        false => Err(Failure(format!("an error without a cause: {text}"))),
                    };
                }
                (Some(value), false) => self.check(value)?,
                (None, false) => {
                    let bytes = self.socket.receive();
                    if bytes.is_empty() {
                        return self.ended_early();
                    }
                    self.replies.push(&bytes);
                }
            }
        }
    }

    /// Compares a reply with what it must be, and notes what it promises.
    fn check(&mut self, value: Value) -> Result<(), Failure> {
        let world = self.world;
        let is_right = match (self.expected.pop_front(), &value) {
            (Some(Expected::Text(text)), Value::Simple(value)) => value == text,
            (Some(Expected::Found), Value::Array(found)) => {
                *found == [Value::Integer(1), Value::Integer(0)]
            }
            (
                Some(Expected::Added {
                    store,
                    count,
                    logged,
                }),
                value,
            ) => {
                let sent = &self.sent[store];
                sent.logged.fetch_max(logged, Ordering::Relaxed);
                if world.syncs_all {
                    sent.acknowledged.fetch_max(logged, Ordering::Relaxed);
                }
                match value {
                    Value::Array(new) => *new == vec![Value::Integer(1); count],
                    value => count == 1 && *value == Value::Integer(1),
                }
            }
            (Some(Expected::Synced(counts)), Value::Array(synced)) => {
                for (sent, count) in self.sent.iter().zip(counts) {
                    sent.acknowledged.fetch_max(count, Ordering::Relaxed);
                }
                *synced == [Value::Integer(1), Value::Integer(0)]
            }
            (Some(Expected::Ticket), Value::Bulk(bytes)) => {
                let ticket = <[u8; 8]>::try_from(&bytes[..]).map(i64::from_le_bytes);
                if ticket.is_ok_and(|ticket| ticket > 0) {
                    self.holds = true;
                    let is_held = world.holds.swap(true, Ordering::Relaxed);
                    // A server that stops closes connections before their clients learn of it.
                    if is_held && !world.stopping.load(Ordering::Relaxed) {
                        return Err(Failure("two clients have claimed one key".to_owned()));
                    }
                }
                ticket.is_ok_and(|ticket| ticket > 0 || ticket == -1)
            }
            _ => false,
        };
        if !is_right {
            return Err(Failure(format!("a wrong reply: {value:?}")));
        }
        // The worst moment: nothing else has reached the disk since.
        if self.pick(6) == 0 {
            (world.crash)();
        }
        Ok(())
    }

    fn release(&mut self) {
        if std::mem::take(&mut self.holds) {
            self.world.holds.store(false, Ordering::Relaxed);
        }
    }
}

fn key_name(client: &str, store: usize, number: usize) -> String {
    format!("{client}-{store}-{number}")
}

fn request(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", parts.len()).into_bytes();
    for part in parts {
        bytes.extend(format!("${}\r\n", part.len()).as_bytes());
        bytes.extend(*part);
        bytes.extend(b"\r\n");
    }
    bytes
}
