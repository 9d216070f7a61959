//! Attacks on the command line with real processes: `cargo xtask siege --minutes N`.
//!
//! An attack depends on its seed, and on the timing of processes. It ends with checks that must
//! hold whatever the timing was: no line is lost, no recorded key is forgotten, every run ends
//! with one of the documented exit codes, and no message speaks of a panic.

mod damage;
mod delivery;
mod forged_header;
mod process;
mod small_disk;

pub use process::Program;
pub use small_disk::SmallDisk;

use std::fmt;
use std::time::{Duration, Instant};

use crate::crash::Failure;

/// What an attack did, if nothing broke: the number of attempts.
type Attempts = Result<u64, Failure>;

/// An attack: its name, and the function that carries it out with a seed.
type Attack = (&'static str, fn(&Program, u64) -> Attempts);

/// Every attack.
const ATTACKS: [Attack; 6] = [
    (
        "kill -9 with a slow reader",
        delivery::kill_with_slow_reader,
    ),
    (
        "append to a file on a filling disk",
        delivery::append_on_filling_disk,
    ),
    (
        "standard error that cannot be written",
        delivery::dead_standard_error,
    ),
    ("random damage to a store", damage::random_damage),
    ("a missing file of a store", damage::missing_file),
    (
        "a forged header with a valid checksum",
        forged_header::forged_header,
    ),
];

/// What was tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    counts: [u64; ATTACKS.len()],
}

impl Summary {
    /// Returns the smallest number of attempts of any attack.
    pub fn least(&self) -> u64 {
        self.counts.iter().copied().min().unwrap_or(0)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((name, _), count) in ATTACKS.iter().zip(self.counts) {
            writeln!(f, "{count:>8}  {name}")?;
        }
        write!(
            f,
            "{:>8}  in total; nothing was lost",
            self.counts.iter().sum::<u64>()
        )
    }
}

/// Carries out every attack at least once, and again in turns until the time is over. Returns
/// the first failure with the seed that led to it.
pub fn run(program: &Program, seed: u64, time: Duration) -> Result<Summary, Failure> {
    let started = Instant::now();
    let mut summary = Summary::default();
    for round in seed.. {
        for ((name, attack), count) in ATTACKS.iter().zip(&mut summary.counts) {
            if round > seed && started.elapsed() >= time {
                return Ok(summary);
            }
            *count += attack(program, round)
                .map_err(|failure| failure.at(format!("{name}, seed {round}")))?;
        }
    }
    Ok(summary)
}
