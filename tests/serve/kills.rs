//! Kills a server under load, and checks that no acknowledged key is missing and that claims keep
//! their promise.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dedupstore_server::resp::Value;

use super::wire::request;
use super::{ServerProcess, Wire};

/// What a campaign did, if nothing broke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of kills.
    pub kills: u64,
    /// The keys that were acknowledged and found again.
    pub acknowledged: u64,
    /// The claims that were committed and found again.
    pub committed: u64,
    /// The claims that were not committed and offered again.
    pub offered_again: u64,
}

const ADDERS: u64 = 6;
const CLAIMERS: u64 = 2;
const PIPELINE: u64 = 50;
const CLAIM_KEYS: u64 = 20;
/// A Bloom filter has no false negatives, and at this size, with the 25 million keys that a fast machine
/// adds in a hundred rounds, four false positives in a million.
const OPTIONS: [&str; 6] = ["--memory", "128MiB", "--filter", "bloom:k=6", "--seed", "1"];

/// What a client has learned before the server was killed.
#[derive(Default)]
struct Learned {
    /// The number of keys acknowledged, per adder.
    acknowledged: Vec<u64>,
    /// The state of every claimed key.
    claims: HashMap<u64, ClaimState>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ClaimState {
    Claimed,
    /// The commit was sent; nobody knows whether it arrived.
    Sent,
    Committed,
}

/// So many keys are claimed, and as many added, before a kill.
const BEGUN: u64 = 500;
/// The longest wait for that.
const LONGEST_START: Duration = Duration::from_secs(60);

/// Kills a server `kills` times, each after `load` of work.
pub fn run(program: &Path, directory: &Path, kills: u64, load: Duration) -> Summary {
    let mut summary = Summary::default();
    let mut earlier: Vec<(u64, Learned)> = Vec::new();
    for round in 0..kills {
        let server = ServerProcess::start(program, directory, &OPTIONS);
        // The last round's promises, and those of a random earlier one.
        let at = (round * 7919) as usize % earlier.len().max(1);
        for index in [Some(at), earlier.len().checked_sub(1)]
            .into_iter()
            .flatten()
        {
            if let Some((round, learned)) = earlier.get(index) {
                check(
                    &server,
                    *round,
                    learned,
                    index + 1 == earlier.len(),
                    &mut summary,
                );
            }
        }
        let learned = Mutex::new(Learned {
            acknowledged: vec![0; ADDERS as usize],
            claims: HashMap::new(),
        });
        let (next_claim, added) = (AtomicU64::new(0), AtomicU64::new(0));
        let address = server.address().to_owned();
        std::thread::scope(|scope| {
            for client in 0..ADDERS {
                let (address, learned, added) = (&address, &learned, &added);
                scope.spawn(move || add(address, round, client, learned, added));
            }
            for _ in 0..CLAIMERS {
                let (address, learned, next) = (&address, &learned, &next_claim);
                scope.spawn(move || claim(address, round, next, learned));
            }
            // A kill before there is work would prove nothing; on a busy machine that takes a while.
            let until = Instant::now() + LONGEST_START;
            let has_begun = |count: &AtomicU64| count.load(Ordering::Relaxed) >= BEGUN;
            while !(has_begun(&next_claim) && has_begun(&added)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Kills come at different moments of the work.
            std::thread::sleep(load / 2 + load.mul_f64((round % 10) as f64 / 10.0));
            server.kill();
        });
        summary.kills += 1;
        earlier.push((round, learned.into_inner().expect("no client panicked")));
    }
    let server = ServerProcess::start(program, directory, &OPTIONS);
    summary.acknowledged = 0;
    summary.committed = 0;
    for (at, (round, learned)) in earlier.iter().enumerate() {
        check(
            &server,
            *round,
            learned,
            at + 1 == earlier.len(),
            &mut summary,
        );
    }
    assert_eq!(server.signal("TERM"), Some(0));
    summary
}

fn key(round: u64, client: u64, number: u64) -> String {
    format!("https://harbour.example/{round}/{client}/{number}")
}

fn claimed_key(round: u64, number: u64) -> String {
    format!("claim/{round}/{number}")
}

/// Adds keys until the server ends; notes what it acknowledged.
fn add(address: &str, round: u64, client: u64, learned: &Mutex<Learned>, added: &AtomicU64) {
    let Ok(mut wire) = Wire::try_connect(address) else {
        return;
    };
    let (mut sent, mut acknowledged) = (0, 0);
    'alive: loop {
        let mut bytes = Vec::new();
        for number in sent..sent + PIPELINE {
            let key = key(round, client, number);
            bytes.extend(request(&[b"BF.ADD", b"links", key.as_bytes()]));
        }
        sent += PIPELINE;
        if wire.send(&bytes).is_err() {
            break;
        }
        for _ in 0..PIPELINE {
            match wire.receive() {
                Ok(Value::Integer(0 | 1)) => acknowledged += 1,
                Ok(other) => panic!("{other:?}"),
                Err(_) => break 'alive,
            }
        }
        added.fetch_add(PIPELINE, Ordering::Relaxed);
    }
    learned.lock().expect("no panic").acknowledged[client as usize] = acknowledged;
}

/// Claims and commits keys until the server ends. All claimers want the same keys.
fn claim(address: &str, round: u64, next: &AtomicU64, learned: &Mutex<Learned>) {
    let Ok(mut wire) = Wire::try_connect(address) else {
        return;
    };
    loop {
        // Overlaps with what the other one claims.
        let first = next.fetch_add(CLAIM_KEYS / 2, Ordering::Relaxed);
        let numbers: Vec<u64> = (first..first + CLAIM_KEYS).collect();
        let keys: Vec<String> = numbers.iter().map(|&it| claimed_key(round, it)).collect();
        let mut arguments: Vec<&[u8]> = vec![b"DEDUP.CLAIM", b"links"];
        arguments.extend(keys.iter().map(String::as_bytes));
        let Ok(Value::Array(answers)) = wire.try_call(&arguments) else {
            return;
        };
        let mut tickets = Vec::new();
        {
            let mut learned = learned.lock().expect("no panic");
            for (&number, answer) in numbers.iter().zip(&answers) {
                let Value::Integer(ticket) = answer else {
                    panic!("{answer:?}");
                };
                if *ticket > 0 {
                    let before = learned.claims.insert(number, ClaimState::Claimed);
                    assert!(before.is_none(), "key {number} was given twice");
                    tickets.push((number, ticket.to_string()));
                }
            }
        }
        // Some are never committed.
        let kept: Vec<_> = tickets
            .iter()
            .filter(|(number, _)| number % 5 != 0)
            .collect();
        let mut arguments: Vec<&[u8]> = vec![b"DEDUP.COMMIT", b"links"];
        arguments.extend(kept.iter().map(|(_, ticket)| ticket.as_bytes()));
        if kept.is_empty() {
            continue;
        }
        set(learned, &kept, ClaimState::Sent);
        let Ok(answer) = wire.try_call(&arguments) else {
            return;
        };
        assert_eq!(answer, Value::Array(vec![Value::Integer(1); kept.len()]));
        set(learned, &kept, ClaimState::Committed);
    }
}

fn set(learned: &Mutex<Learned>, tickets: &[&(u64, String)], state: ClaimState) {
    let mut learned = learned.lock().expect("no panic");
    for (number, _) in tickets {
        learned.claims.insert(*number, state);
    }
}

/// Checks what the server promised in a round. `is_last` if nobody has claimed its keys since.
fn check(
    server: &ServerProcess,
    round: u64,
    learned: &Learned,
    is_last: bool,
    summary: &mut Summary,
) {
    let mut wire = server.connect();
    for (client, &count) in (0..).zip(&learned.acknowledged) {
        let keys: Vec<String> = (0..count)
            .map(|number| key(round, client, number))
            .collect();
        for found in exist(&mut wire, &keys) {
            assert!(
                found,
                "round {round}: an acknowledged key of client {client} is missing"
            );
        }
        summary.acknowledged += count;
    }
    let in_state = |state: ClaimState| -> Vec<String> {
        let claims = learned.claims.iter().filter(|(_, it)| **it == state);
        claims
            .map(|(&number, _)| claimed_key(round, number))
            .collect()
    };
    let committed = in_state(ClaimState::Committed);
    assert!(
        exist(&mut wire, &committed).all(|found| found),
        "round {round}: a commit is missing"
    );
    summary.committed += committed.len() as u64;
    let claimed = in_state(ClaimState::Claimed);
    if is_last {
        let found = exist(&mut wire, &claimed).filter(|&found| found).count();
        // The false positive rate is far below one in a thousand.
        assert!(
            found <= claimed.len() / 1000,
            "round {round}: {found} claims were recorded"
        );
        summary.offered_again += claimed.len() as u64;
    }
}

fn exist<'a>(wire: &'a mut Wire, keys: &'a [String]) -> impl Iterator<Item = bool> + 'a {
    keys.chunks(1000).flat_map(|keys| {
        let mut arguments: Vec<&[u8]> = vec![b"BF.MEXISTS", b"links"];
        arguments.extend(keys.iter().map(String::as_bytes));
        let Value::Array(found) = wire.try_call(&arguments).expect("a reply") else {
            panic!("expected an array");
        };
        let found: Vec<bool> = found.iter().map(|it| *it == Value::Integer(1)).collect();
        assert_eq!(found.len(), keys.len());
        found
    })
}
