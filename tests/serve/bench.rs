//! The processor time per key of a server, beside that of redis-server.
//!
//! Both servers run at the same time and work in turns on the same keys, so that the machine treats
//! them alike. Redis keeps its set in memory only, without log and without snapshots; `dedupstore`
//! records every key before it answers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::wire::add_argument;
use super::{ServerProcess, cpu_seconds};

/// How keys are sent.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The number of connections.
    pub clients: usize,
    /// The number of requests that a client sends before it reads the replies.
    pub pipeline: usize,
    /// The number of keys per request.
    pub keys: usize,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// How keys were sent.
    pub load: Load,
    /// The number of keys that each server got.
    pub keys: u64,
    /// Microseconds of processor time per key.
    pub ours: f64,
    /// The same for Redis.
    pub redis: f64,
    /// Keys per second of elapsed time.
    pub our_rate: f64,
    /// The same for Redis.
    pub redis_rate: f64,
}

impl Measured {
    /// Returns how many times less processor time ours takes.
    pub fn ratio(&self) -> f64 {
        self.redis / self.ours
    }
}

struct Redis(Child);

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_redis(directory: &Path) -> (Redis, String) {
    // The port is free when it is looked for, and most likely a moment later.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    let port = port.expect("a free port").port().to_string();
    let child = Command::new("redis-server")
        .args(["--port", &port, "--save", "", "--appendonly", "no"])
        .args(["--bind", "127.0.0.1", "--dir"])
        .arg(directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server is installed");
    let address = format!("127.0.0.1:{port}");
    let started = Instant::now();
    while TcpStream::connect(&address).is_err() {
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "redis-server does not start"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    (Redis(child), address)
}

/// Measures each load with `keys` keys per server, in `turns` turns.
pub fn run(
    program: &Path,
    directory: &Path,
    loads: &[Load],
    keys: u64,
    turns: u64,
) -> Vec<Measured> {
    let (redis, redis_address) = start_redis(directory);
    let options = ["--memory", "64MiB", "--filter", "blocked:k=6"];
    let server = ServerProcess::start(program, &directory.join("stores"), &options);
    let mut results = Vec::new();
    for &load in loads {
        let mut ours = Side::new(server.address(), server.id(), load);
        let mut theirs = Side::new(&redis_address, redis.0.id(), load);
        let (add, set) = match load.keys {
            1 => ("BF.ADD", "SADD"),
            _ => ("BF.MADD", "SADD"),
        };
        // Creates the store, and warms up.
        let name = format!("load-{}-{}-{}", load.clients, load.pipeline, load.keys);
        ours.turn(add, &name, u64::MAX / 2, 20_000);
        theirs.turn(set, &name, u64::MAX / 2, 20_000);
        (ours, theirs) = (ours.restarted(), theirs.restarted());
        let per_turn = keys / turns;
        for turn in 0..turns {
            ours.turn(add, &name, turn * per_turn, per_turn);
            theirs.turn(set, &name, turn * per_turn, per_turn);
        }
        results.push(Measured {
            load,
            keys: ours.keys,
            ours: ours.cpu * 1e6 / ours.keys as f64,
            redis: theirs.cpu * 1e6 / theirs.keys as f64,
            our_rate: ours.keys as f64 / ours.elapsed,
            redis_rate: theirs.keys as f64 / theirs.elapsed,
        });
    }
    results
}

/// One of the two servers.
struct Side {
    connections: Vec<TcpStream>,
    process: u32,
    load: Load,
    keys: u64,
    cpu: f64,
    elapsed: f64,
}

impl Side {
    fn new(address: &str, process: u32, load: Load) -> Self {
        let connect = |_| {
            let stream = TcpStream::connect(address).expect("connected");
            stream.set_nodelay(true).expect("a socket");
            stream
        };
        Side {
            connections: (0..load.clients).map(connect).collect(),
            process,
            load,
            keys: 0,
            cpu: 0.0,
            elapsed: 0.0,
        }
    }

    fn restarted(self) -> Self {
        Side {
            keys: 0,
            cpu: 0.0,
            elapsed: 0.0,
            ..self
        }
    }

    /// Adds keys with numbers from `from` on.
    fn turn(&mut self, command: &str, name: &str, from: u64, count: u64) {
        let Load {
            clients,
            pipeline,
            keys,
        } = self.load;
        let per_round = (clients * pipeline * keys) as u64;
        let mut next = from;
        // Per turn, because processor time is counted in hundredths of a second.
        let cpu = cpu_seconds(self.process);
        for _ in 0..count.div_ceil(per_round).max(1) {
            let mut requests = Vec::with_capacity(clients);
            for _ in 0..clients {
                let mut bytes = Vec::new();
                for _ in 0..pipeline {
                    bytes.extend(format!("*{}\r\n", 2 + keys).as_bytes());
                    add_argument(&mut bytes, command.as_bytes());
                    add_argument(&mut bytes, name.as_bytes());
                    for _ in 0..keys {
                        let key = format!("https://harbour.example/ships/{next}");
                        add_argument(&mut bytes, key.as_bytes());
                        next += 1;
                    }
                }
                requests.push(bytes);
            }
            let started = Instant::now();
            for (stream, bytes) in self.connections.iter_mut().zip(&requests) {
                stream.write_all(bytes).expect("sent");
            }
            // An array reply of BF.MADD has a line per key and one for its head; SADD's is a number.
            let lines = match (command, keys) {
                ("BF.MADD", keys) => pipeline * (keys + 1),
                _ => pipeline,
            };
            for stream in &mut self.connections {
                read_lines(stream, lines);
            }
            self.elapsed += started.elapsed().as_secs_f64();
            self.keys += per_round;
        }
        self.cpu += cpu_seconds(self.process) - cpu;
    }
}

fn read_lines(stream: &mut TcpStream, mut lines: usize) {
    let mut buffer = [0; 16 << 10];
    while lines > 0 {
        let count = stream.read(&mut buffer).expect("a reply");
        assert!(count > 0, "the server closed the connection");
        assert!(!buffer[..count].contains(&b'-'), "an error reply");
        lines -= buffer[..count]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
    }
}
