//! Uniform choices: `shuffle:X` and `uniform:X`.
//!
//! `shuffle:X` is the stream of the papers by Bera and Dutta. D = X % of N positions hold each of D
//! keys once; the other N − D positions hold uniform choices among those D keys; all positions are
//! shuffled. This generator needs no table of N positions. The next position holds one of the D
//! guaranteed keys with probability (guaranteed keys left) ÷ (positions left), and a uniform choice
//! otherwise. Choices are uniform, so the numbering of keys does not matter, and guaranteed keys
//! can be taken in a fixed order. The distribution is exactly that of the shuffled table.

use rand::Rng;

use crate::fingerprint::reduce;

/// Returns `percent` of `count`, rounded, but at least 1 if `count` is not 0.
pub(super) fn distinct_of(count: u64, percent: f64) -> u64 {
    let distinct = (count as f64 * percent / 100.0).round() as u64;
    distinct.clamp(count.min(1), count)
}

/// The stream `shuffle:X`.
#[derive(Clone, Debug)]
pub(super) struct Shuffle {
    distinct: u64,
    guaranteed_left: u64,
}

impl Shuffle {
    pub fn new(count: u64, distinct_percent: f64) -> Self {
        let distinct = distinct_of(count, distinct_percent);
        Shuffle {
            distinct,
            guaranteed_left: distinct,
        }
    }

    pub fn distinct(&self) -> u64 {
        self.distinct
    }

    /// Returns the key at the next position. `left` positions are left.
    #[inline]
    pub fn next(&mut self, left: u64, rng: &mut impl Rng) -> u64 {
        if reduce(rng.next_u64(), left) < self.guaranteed_left {
            self.guaranteed_left -= 1;
            self.distinct - 1 - self.guaranteed_left
        } else {
            reduce(rng.next_u64(), self.distinct)
        }
    }
}

/// Returns the number of keys for which `share` of `count` uniform choices are first occurrences:
/// u·count, where u·(1 − e^(−1/u)) = share.
pub(super) fn uniform_universe(count: u64, share: f64) -> u64 {
    const MAX_UNIVERSE: f64 = (1u64 << 40) as f64;
    let distinct_share = |u: f64| u * -libm::expm1(-1.0 / u);
    let (mut low, mut high) = (0.0f64, MAX_UNIVERSE);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if distinct_share(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    (high * count as f64).round().clamp(1.0, MAX_UNIVERSE) as u64
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::super::tests::{distinct, numbers};
    use super::*;

    #[test]
    fn shuffle_has_exactly_the_requested_distinct_keys() {
        for (percent, expected) in [("15", 1500), ("60", 6000), ("100", 10_000), ("0.01", 1)] {
            let keys = numbers(&format!("shuffle:{percent}"), 10_000, 5);
            assert_eq!((keys.len(), distinct(&keys)), (10_000, expected));
        }
    }

    /// Compares with the definition, a shuffled table, by the number of first occurrences in the
    /// first half. Its mean over 200 seeds has a standard error of about 0.5.
    #[test]
    fn shuffle_has_the_distribution_of_a_shuffled_table() {
        use rand::seq::SliceRandom;
        let (count, distinct_keys, rounds) = (1000u64, 300u64, 200);
        let first_half = |keys: &[u64]| distinct(&keys[..500]) as f64;
        let (mut ours, mut table) = (0.0, 0.0);
        for seed in 0..rounds {
            ours += first_half(&numbers("shuffle:30", count, seed));
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed + 1_000_000);
            let mut keys: Vec<u64> = (0..distinct_keys).collect();
            keys.extend((distinct_keys..count).map(|_| reduce(rng.next_u64(), distinct_keys)));
            keys.shuffle(&mut rng);
            table += first_half(&keys);
        }
        let difference = (ours - table) / rounds as f64;
        assert!(difference.abs() < 2.5, "{difference}");
    }

    #[test]
    fn uniform_has_about_the_requested_distinct_keys() {
        for percent in [15.0, 60.0, 90.0] {
            let keys = numbers(&format!("uniform:{percent}"), 100_000, 3);
            let found = 100.0 * distinct(&keys) as f64 / keys.len() as f64;
            assert!((found - percent).abs() < 0.6, "{percent}: {found}");
        }
    }
}
