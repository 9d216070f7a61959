//! Tables of short signatures: slot, SQF, DSQF.
//!
//! **slot**: a slot holds the value of the last key that was stored in it. A new key is a false
//! positive if this is also its value: (1 − e^(−d(t)/R))/V. A repeat is missed if another key was
//! stored in the slot since, and the last of these keys has another value:
//! (1 − e^(−d(g)/R))·(1 − 1/V).
//!
//! **SQF**: R rows of k buckets. A signature that a key has with probability p is a cell that
//! decays as in `cell_decay.rs`: a share p/R of all keys belongs to it, and once its row is full,
//! an insertion into the row replaces it with probability 1/k.
//!
//! Dutta et al., 2013, have other equations (10 and 15). They count each previous key as one chance
//! in 2^(q+r')·√(πr) of a false positive, neglect higher orders, and multiply by the probability
//! that a key is unique. These equations hold neither for hashed keys nor for the identity
//! fingerprints behind the paper's tables.

use super::cell_decay::CellDecay;
use super::prediction::{Formula, Prediction, Trust};
use super::workload::Workload;

/// Predicts a table of single slots.
pub(super) fn slot(workload: &Workload, slots: f64, values: f64) -> Prediction {
    let formula = Formula {
        by: "one value per slot: (1 − e^(−d(t)/slots))/V and (1 − e^(−d(g)/slots))(1 − 1/V)",
        trust: Trust::Exact,
        loose: "few slots, or a stream that changes",
    };
    let taken = |window: f64| -libm::expm1(-workload.distinct_within(window) / slots);
    Prediction::of_state(
        workload,
        formula,
        |t| (taken(t) / values, taken(t)),
        |gap| taken(gap) * (1.0 - 1.0 / values),
    )
}

/// Rows of buckets with signatures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    rows: f64,
    /// The number of buckets per row.
    k: f64,
    remainder_bits: u32,
    kept_bits: u32,
}

/// SQF with hashed keys.
pub(super) const HASHED: Formula = Formula {
    by: "rows of signatures, hashed keys: evictions at random (not Dutta et al. 2013, Eq. 10 and 15)",
    trust: Trust::Approximation,
    loose: "FNR if few rows are full: their keys evict one another again and again, but all rows \
            are taken to be alike",
};
/// DSQF.
pub(super) const SHARED_POOL: Formula = Formula {
    by: "rows of signatures with k buckets each, as in SQF",
    trust: Trust::Approximation,
    loose: "the pool: recently used rows have more than k buckets, and others lose theirs first",
};

impl Rows {
    /// Returns `rows` rows of `k` buckets. A remainder has a number of bits, of which a number
    /// are stored.
    pub fn new(rows: f64, k: f64, (remainder_bits, kept_bits): (u32, u32)) -> Self {
        Rows {
            rows,
            k,
            remainder_bits,
            kept_bits,
        }
    }

    /// Returns the number of buckets per row.
    pub fn buckets(&self) -> f64 {
        self.k
    }

    /// Returns the kinds of signatures: how many there are, and the probability of each.
    pub fn signatures(&self) -> Vec<(f64, f64)> {
        let count = libm::exp2(f64::from(self.kept_bits));
        let kinds = self.kinds().into_iter();
        kinds.map(|(share, _)| (count, share / count)).collect()
    }
}

impl CellDecay for Rows {
    fn kinds(&self) -> Vec<(f64, f64)> {
        let low_bits = self.remainder_bits.saturating_sub(self.kept_bits);
        let all = libm::exp2(f64::from(low_bits));
        let signatures = libm::exp2(f64::from(self.kept_bits));
        let mut combinations = 1.0;
        (0..=low_bits)
            .map(|ones| {
                let share = combinations / all;
                combinations *= f64::from(low_bits - ones) / f64::from(ones + 1);
                (share, share / signatures / self.rows)
            })
            .collect()
    }

    /// Only full rows evict: rows with k different signatures. The number of signatures is taken
    /// to be normally distributed.
    fn emptied_by_insertion(&self, workload: &Workload, position: f64, _: f64) -> f64 {
        let signatures = libm::exp2(f64::from(self.kept_bits));
        let kinds = self.kinds();
        if signatures * kinds.len() as f64 <= self.k {
            return 0.0;
        }
        let keys = workload.distinct_within(position);
        let (mut mean, mut variance) = (0.0, 0.0);
        for (_, p) in kinds {
            let occurred = -libm::expm1(-p * keys);
            mean += signatures * occurred;
            variance += signatures * occurred * (1.0 - occurred);
        }
        let z = (mean - self.k + 0.5) / libm::sqrt(variance.max(1e-9));
        let full = 0.5 * libm::erfc(-z * core::f64::consts::FRAC_1_SQRT_2);
        full / (self.rows * self.k)
    }

    fn all(&self, one: f64) -> f64 {
        one
    }

    fn load(&self, full: &[f64]) -> f64 {
        let signatures = libm::exp2(f64::from(self.kept_bits));
        let held: f64 = full.iter().map(|found| signatures * found).sum();
        (held / self.k).clamp(0.0, 1.0)
    }
}
