//! Sends random and mutated requests to a server.
//!
//! Each begins with a request of `fixtures/resp-requests.txt`. Whatever arrives, the server must
//! answer or close the connection, must not panic, and must answer others as before.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use dedupstore_server::RequestLimits;
use dedupstore_server::resp::{Parsed, RequestParser};

use super::wire::Wire;
use super::{ServerProcess, resident_bytes};
use crate::fixture;

/// The stores that names may create: few, and small.
pub const OPTIONS: [&str; 10] = [
    "--memory",
    "64KiB",
    "--max-stores",
    "4",
    "--max-request",
    "1MiB",
    "--max-claims",
    "10000",
    "--log",
    "text",
];

/// The limits that the options set.
const LIMITS: RequestLimits = RequestLimits {
    request_bytes: 1 << 20,
    argument_bytes: 64 << 10,
};

/// What was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// The number of requests.
    pub requests: u64,
    /// How many of them break the protocol, so that the server closes the connection.
    pub broken: u64,
    /// The memory of the server at the end.
    pub resident_bytes: u64,
}

/// Sends about `count` requests that follow from a seed, over several connections at a time.
pub fn run(program: &Path, directory: &Path, count: u64, seed: u64) -> Summary {
    let corpus = corpus();
    let server = ServerProcess::start(program, directory, &OPTIONS);
    let mut watch = server.connect();
    assert_eq!(watch.call("BF.ADD fuzz witness").to_string(), "1");
    let (mut sent, mut broken) = (0, 0);
    const CONNECTIONS: u64 = 2;
    let per_connection = 200;
    let mut generation = 0;
    while sent < count {
        let results: Vec<(u64, u64)> = std::thread::scope(|scope| {
            let attack = |seed: u64| {
                let (corpus, address) = (&corpus, server.address());
                scope.spawn(move || {
                    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
                    let mut results = (0, 0);
                    for _ in 0..100 {
                        let (sent, broken) = connection(address, corpus, per_connection, &mut rng);
                        results.0 += sent;
                        results.1 += u64::from(broken);
                    }
                    results
                })
            };
            let from = seed.wrapping_mul(1 << 32).wrapping_add(generation);
            let threads: Vec<_> = (0..CONNECTIONS).map(|it| attack(from + it)).collect();
            threads
                .into_iter()
                .map(|it| it.join().expect("no panic"))
                .collect()
        });
        generation += CONNECTIONS;
        sent += results.iter().map(|(sent, _)| sent).sum::<u64>();
        broken += results.iter().map(|(_, broken)| broken).sum::<u64>();
        assert_eq!(watch.call("BF.EXISTS fuzz witness").to_string(), "1");
        server.check_log();
    }
    let summary = Summary {
        requests: sent,
        broken,
        resident_bytes: resident_bytes(server.id()),
    };
    assert_eq!(server.signal("TERM"), Some(0));
    summary
}

/// Sends requests over one connection; returns their number, and whether the last one
/// breaks the protocol.
fn connection(
    address: &str,
    corpus: &[Vec<u8>],
    requests: u64,
    rng: &mut Xoshiro256PlusPlus,
) -> (u64, bool) {
    let mut wire = Wire::connect(address);
    let (mut bytes, mut sent, mut broken) = (Vec::new(), 0, false);
    let (mut parser, mut parsed) = (RequestParser::default(), 0);
    // The server reads nothing after a request that breaks the protocol, so it is the last one.
    while sent < requests && !broken {
        bytes.extend(mutated(corpus, rng));
        sent += 1;
        broken = loop {
            match parser.parse(&bytes[parsed..], &LIMITS) {
                Ok(Parsed::Complete(length)) => parsed += length,
                Ok(Parsed::Incomplete) => break false,
                Err(_) => break true,
            }
        };
    }
    // The server may close it while we write.
    let _ = wire.send(&bytes);
    let _ = wire.stream.shutdown(std::net::Shutdown::Write);
    let _ = wire.stream.set_read_timeout(Some(Duration::from_secs(60)));
    let mut answers = [0; 4096];
    loop {
        match wire.stream.read(&mut answers) {
            Ok(0) => return (sent, broken),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("the server neither answers nor closes the connection")
            }
            Err(_) => return (sent, broken),
        }
    }
}

/// Returns a request of the corpus with changes, or random bytes.
pub fn mutated(corpus: &[Vec<u8>], rng: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    if rng.random_range(0..500) == 0 {
        return (0..rng.random_range(1..60)).map(|_| rng.random()).collect();
    }
    // Most changes keep the form, so that the commands see them.
    let breaks_form = rng.random_range(0..50) == 0;
    let valid = corpus.partition_point(|request| is_valid(request));
    let pool = if breaks_form { corpus.len() } else { valid };
    let mut bytes = corpus[rng.random_range(0..pool)].clone();
    for _ in 0..rng.random_range(0..3) {
        let at = rng.random_range(0..bytes.len());
        match rng.random_range(0..5) {
            0 if breaks_form => bytes[at] = rng.random(),
            1 if breaks_form => {
                bytes.remove(at);
            }
            2 if breaks_form => bytes.insert(at, rng.random()),
            3 if breaks_form => bytes.truncate(at.max(1)),
            4 if breaks_form => bytes[at] ^= 1 << rng.random_range(0..8),
            _ if bytes[at].is_ascii_alphabetic() => bytes[at] = rng.random_range(b'a'..=b'z'),
            _ => {}
        }
    }
    bytes
}

fn is_valid(request: &[u8]) -> bool {
    RequestParser::default().parse(request, &LIMITS).is_ok()
}

/// Reads the requests that are mutated; those that break the protocol are the last ones.
pub fn corpus() -> Vec<Vec<u8>> {
    let text = std::fs::read_to_string(fixture("resp-requests.txt")).expect("a fixture");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut requests: Vec<_> = lines.map(unescaped).collect();
    requests.sort_by_key(|request| !is_valid(request));
    requests
}

fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let (&kind, after) = after.split_first().expect("an escape");
        rest = after;
        bytes.push(match kind {
            b'r' => b'\r',
            b'n' => b'\n',
            b'x' => {
                let digits = std::str::from_utf8(&after[..2]).expect("digits");
                rest = &after[2..];
                u8::from_str_radix(digits, 16).expect("digits")
            }
            other => other,
        });
    }
    bytes
}
