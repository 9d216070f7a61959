//! The latency of single requests while a large store writes a checkpoint.

use std::path::Path;
use std::time::{Duration, Instant};

use super::ServerProcess;

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// The number of requests meanwhile.
    pub requests: usize,
    /// The median of their times.
    pub median: Duration,
    /// Their 99th percentile.
    pub p99: Duration,
    /// The slowest.
    pub slowest: Duration,
    /// How long the checkpoint took.
    pub checkpoint: Duration,
}

/// Sends one BF.ADD after the other while a store of `memory` writes a checkpoint.
pub fn run(program: &Path, directory: &Path, memory: &str) -> Summary {
    let options = ["--memory", memory, "--filter", "blocked:k=6"];
    let server = ServerProcess::start(program, directory, &options);
    let mut wire = server.connect();
    // Bits in every block, so that the checkpoint has something to save before each change.
    for from in 0..200 {
        let mut words = String::from("BF.MADD links");
        (0..1000).for_each(|number| words += &format!(" {}", from * 1000 + number));
        wire.call(&words);
    }
    wire.call("WAITAOF 1 0 0");
    let generation = |wire: &mut super::Wire| {
        let text = wire.call("DEDUP.OPEN links").to_string();
        let (_, rest) = text.split_once("\"generation\":").expect("a generation");
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().expect("a number")
    };
    let before = generation(&mut wire);
    let mut watch = server.connect();
    let number = server.id().to_string();
    let started = Instant::now();
    let sent = std::process::Command::new("kill")
        .args(["-s", "HUP", &number])
        .status();
    assert!(sent.expect("kill exists").success());
    let mut times = Vec::new();
    let mut key = 0;
    let checkpoint = loop {
        for _ in 0..100 {
            let request = format!("BF.ADD links during-{key}");
            key += 1;
            let sent = Instant::now();
            wire.call(&request);
            times.push(sent.elapsed());
        }
        if generation(&mut watch) > before {
            break started.elapsed();
        }
        assert!(
            started.elapsed() < Duration::from_secs(200),
            "no checkpoint"
        );
    };
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let summary = Summary {
        requests: times.len(),
        median: at(0.5),
        p99: at(0.99),
        slowest: at(1.0),
        checkpoint,
    };
    assert_eq!(server.signal("TERM"), Some(0));
    summary
}
