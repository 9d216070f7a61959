//! The crash laboratory: a simulated disk, a model of what must be recovered, and ways to
//! bring the two apart.
//!
//! - [`medium`]: a disk in memory that forgets what was not synced, tears sectors, fails on
//!   command and loses what a failed sync left behind.
//! - [`life`]: a store on that disk, beside a model that knows the state after every prefix.
//! - [`walk`]: random lives that end in random crashes, again and again on one disk.
//! - [`cuts`]: one short life cut at every call, and every state each cut can leave.
//! - [`ghosts`]: frames that were undone and must not come back.
//! - [`faults`]: every call failing, once and for good.
//! - [`rot`]: every bit flipped, every file truncated, blocks misplaced.
//! - [`hunt`]: bugs planted in the store, which the experiments must find.
//!
//! All return a [`Failure`] instead of panicking, so that planted bugs can be counted.

pub mod cuts;
pub mod faults;
pub mod ghosts;
pub mod hunt;
pub mod life;
pub mod medium;
pub mod rot;
pub mod walk;

use std::fmt;

/// A promise that was broken.
#[derive(Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an experiment came to: how many states were opened, or the first broken promise.
pub type Outcome = Result<u64, Failure>;

/// The filters that are experimented on: one that never clears, one that always does, one
/// that draws random numbers.
pub const FILTERS: [&str; 3] = ["bloom:k=3", "stable:k=2,p=3,max=3", "rlbsbf:k=2"];
