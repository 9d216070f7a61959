//! A long campaign of the crash laboratory: `cargo xtask crash --states 10M`.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dedupstore_tests::crash::{FILTERS, Failure, Outcome, cuts, faults, walk};

/// What the threads share.
struct Campaign {
    states: AtomicU64,
    next_seed: AtomicU64,
    wanted: u64,
    failures: Mutex<Vec<Failure>>,
}

impl Campaign {
    fn goes_on(&self) -> bool {
        let failed = self
            .failures
            .lock()
            .is_ok_and(|failures| !failures.is_empty());
        !failed && self.states.load(Ordering::Relaxed) < self.wanted
    }

    fn run(&self) {
        while self.goes_on() {
            let seed = self.next_seed.fetch_add(1, Ordering::Relaxed);
            match experiment(seed) {
                Ok(states) => {
                    self.states.fetch_add(states, Ordering::Relaxed);
                }
                Err(failure) => {
                    if let Ok(mut failures) = self.failures.lock() {
                        failures.push(failure);
                    }
                }
            }
        }
    }

    fn report(&self, started: Instant) {
        while self.goes_on() {
            std::thread::sleep(Duration::from_secs(1));
            let states = self.states.load(Ordering::Relaxed);
            let rate = states as f64 / started.elapsed().as_secs_f64();
            let left = self.wanted.saturating_sub(states) as f64 / rate.max(1.0);
            eprint!("\r{states} states, {rate:.0} a second, {left:.0} s left   ");
        }
        eprintln!();
    }
}

/// Mostly walks; now and then a life cut or failing everywhere.
fn experiment(seed: u64) -> Outcome {
    let filter = FILTERS[(seed % 3) as usize];
    match seed % 50 {
        0 => cuts::every_cut(filter, 1 + seed % 4, seed, 50),
        1 => faults::every_fault(filter, 1 + seed % 4, seed, 40),
        _ => walk::walk(seed),
    }
}

fn count(text: &str) -> Option<u64> {
    let (digits, factor) = match text.chars().last()? {
        'k' | 'K' => (&text[..text.len() - 1], 1000),
        'm' | 'M' => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str, default: u64| {
        let place = arguments.iter().position(|argument| argument == name);
        let value = place.and_then(|place| arguments.get(place + 1));
        value.map_or(Some(default), |value| count(value))
    };
    let (Some(wanted), Some(seed)) = (option("--states", 1_000_000), option("--seed", 1)) else {
        eprintln!("usage: cargo xtask crash [--states N] [--seed N], where N is like 10M");
        return ExitCode::from(2);
    };
    let campaign = Campaign {
        states: AtomicU64::new(0),
        next_seed: AtomicU64::new(seed * 1_000_000),
        wanted,
        failures: Mutex::new(Vec::new()),
    };
    let started = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| campaign.run());
        }
        campaign.report(started);
    });
    let failures = campaign.failures.into_inner().unwrap_or_default();
    println!(
        "{} crash states in {:.0} s, {} broken promises",
        campaign.states.load(Ordering::Relaxed),
        started.elapsed().as_secs_f64(),
        failures.len(),
    );
    for failure in &failures {
        println!("{failure}");
    }
    ExitCode::from(u8::from(!failures.is_empty()))
}
