//! The clients, and the measurement.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::servers::KINDS;

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(250);
/// How many requests a client sends before it reads the replies.
const PIPELINES: [usize; 2] = [1, 50];

/// Measures all servers with so many clients.
pub fn compare(clients: &[usize]) {
    for &clients in clients {
        for pipeline in PIPELINES {
            println!("{clients} clients, {pipeline} requests at a time:");
            let mut servers: Vec<_> = KINDS.map(|kind| Server::start(kind, clients)).into();
            for round in 0..ROUNDS {
                for server in &mut servers {
                    server.measure(round as u64, pipeline);
                }
            }
            for server in &mut servers {
                let (cpu, rate) = (median(&mut server.cpu), median(&mut server.rates));
                println!(
                    "  {:8} {cpu:7.3} µs of processor time per request, {rate:9.0} requests per s",
                    server.kind
                );
            }
        }
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

struct Server {
    kind: &'static str,
    child: Child,
    connections: Vec<TcpStream>,
    /// Microseconds of processor time per request, by rounds.
    cpu: Vec<f64>,
    /// Requests per second, by rounds.
    rates: Vec<f64>,
}

impl Server {
    fn start(kind: &'static str, clients: usize) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .args(["serve", kind])
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let mut port = String::new();
        let output = child.stdout.as_mut().expect("piped");
        BufReader::new(output).read_line(&mut port).expect("a port");
        let address = format!("127.0.0.1:{}", port.trim());
        let connect = |_| {
            let stream = TcpStream::connect(&address).expect("connected");
            stream.set_nodelay(true).expect("supported");
            stream
        };
        Server {
            kind,
            child,
            connections: (0..clients).map(connect).collect(),
            cpu: Vec::new(),
            rates: Vec::new(),
        }
    }

    /// Sends requests of all clients, then reads all replies, again and again.
    fn measure(&mut self, round: u64, pipeline: usize) {
        let mut buffer = vec![0; 4 * pipeline];
        let (mut requests, mut text) = (0, Vec::new());
        let (cpu, started) = (self.cpu_seconds(), Instant::now());
        while started.elapsed() < ROUND {
            for connection in &mut self.connections {
                text.clear();
                for _ in 0..pipeline {
                    let key = format!("https://harbour.example/{round:03}/{requests:010}");
                    let head = "*3\r\n$6\r\nBF.ADD\r\n$5\r\nlinks\r\n";
                    let written = write!(text, "{head}${}\r\n{key}\r\n", key.len());
                    written.expect("memory");
                    requests += 1;
                }
                connection.write_all(&text).expect("sent");
            }
            for connection in &mut self.connections {
                connection.read_exact(&mut buffer).expect("replies");
            }
        }
        let elapsed = started.elapsed().as_secs_f64();
        let cpu = self.cpu_seconds() - cpu;
        self.cpu.push(1e6 * cpu / requests as f64);
        self.rates.push(requests as f64 / elapsed);
    }

    /// Returns the processor time of the server, with the resolution of the scheduler.
    fn cpu_seconds(&self) -> f64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let of_task = |path: std::path::PathBuf| -> Option<f64> {
            let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
            text.split(' ').next()?.parse().ok()
        };
        let tasks = tasks.expect("a process").flatten();
        let nanoseconds: f64 = tasks.filter_map(|task| of_task(task.path())).sum();
        1e-9 * nanoseconds
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
