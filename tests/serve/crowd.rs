//! Many clients at once: busy ones, ones that do not read their replies, ones that send half a
//! request and then nothing.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use dedupstore_server::resp::Value;

use super::wire::request;
use super::{ServerProcess, Wire, resident_bytes};

/// What was seen.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// The number of connections.
    pub clients: usize,
    /// The memory of the server before they came.
    pub resident_before: u64,
    /// The memory of the server with them.
    pub resident_with: u64,
    /// The slowest reply to a client that behaves.
    pub slowest: Duration,
    /// The median of these replies.
    pub median: Duration,
}

/// The memory that the buffers may take; the store has little.
const BUFFERS: &str = "64MiB";

/// Connects `clients` clients, a third of each kind, and measures replies to another one.
pub fn run(program: &Path, directory: &Path, clients: usize) -> Summary {
    let options = ["--memory", "1MiB", "--max-buffers", BUFFERS];
    let server = ServerProcess::start(program, directory, &options);
    let mut good = server.connect();
    assert_eq!(good.call("BF.ADD crowd first"), Value::Integer(1));
    let resident_before = resident_bytes(server.id());
    let mut connections: Vec<Wire> = Vec::new();
    let echo = request(&[b"ECHO", &[b'x'; 60_000]]);
    for number in 0..clients {
        let mut wire = server.connect();
        match number % 3 {
            // Asks for much and reads nothing.
            0 => {
                wire.stream.set_nonblocking(true).expect("a socket");
                for _ in 0..100 {
                    // Until the server takes no more.
                    if !matches!(wire.stream.write(&echo), Ok(count) if count == echo.len()) {
                        break;
                    }
                }
            }
            // Claims a large request and sends the beginning.
            1 => {
                let _ = wire.send(b"*1000000\r\n$7\r\nBF.MADD\r\n$5\r\ncrowd\r\n$65000\r\nabc");
            }
            // Is idle after a request.
            _ => assert_eq!(wire.call("PING"), Value::Simple("PONG".to_owned())),
        }
        connections.push(wire);
    }
    let mut times = Vec::new();
    for number in 0..1000 {
        let started = Instant::now();
        let answer = good.call(&format!("BF.ADD crowd {number}"));
        times.push(started.elapsed());
        assert!(matches!(answer, Value::Integer(0 | 1)), "{answer:?}");
    }
    let resident_with = resident_bytes(server.id());
    times.sort();
    let summary = Summary {
        clients,
        resident_before,
        resident_with,
        slowest: times[times.len() - 1],
        median: times[times.len() / 2],
    };
    // The limit of the buffers, their growth by doubling, and a little for each connection.
    let bound = (64 << 20) + (clients as u64) * (64 << 10) + (16 << 20);
    let grown = resident_with.saturating_sub(resident_before);
    assert!(grown < bound, "{grown} bytes for {clients} clients");
    // The connections go away at once, in the middle of everything.
    drop(connections);
    assert_eq!(good.call("BF.EXISTS crowd first"), Value::Integer(1));
    assert_eq!(server.signal("TERM"), Some(0));
    summary
}
