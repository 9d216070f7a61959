//! Rounds in which every contender takes the same keys.

use std::time::Instant;

use super::contenders::Contender;
use super::keys::{KEYS_PER_ROUND, Keys};

/// The times of one contender in nanoseconds per key, one per round.
#[derive(Clone, Default)]
pub struct Times(Vec<f64>);

impl Times {
    /// Adds a round in which so many keys took the time since `started`.
    pub fn add(&mut self, started: Instant, keys: usize) {
        self.0
            .push(started.elapsed().as_nanos() as f64 / keys as f64);
    }

    pub fn median(&self) -> f64 {
        median(self.0.iter().copied())
    }

    pub fn minimum(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Returns the median over rounds of the ratio of the times in the same round.
    pub fn ratio_to(&self, other: &Times) -> f64 {
        median(self.0.iter().zip(&other.0).map(|(own, other)| own / other))
    }
}

/// Measures all contenders. Each round starts with another one, so that none always follows the
/// same one.
pub fn interleaved(contenders: &mut [Contender], rounds: usize, urls: bool) -> Vec<Times> {
    let mut times = vec![Times::default(); contenders.len()];
    for round in 0..rounds {
        let keys = Keys::of_round(round as u64, urls);
        for i in 0..contenders.len() {
            let which = (i + round) % contenders.len();
            let started = Instant::now();
            let new = keys.feed(&mut contenders[which].observe);
            times[which].add(started, KEYS_PER_ROUND);
            std::hint::black_box(new);
        }
    }
    times
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
