//! A long run of the crash laboratory: `cargo xtask crash --states 10M`.
//!
//! Each experiment depends only on its seed. `cargo xtask crash --replay SEED` repeats one.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dedupstore_tests::campaign_options::CampaignOptions;
use dedupstore_tests::crash::{FILTERS, Failure, Outcome, faults, power_cuts, random_crashes};

const USAGE: &str = "usage: cargo xtask crash [--states N] [--seed N] [--replay SEED]
N is a number such as 5000, 200k or 10M.";

/// State shared by the threads.
struct Campaign {
    states: AtomicU64,
    next_seed: AtomicU64,
    target: u64,
    failures: Mutex<Vec<(u64, Failure)>>,
}

impl Campaign {
    /// Returns whether more experiments are needed: the first failure ends the campaign.
    fn continues(&self) -> bool {
        let failed = self
            .failures
            .lock()
            .is_ok_and(|failures| !failures.is_empty());
        !failed && self.states.load(Ordering::Relaxed) < self.target
    }

    fn run(&self) {
        while self.continues() {
            let seed = self.next_seed.fetch_add(1, Ordering::Relaxed);
            match experiment(seed) {
                Ok(states) => {
                    self.states.fetch_add(states, Ordering::Relaxed);
                }
                Err(failure) => {
                    if let Ok(mut failures) = self.failures.lock() {
                        failures.push((seed, failure));
                    }
                }
            }
        }
    }

    fn show_progress(&self, started: Instant) {
        while self.continues() {
            std::thread::sleep(Duration::from_secs(1));
            let states = self.states.load(Ordering::Relaxed);
            let rate = states as f64 / started.elapsed().as_secs_f64();
            let left = self.target.saturating_sub(states) as f64 / rate.max(1.0);
            eprint!("\r{states} states, {rate:.0} per second, {left:.0} s left   ");
        }
        eprintln!();
    }
}

/// Runs the experiment of a seed: 48 of 50 are random crashes, one cuts the power at every
/// call of a session, and one makes every call fail.
fn experiment(seed: u64) -> Outcome {
    let filter = FILTERS[(seed % FILTERS.len() as u64) as usize];
    match seed % 50 {
        0 => power_cuts::every_cut(filter, 1 + seed % 4, seed, 50),
        1 => faults::every_fault(filter, 1 + seed % 4, seed, 40),
        _ => random_crashes::run(seed),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(options) = CampaignOptions::parse(&arguments, "--states", 1_000_000) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match options.replay {
        Some(seed) => replay(seed),
        None => run_campaign(&options),
    }
}

fn replay(seed: u64) -> ExitCode {
    match experiment(seed) {
        Ok(states) => {
            println!("seed {seed}: {states} crash states, no failure");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("seed {seed}: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run_campaign(options: &CampaignOptions) -> ExitCode {
    let campaign = Campaign {
        states: AtomicU64::new(0),
        next_seed: AtomicU64::new(options.seed * 1_000_000),
        target: options.count,
        failures: Mutex::new(Vec::new()),
    };
    let started = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| campaign.run());
        }
        campaign.show_progress(started);
    });
    let failures = campaign.failures.into_inner().unwrap_or_default();
    println!(
        "{} crash states in {:.0} s, {} failures",
        campaign.states.load(Ordering::Relaxed),
        started.elapsed().as_secs_f64(),
        failures.len(),
    );
    for (seed, failure) in &failures {
        println!("seed {seed}: {failure}");
        println!("  repeat it with: cargo xtask crash --replay {seed}");
    }
    ExitCode::from(u8::from(!failures.is_empty()))
}
