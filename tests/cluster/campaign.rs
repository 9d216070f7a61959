//! Kills masters and clients at random moments under load, and counts acknowledged keys that are
//! lost. Everything random follows from a seed; when a kill arrives does not.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use dedupstore::sites::{FailureRule, SiteVerdict};
use dedupstore::{Fingerprint, KeyHasher};
use dedupstore_cluster::{Acknowledgement, ClusterStore, Degrade};

use crate::servers::{Cluster, Server, until};
use crate::stores::{create, impatient, key, open, options};

const CLIENTS: usize = 3;
const EVENTS: u64 = 6;
const BATCH: u64 = 50;
/// Every client observes keys of its own, and these, which all of them observe.
const SHARED: u64 = 1 << 60;

/// What happened in a case.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    pub killed_masters: u64,
    pub killed_clients: u64,
    /// Keys that were told New and acknowledged by a replica.
    pub acknowledged: u64,
    /// Answers without a verdict.
    pub unknown: u64,
    /// Acknowledged keys that are not known afterwards.
    pub lost: u64,
    /// Keys that were told New and acknowledged twice.
    pub twice: u64,
}

impl Outcome {
    /// Adds another case.
    pub fn add(&mut self, other: &Outcome) {
        self.killed_masters += other.killed_masters;
        self.killed_clients += other.killed_clients;
        self.acknowledged += other.acknowledged;
        self.unknown += other.unknown;
        self.lost += other.lost;
        self.twice += other.twice;
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} masters and {} clients killed; {} keys acknowledged, {} answers unknown; {} \
             acknowledged keys lost, {} told New twice",
            self.killed_masters,
            self.killed_clients,
            self.acknowledged,
            self.unknown,
            self.lost,
            self.twice
        )
    }
}

/// A client in a process of its own, which observes keys until its standard input ends.
pub fn client(address: &str, number: u64) {
    let done = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&done);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ended.store(true, Ordering::Relaxed);
    });
    let mut store = impatient(open(address));
    store.set_answer_timeout(Duration::from_millis(500));
    store.set_acknowledgement(
        Some(Acknowledgement {
            replicas: 1,
            on_disk: false,
            timeout: Duration::from_millis(100),
        }),
        Degrade::Unknown,
    );
    let mut output = std::io::stdout().lock();
    let mut round = 0;
    while !done.load(Ordering::Relaxed) {
        let own = (number << 40) + round * BATCH;
        let numbers: Vec<u64> = (own..own + BATCH)
            .chain((0..BATCH).map(|it| SHARED + round * BATCH + it))
            .collect();
        let line = observed(&mut store, &numbers);
        if writeln!(output, "{line}")
            .and_then(|()| output.flush())
            .is_err()
        {
            return;
        }
        round += 1;
    }
}

/// Observes keys. Returns the numbers of those that were New, after the number of Unknown ones.
fn observed(store: &mut ClusterStore, numbers: &[u64]) -> String {
    let keys: Vec<Fingerprint> = numbers.iter().copied().map(key).collect();
    let mut verdicts = Vec::new();
    store
        .observe_batch(&keys, &mut verdicts)
        .expect("no refusal");
    let unknown = verdicts.iter().filter(|it| **it == SiteVerdict::Unknown);
    let mut line = format!("told {}", unknown.count());
    for (number, verdict) in numbers.iter().zip(&verdicts) {
        if verdict.is_new() {
            line.push_str(&format!(" {number}"));
        }
    }
    line
}

/// A client that runs.
struct Client {
    process: Child,
    input: Option<ChildStdin>,
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Client {
    fn start(mut command: Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a client");
        let mut output = BufReader::new(process.stdout.take().expect("piped"));
        let lines = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&lines);
        let reader = std::thread::spawn(move || {
            let mut line = String::new();
            // A line without its end was torn by a kill.
            while output.read_line(&mut line).is_ok_and(|length| length > 0) && line.ends_with('\n')
            {
                read.lock()
                    .expect("no panic")
                    .push(std::mem::take(&mut line));
            }
        });
        Client {
            input: process.stdin.take(),
            process,
            lines,
            reader: Some(reader),
        }
    }

    /// Ends the client, by a kill or when it has finished its batch. Returns what it has printed.
    fn end(mut self, kill: bool) -> Vec<String> {
        match kill {
            true => self.process.kill().expect("it runs"),
            false => drop(self.input.take()),
        }
        let status = self.process.wait().expect("a process");
        assert!(kill || status.success(), "a client failed: {status}");
        if let Some(reader) = self.reader.take() {
            reader.join().expect("no panic");
        }
        std::mem::take(&mut self.lines.lock().expect("no panic"))
    }
}

/// Numbers that follow from a seed.
struct Chance {
    seed: u64,
    drawn: u64,
}

impl Chance {
    fn below(&mut self, range: u64) -> u64 {
        self.drawn += 1;
        KeyHasher::new(self.seed)
            .fingerprint(&self.drawn.to_le_bytes())
            .0
            % range
    }
}

/// Runs one case. `start` returns the command of a client process, which calls [`client`] with this
/// address and number.
pub fn case(seed: u64, start: impl Fn(&str, u64) -> Command) -> Outcome {
    let mut chance = Chance { seed, drawn: 0 };
    let mut cluster = Cluster::start(3, true);
    // No master with this number is killed, so clients can always connect by way of it.
    let stays = chance.below(3) as usize;
    let address = format!("redis://127.0.0.1:{}/kills", cluster.masters[stays].port);
    let options = options("bloom:k=4", "horizontal:12", 1 << 27, FailureRule::Unknown);
    create(&address, &options).close();
    // A replica without the new slices would come back with empty ones, which stay failed.
    until("copies of the slices", || {
        cluster.masters.iter().all(has_up_to_date_replica)
    });
    let mut outcome = Outcome::default();
    let mut numbers = 0..;
    let mut next = || Client::start(start(&address, numbers.next().unwrap_or(0)));
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| next()).collect();
    let mut printed = Vec::new();
    for _ in 0..EVENTS {
        std::thread::sleep(Duration::from_millis(100 + chance.below(400)));
        match chance.below(2) {
            0 => {
                let killed = clients.swap_remove(chance.below(CLIENTS as u64) as usize);
                printed.extend(killed.end(true));
                clients.push(next());
                outcome.killed_clients += 1;
            }
            _ => {
                let master = (stays + 1 + chance.below(2) as usize) % 3;
                lose_master(&mut cluster, master, &mut chance);
                outcome.killed_masters += 1;
            }
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    clients
        .into_iter()
        .for_each(|it| printed.extend(it.end(false)));
    let mut store = impatient(open(&address));
    until("all slices", || {
        store.failures().is_ok_and(|it| it.is_empty())
    });
    let mut told: HashMap<u64, u64> = HashMap::new();
    // A test prints other lines as well.
    for line in printed.iter().filter_map(|it| it.strip_prefix("told ")) {
        let mut words = line.split_ascii_whitespace();
        outcome.unknown += words
            .next()
            .and_then(|it| it.parse::<u64>().ok())
            .unwrap_or(0);
        words
            .filter_map(|it| it.parse().ok())
            .for_each(|number| *told.entry(number).or_default() += 1);
    }
    outcome.acknowledged = told.len() as u64;
    outcome.twice = told.values().filter(|&&count| count > 1).count() as u64;
    let keys: Vec<Fingerprint> = told.keys().copied().map(key).collect();
    let mut verdicts = Vec::new();
    for keys in keys.chunks(1000) {
        store
            .contains_batch(keys, &mut verdicts)
            .expect("no refusal");
        outcome.lost += verdicts.iter().filter(|it| it.is_new()).count() as u64;
    }
    outcome
}

/// Returns whether a replica has received all that its master has written.
fn has_up_to_date_replica(master: &Server) -> bool {
    let found = master.try_call::<String>(&["INFO", "replication"]);
    let found = found.unwrap_or_default();
    let number = |before: &str| {
        let (_, rest) = found.split_once(before)?;
        let digits = rest.find(|it: char| !it.is_ascii_digit());
        rest[..digits.unwrap_or(rest.len())].parse::<u64>().ok()
    };
    let received = number("state=online,offset=");
    received.is_some() && received >= number("master_repl_offset:")
}

/// Kills a master, half of the time after its replica was cut off for a moment, lets the replica take
/// over, and makes the old master its replica.
fn lose_master(cluster: &mut Cluster, master: usize, chance: &mut Chance) {
    let replica = &cluster.replicas[master];
    let is_cut_off = chance.below(2) == 0;
    if is_cut_off {
        replica.pause();
        std::thread::sleep(Duration::from_millis(chance.below(150)));
    }
    cluster.masters[master].kill();
    if is_cut_off {
        replica.resume();
    }
    until("a takeover", || {
        replica
            .try_call::<()>(&["CLUSTER", "FAILOVER", "TAKEOVER"])
            .is_ok()
    });
    std::thread::sleep(Duration::from_millis(chance.below(300)));
    cluster.masters[master].restart();
    until("a replica", || {
        let state = |server: &Server| {
            server
                .try_call::<String>(&["INFO", "replication"])
                .unwrap_or_default()
        };
        state(&cluster.masters[master]).contains("master_link_status:up")
            && state(replica).contains("role:master")
    });
    // The next kill is of the one that is the master now.
    std::mem::swap(&mut cluster.masters[master], &mut cluster.replicas[master]);
}
