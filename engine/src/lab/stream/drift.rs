//! `drift:X:W`: the popular keys change along the stream.
//!
//! Of N positions, D = X % are first occurrences, distributed over all positions as in `shuffle:X`
//! (the first position is always one). Every other position repeats one of the W newest keys, each
//! with the same probability; while there are fewer than W keys, one of those. So a key is repeated
//! until W newer keys have occurred, about W·100/X positions later, and then never again.
//!
//! Far from both ends of the stream, an active key is repeated at each position with probability
//! h = (1 − x)/W, x = X/100, for L = W/x positions. So each key has on average
//! n(g) = h·e^(−hg)·(1 + h·(L − g)) repeats at a gap of g ≤ L positions, and none at a longer gap,
//! apart from random variation of the time in which W new keys occur.

use rand::Rng;

use super::shuffle::distinct_of;
use crate::fingerprint::reduce;

/// A stream whose popular keys change.
#[derive(Clone, Debug)]
pub(super) struct Drift {
    distinct: u64,
    met: u64,
    window: u64,
}

impl Drift {
    pub fn new(count: u64, distinct_percent: f64, window: u64) -> Self {
        Drift {
            distinct: distinct_of(count, distinct_percent),
            met: 0,
            window,
        }
    }

    pub fn distinct(&self) -> u64 {
        self.distinct
    }

    /// Returns the key at the next position. `left` positions are left.
    #[inline]
    pub fn next(&mut self, left: u64, rng: &mut impl Rng) -> u64 {
        let first = reduce(rng.next_u64(), left) < self.distinct - self.met;
        if first || self.met == 0 {
            self.met += 1;
            return self.met - 1;
        }
        self.met - 1 - reduce(rng.next_u64(), self.met.min(self.window))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::tests::{distinct, numbers};

    #[test]
    fn drift_has_exactly_the_requested_distinct_keys() {
        for (form, expected) in [
            ("drift:15:100", 1500),
            ("drift:60:1", 6000),
            ("drift:100:5", 10_000),
            ("drift:0.01:7", 1),
            ("drift:30:1000000", 3000),
        ] {
            let keys = numbers(form, 10_000, 5);
            assert_eq!((keys.len(), distinct(&keys)), (10_000, expected), "{form}");
        }
    }

    /// Chi-square test over 50 ages: 49 degrees of freedom, mean 49, standard deviation 9.9.
    #[test]
    fn repeats_are_uniform_among_the_newest_keys() {
        const WINDOW: usize = 50;
        let mut ages = [0u32; WINDOW];
        let mut met = 0;
        for key in numbers("drift:20:50", 200_000, 9) {
            if key == met {
                met += 1;
            } else if met >= WINDOW as u64 {
                ages[(met - 1 - key) as usize] += 1;
            }
        }
        let expected = f64::from(ages.iter().sum::<u32>()) / WINDOW as f64;
        let deviation = |&count: &u32| (f64::from(count) - expected).powi(2) / expected;
        let chi_square: f64 = ages.iter().map(deviation).sum();
        assert!(chi_square < 49.0 + 4.0 * 9.9, "{chi_square}");
    }

    /// Compares shares of gaps with the formula at the top of this file. At 200,000 repeats the
    /// standard error is 0.1 %; the ends of the stream and of the active time add 0.5 %.
    #[test]
    fn gaps_follow_the_formula() {
        let (window, share) = (1000.0f64, 0.5f64);
        let keys = numbers("drift:50:1000", 400_000, 4);
        let mut last = HashMap::new();
        let mut gaps = Vec::new();
        for (position, &key) in keys.iter().enumerate() {
            if let Some(before) = last.insert(key, position) {
                gaps.push((position - before) as f64);
            }
        }
        let (hazard, active) = ((1.0 - share) / window, window / share);
        let density = |g: f64| hazard * (-hazard * g).exp() * (1.0 + hazard * (active - g));
        let total: f64 = (0..active as u64).map(|g| density(g as f64 + 0.5)).sum();
        for until in [100u64, 500, 1000, 1500] {
            let law: f64 = (0..until).map(|g| density(g as f64 + 0.5)).sum::<f64>() / total;
            let near = gaps.iter().filter(|&&gap| gap <= until as f64).count();
            let found = near as f64 / gaps.len() as f64;
            assert!((found - law).abs() < 0.006, "{until}: {found}, {law}");
        }
        let longest = gaps.iter().copied().fold(0.0, f64::max);
        assert!(longest < 1.15 * active, "{longest}");
    }
}
