//! The crash laboratory: a simulated disk, a model of what must be recovered, and experiments
//! that compare the two.
//!
//! - [`simulated_medium`]: a disk in memory that loses unsynced writes, tears sectors, fails on
//!   command, drops what a failed sync should have written, and maps parts of a log.
//! - [`session`]: a store on that disk, and a model that knows the state after every prefix of
//!   the observations.
//! - [`random_crashes`]: random sessions that end in random crashes, repeatedly on one disk.
//! - [`power_cuts`]: one short session, cut at every call, and every state each cut can leave.
//! - [`stale_frames`]: frames that a crash discarded and that must not be replayed.
//! - [`faults`]: every call failing, once and permanently.
//! - [`corruption`]: every bit flipped, every file truncated, sectors misplaced.
//! - [`mutants`]: bugs planted in the store, which the experiments must find.
//!
//! All experiments return a [`Failure`] instead of panicking, so that found mutants can be
//! counted.

pub mod corruption;
pub mod faults;
pub mod mutants;
pub mod power_cuts;
pub mod random_crashes;
pub mod session;
pub mod simulated_medium;
pub mod stale_frames;

use std::fmt;

/// A guarantee that was broken.
#[derive(Debug)]
pub struct Failure(pub String);

impl Failure {
    /// Prefixes the message with where it happened.
    pub fn at(self, place: impl fmt::Display) -> Self {
        Failure(format!("{place}: {self}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The result of an experiment: how many states were opened, or the first broken guarantee.
pub type Outcome = Result<u64, Failure>;

/// The filters of the experiments: one that never clears cells, one that always does, one that
/// draws random numbers, one whose log carries the time, one that can take keys out, one that can do
/// that and grows inside its region, and one whose log carries importance.
pub const FILTERS: [&str; 7] = [
    "bloom:k=3",
    "stable:k=2,p=3,max=3",
    "rlbsbf:k=2",
    "window:k=3,span=600,step=60",
    "counting:k=3,bits=4",
    "quotient:bits=9,doublings=5,longest=12",
    "ibf3:k=2,p=3,max=3",
];

/// Returns a time for the observation at a position of the stream: it advances, stands still,
/// and is sometimes late.
pub fn tick_at(position: u64) -> u32 {
    const START: u64 = 1_000_000;
    let late = match position % 7 {
        3 => 100,
        _ => 0,
    };
    (START + position / 5 * 20 - late) as u32
}
