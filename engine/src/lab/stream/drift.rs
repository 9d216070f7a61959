//! `drift:X:W`: what is popular changes as the stream goes on.
//!
//! Of N places D = X % are first occurrences, spread over all places as in `shuffle:X`
//! (the first place is always one). Every other place repeats one of the W keys that
//! came for the first time most recently, each with the same chance; while fewer than W
//! have come, one of those. So a key is repeated only until W newer keys have come, some
//! W·100/X places later, and is then never met again.
//!
//! Far from both ends a live key is repeated at each place with a chance of h = (1 − x)/W,
//! x = X/100, for L = W/x places. So n(g) = h·e^(−hg)·(1 + h·(L − g)) repeats a key lie
//! g ≤ L places behind the occurrence before them, and none lies farther, give or take
//! the chance that makes W new keys come earlier or later.

use rand::Rng;

use super::shuffle::distinct_of;
use crate::fingerprint::reduce;

/// A stream that moves on from key to key.
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

    /// The key at the next place, of which `left` are left.
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
    fn it_has_exactly_the_distinct_keys_it_names() {
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

    /// Repeats are uniform among the newest W keys: chi-square over 50 ages, 49 degrees
    /// of freedom, mean 49, deviation 9.9.
    #[test]
    fn repeats_are_uniform_picks_of_the_newest_keys() {
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
        let off = |&count: &u32| (f64::from(count) - expected).powi(2) / expected;
        let chi_square: f64 = ages.iter().map(off).sum();
        assert!(chi_square < 49.0 + 4.0 * 9.9, "{chi_square}");
    }

    /// Shares of gaps against the law in the head of this file, at 200,000 repeats: a
    /// standard error of 0.1 %, and 0.5 % for the ends of the stream and of a key's life.
    #[test]
    fn gaps_follow_the_law() {
        let (window, share) = (1000.0f64, 0.5f64);
        let keys = numbers("drift:50:1000", 400_000, 4);
        let mut last = HashMap::new();
        let mut gaps = Vec::new();
        for (place, &key) in keys.iter().enumerate() {
            if let Some(before) = last.insert(key, place) {
                gaps.push((place - before) as f64);
            }
        }
        let (hazard, life) = ((1.0 - share) / window, window / share);
        let density = |g: f64| hazard * (-hazard * g).exp() * (1.0 + hazard * (life - g));
        let total: f64 = (0..life as u64).map(|g| density(g as f64 + 0.5)).sum();
        for until in [100u64, 500, 1000, 1500] {
            let law: f64 = (0..until).map(|g| density(g as f64 + 0.5)).sum::<f64>() / total;
            let near = gaps.iter().filter(|&&gap| gap <= until as f64).count();
            let found = near as f64 / gaps.len() as f64;
            assert!((found - law).abs() < 0.006, "{until}: {found}, {law}");
        }
        let longest = gaps.iter().copied().fold(0.0, f64::max);
        assert!(longest < 1.15 * life, "{longest}");
    }
}
