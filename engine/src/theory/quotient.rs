//! Tables of short signatures: slot, SQF, DSQF.
//!
//! **slot**: a slot holds the value of the last key that fell into it. A new key is dropped
//! if that has its value: (1 − e^(−d(t)/R))/V. A repeat is missed if another key fell there
//! since and the last of these has another value: (1 − e^(−d(g)/R))·(1 − 1/V).
//!
//! **SQF**: R rows of k buckets. A signature that a key has with the chance p is a cell that
//! fades as in `fading.rs`: its keys are a share p/R of all, and once its row is full an
//! insertion in the row takes it with the chance 1/k.
//!
//! Dutta et al., 2013, have other equations (10 and 15): they count each key that came as
//! one chance to be dropped in 2^(q+r')·√(πr), leave higher orders out, and multiply by the
//! chance to be unique; they hold for neither hashed keys nor the identity that their
//! tables come from.

use super::fading::Fading;
use super::prediction::{Formula, Prediction, Trust};
use super::workload::Workload;

pub(super) fn slot(workload: &Workload, slots: f64, values: f64) -> Prediction {
    let formula = Formula {
        by: "one value a slot: (1 − e^(−d(t)/slots))/V and (1 − e^(−d(g)/slots))(1 − 1/V)",
        trust: Trust::Exact,
        loose: "few slots, or habits that change along the stream",
    };
    let taken = |window: f64| -libm::expm1(-workload.distinct_within(window) / slots);
    Prediction::of_state(
        workload,
        formula,
        |t| (taken(t) / values, taken(t)),
        |gap| taken(gap) * (1.0 - 1.0 / values),
    )
}

/// A table of `rows` rows with `k` buckets, of signatures of r bits of which rr are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quotient {
    pub rows: f64,
    pub k: f64,
    pub remainder_bits: u32,
    pub kept_bits: u32,
}

pub(super) const HASHED: Formula = Formula {
    by: "rows of signatures, hashed keys: evictions at random (not Dutta et al. 2013, Eq. 10 and 15)",
    trust: Trust::Approximation,
    loose: "FNR where few rows are full: those miss one another's keys over and over, and rows \
            are taken to be alike",
};
pub(super) const SHARED_POOL: Formula = Formula {
    by: "rows of signatures with k buckets each, as in SQF",
    trust: Trust::Approximation,
    loose: "the pool: rows asked for lately keep more buckets than k, and others lose theirs first",
};

impl Fading for Quotient {
    fn kinds(&self) -> Vec<(f64, f64)> {
        let low_bits = self.remainder_bits.saturating_sub(self.kept_bits);
        let all = libm::exp2(f64::from(low_bits));
        let signatures = libm::exp2(f64::from(self.kept_bits));
        let mut ways = 1.0;
        (0..=low_bits)
            .map(|ones| {
                let share = ways / all;
                ways *= f64::from(low_bits - ones) / f64::from(ones + 1);
                (share, share / signatures / self.rows)
            })
            .collect()
    }

    /// Only full rows evict: those with k different signatures, of a number that is about
    /// normal.
    fn emptied_by_insertion(&self, workload: &Workload, position: f64, _: f64) -> f64 {
        let signatures = libm::exp2(f64::from(self.kept_bits));
        let kinds = self.kinds();
        if signatures * kinds.len() as f64 <= self.k {
            return 0.0;
        }
        let keys = workload.distinct_within(position);
        let (mut mean, mut variance) = (0.0, 0.0);
        for (_, p) in kinds {
            let met = -libm::expm1(-p * keys);
            mean += signatures * met;
            variance += signatures * met * (1.0 - met);
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
