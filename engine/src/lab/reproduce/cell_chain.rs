//! Eq. 9 to 17 of Deng, Rafiei, 2006, as printed: which repeats a stable Bloom filter misses.
//!
//! Eq. 9 to 13 sum over the last setting of a cell. The same probability follows from the Markov
//! chain of the cell's value, from Max at the last occurrence of the key: in each iteration it is
//! lowered by 1 with probability p, and then set to Max with probability k.

use crate::theory::stable::lowered_for;

/// The parameters of a stable Bloom filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StableCells {
    pub k: u32,
    /// P, which Eq. 17 does not round.
    pub p: f64,
    pub max: u32,
    pub cells: u64,
}

/// The largest K that the paper tries.
const LARGEST_K: u32 = 10;

impl StableCells {
    /// Returns the parameters whose false positive rate is at most `max_fpr` (Eq. 17).
    pub fn for_fpr(max_fpr: f64, k: u32, max: u32, cells: u64) -> Self {
        let p = lowered_for(max_fpr, k, max, cells);
        StableCells { k, p, max, cells }
    }

    /// Returns the same with P rounded up, as a filter needs it.
    pub fn whole(self) -> Self {
        let p = libm::ceil(self.p);
        StableCells { p, ..self }
    }

    /// Returns the filter in its text form, and its memory.
    pub fn filter(&self) -> (String, u64) {
        let StableCells { k, p, max, cells } = self;
        let width = u64::from(u32::BITS - max.leading_zeros());
        (format!("stable:k={k},p={p},max={max}"), cells * width)
    }

    /// Returns the probability that a repeat at a gap is missed (Eq. 16), with φ = 0 and a key of no
    /// weight, so that a cell is set with probability K/m.
    pub fn fnr(&self, gap: u64) -> f64 {
        let (lowered, set) = (
            self.p / self.cells as f64,
            f64::from(self.k) / self.cells as f64,
        );
        let found = 1.0 - zero_after(gap, lowered.min(1.0), set, self.max as usize);
        1.0 - libm::pow(found, f64::from(self.k))
    }
}

/// Returns PR0, the probability that a cell is 0 so many iterations after it was set to `max`.
fn zero_after(iterations: u64, lowered: f64, set: f64, max: usize) -> f64 {
    let mut values = vec![0.0; max + 1];
    values[max] = 1.0;
    for _ in 0..iterations {
        for value in 0..max {
            values[value] += lowered * values[value + 1];
            values[value + 1] *= 1.0 - lowered;
        }
        for value in &mut values[..max] {
            *value *= 1.0 - set;
        }
        values[max] = 1.0 - values[..max].iter().sum::<f64>();
    }
    values[0]
}

/// Returns the best K for a gap: the lowest false negative rate within a false positive rate.
fn best_k(max_fpr: f64, max: u32, cells: u64, gap: u64) -> u32 {
    let fnr = |k: &u32| StableCells::for_fpr(max_fpr, *k, max, cells).fnr(gap);
    let best = (1..=LARGEST_K).min_by(|a, b| fnr(a).total_cmp(&fnr(b)));
    best.unwrap_or(1)
}

/// Cells and gaps of the paper's search for the best K, without those at which every K misses
/// almost every repeat.
const SEARCHED: [(u64, u64); 5] = [
    (1000, 10),
    (1000, 100),
    (100_000, 10),
    (100_000, 100),
    (100_000, 1000),
];

/// Returns the lowest and the highest of the best K over cells and gaps.
pub(super) fn best_ks(max_fpr: f64, max: u32) -> (f64, f64) {
    let best = SEARCHED.map(|(cells, gap)| f64::from(best_k(max_fpr, max, cells, gap)));
    best.iter()
        .fold((f64::MAX, 0.0), |(low, high), &k| (low.min(k), high.max(k)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of Eq. 9 to 13, term by term.
    fn printed(gap: u64, p: f64, k: f64, max: u64) -> f64 {
        let choose = |n: u64, j: u64| (0..j).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64);
        let lowered_to_zero = |l: u64| -> f64 {
            let terms = max..=l;
            terms
                .map(|j| choose(l, j) * p.powf(j as f64) * (1.0 - p).powf((l - j) as f64))
                .sum()
        };
        let set: f64 = (max..gap)
            .map(|l| lowered_to_zero(l) * (1.0 - k).powf(l as f64) * k)
            .sum();
        set + lowered_to_zero(gap) * (1.0 - k).powf(gap as f64)
    }

    #[test]
    fn the_chain_equals_the_printed_sum() {
        for (gap, p, k, max) in [(40, 0.05, 0.02, 1), (30, 0.2, 0.01, 3), (7, 0.3, 0.1, 7)] {
            let found = zero_after(gap, p, k, max as usize);
            let expected = printed(gap, p, k, max);
            assert!((found - expected).abs() < 1e-12, "{found}, {expected}");
        }
    }
}
