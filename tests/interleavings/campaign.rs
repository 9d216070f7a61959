//! Explores interleavings for as long as asked: `cargo xtask interleavings`.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dedupstore_interleavings::exploration::{Explored, Found, explore};
use dedupstore_tests::campaign_options::CampaignOptions;

const USAGE: &str = "usage: cargo xtask interleavings [--schedules N] [--seed N] [--replay SEED]
N is a number such as 5000, 200k or 10M.";

/// The seeds that a thread explores at a time.
const CHUNK: u64 = 100;
/// Campaigns of different seeds share no schedule if they are shorter than this.
const SEEDS_PER_CAMPAIGN: u64 = 1_000_000_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(options) = CampaignOptions::parse(&arguments, "--schedules", 100_000) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match options.replay {
        Some(seed) => replay(seed),
        None => run(&options),
    }
}

fn replay(seed: u64) -> ExitCode {
    match explore(seed..seed + 1) {
        Ok(explored) => {
            println!("seed {seed}: {} crashes, no failure", explored.crashes);
            ExitCode::SUCCESS
        }
        Err(found) => {
            println!("seed {seed}: {}", found.failure);
            ExitCode::FAILURE
        }
    }
}

fn run(options: &CampaignOptions) -> ExitCode {
    let first = options.seed.wrapping_mul(SEEDS_PER_CAMPAIGN);
    let campaign = Campaign {
        next: AtomicU64::new(first),
        wanted: options.count,
        schedules: AtomicU64::new(0),
        crashes: AtomicU64::new(0),
        failures: Mutex::new(Vec::new()),
    };
    let started = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| campaign.work()))
            .collect();
        while !workers.iter().all(|worker| worker.is_finished()) {
            std::thread::sleep(Duration::from_secs(1));
            eprint!(
                "\r{} schedules   ",
                campaign.schedules.load(Ordering::Relaxed)
            );
        }
        eprintln!();
    });
    let failures = campaign.failures.into_inner().unwrap_or_default();
    println!(
        "{} schedules with {} crashes from seed {first} on, in {:.0} s, {} broken promises",
        campaign.schedules.load(Ordering::Relaxed),
        campaign.crashes.load(Ordering::Relaxed),
        started.elapsed().as_secs_f64(),
        failures.len(),
    );
    for Found { seed, failure } in &failures {
        println!("seed {seed}: {failure}");
        println!("  repeat it with: cargo xtask interleavings --replay {seed}");
    }
    ExitCode::from(u8::from(!failures.is_empty()))
}

/// State shared by the threads.
struct Campaign {
    next: AtomicU64,
    wanted: u64,
    schedules: AtomicU64,
    crashes: AtomicU64,
    failures: Mutex<Vec<Found>>,
}

impl Campaign {
    /// Explores chunks of seeds until there are enough schedules with crashes. The first failure ends
    /// the campaign.
    fn work(&self) {
        while !self.has_failed() && self.schedules.load(Ordering::Relaxed) < self.wanted {
            let from = self.next.fetch_add(CHUNK, Ordering::Relaxed);
            match explore(from..from + CHUNK) {
                Ok(explored) => {
                    let Explored { schedules, crashes } = explored;
                    self.schedules.fetch_add(schedules, Ordering::Relaxed);
                    self.crashes.fetch_add(crashes, Ordering::Relaxed);
                }
                Err(found) => {
                    if let Ok(mut failures) = self.failures.lock() {
                        failures.push(found);
                    }
                }
            }
        }
    }

    fn has_failed(&self) -> bool {
        let failures = self.failures.lock();
        failures.is_ok_and(|failures| !failures.is_empty())
    }
}
