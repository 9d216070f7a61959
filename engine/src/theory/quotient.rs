//! Tables of short signatures: slot, SQF, DSQF.
//!
//! **slot**: a slot holds the value of the last key that fell into it. A new key is dropped
//! if that has its value: (1 − e^(−d(t)/R))/V. A repeat is missed if another key fell there
//! since and the last of these has another value: (1 − e^(−d(g)/R))·(1 − 1/V).
//!
//! **SQF**: R rows of k buckets. Looking back from now, let A be the time since which a
//! bucket of the row would have survived; evictions come at the rate η(t) = (insertions a
//! row)/k once rows are full. A signature that a key has with the chance p is in the row if
//! a key with it came within A: 1 − E[e^(−p·d(A)/R)]. A repeat at the gap g is missed if
//! A < g and none such came within A. As insertions depend on both, it is solved step by
//! step.
//!
//! Dutta et al., 2013, have other equations (10 and 15): they count each key that came as
//! one chance to be dropped in 2^(q+r')·√(πr), leave higher orders out, and multiply by the
//! chance to be unique; they hold for neither hashed keys nor the identity that their
//! tables come from.

use super::prediction::{Formula, PredictedPoint, Prediction, Trust, positions};
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
    loose: "rows that have just filled: all are taken to be as full as the average",
};
pub(super) const IDENTITY: Formula = Formula {
    by: "rows of signatures, as if keys were hashed",
    trust: Trust::Bound,
    loose: "identity fingerprints: a row has only 2^r keys, and errs much less than this says",
};
pub(super) const SHARED_POOL: Formula = Formula {
    by: "rows of signatures with k buckets each, as in SQF",
    trust: Trust::Approximation,
    loose: "the pool: rows asked for lately keep more buckets than k, and others lose theirs first",
};

impl Quotient {
    /// Signatures that are alike: how likely a key has one of them, and each of them.
    fn classes(&self) -> Vec<(f64, f64)> {
        let low_bits = self.remainder_bits.saturating_sub(self.kept_bits);
        let all = libm::exp2(f64::from(low_bits));
        let kept = libm::exp2(f64::from(self.kept_bits));
        let mut ways = 1.0;
        (0..=low_bits)
            .map(|ones| {
                let share = ways / all;
                ways *= f64::from(low_bits - ones) / f64::from(ones + 1);
                (share, share / kept)
            })
            .collect()
    }

    /// The chance that a row has k different signatures, among `keys` keys on average.
    fn full(&self, classes: &[(f64, f64)], keys: f64) -> f64 {
        let kept = libm::exp2(f64::from(self.kept_bits));
        let present = |p: f64| -libm::expm1(-p * keys);
        let mean: f64 = classes.iter().map(|&(_, p)| kept * present(p)).sum();
        let spread: f64 = classes
            .iter()
            .map(|&(_, p)| kept * present(p) * (1.0 - present(p)))
            .sum();
        if kept * classes.len() as f64 <= self.k {
            return 0.0;
        }
        let z = (mean - self.k + 0.5) / libm::sqrt(spread.max(1e-9));
        0.5 * libm::erfc(-z * core::f64::consts::FRAC_1_SQRT_2)
    }

    pub fn predict(&self, workload: &Workload, formula: Formula) -> Prediction {
        let classes = self.classes();
        let grid: Vec<f64> = positions(workload).collect();
        // ∫η up to each position.
        let mut hazard = vec![0.0];
        let mut points = vec![PredictedPoint::default()];
        let mut speed_before = 1.0;
        for (i, &position) in grid.iter().enumerate().skip(1) {
            let keys = workload.distinct_within(position) / self.rows;
            let full = self.full(&classes, keys);
            let mut speed = speed_before;
            hazard.push(0.0);
            let mut point = PredictedPoint::default();
            for _ in 0..2 {
                let pace = full * (speed_before + speed) / 2.0 / (self.rows * self.k);
                hazard[i] = hazard[i - 1] + pace * (position - grid[i - 1]);
                point = self.point(workload, &classes, &grid, &hazard);
                let repeats = workload.repeat_rate(position);
                speed = (1.0 - repeats) * (1.0 - point.fpr) + repeats * point.fnr;
            }
            points.push(point);
            speed_before = speed;
        }
        Prediction::averaged(workload, formula, points)
    }

    /// The state at the last position that the hazard is known for.
    fn point(
        &self,
        workload: &Workload,
        classes: &[(f64, f64)],
        grid: &[f64],
        hazard: &[f64],
    ) -> PredictedPoint {
        let last = hazard.len() - 1;
        let (now, end) = (grid[last], hazard[last]);
        let (mut fpr, mut occupied) = (0.0, 0.0);
        let kept = libm::exp2(f64::from(self.kept_bits));
        // For each age, from now back: the chance that a repeat of that gap is missed.
        let mut misses = vec![(0.0, 0.0); last + 1];
        for &(share, p) in classes {
            let mut empty = 0.0;
            for i in (0..last).rev() {
                let age = now - (grid[i] + grid[i + 1]) / 2.0;
                let gone = libm::exp(hazard[i + 1] - end) - libm::exp(hazard[i] - end);
                empty += gone * libm::exp(-p * workload.distinct_within(age) / self.rows);
                let (_, miss) = &mut misses[last - i];
                *miss += share * empty;
                misses[last - i].0 = now - grid[i];
            }
            let never = libm::exp(-end) * libm::exp(-p * workload.distinct_within(now) / self.rows);
            let present = 1.0 - empty - never;
            fpr += share * present;
            occupied += kept * present;
        }
        let (mut missed, mut rate, mut at) = (0.0, 0.0, 0);
        for atom in workload.repeats_at(now) {
            while at + 2 < misses.len() && misses[at + 1].0 < atom.gap {
                at += 1;
            }
            let (low, high) = (misses[at], misses[(at + 1).min(last)]);
            let width = (high.0 - low.0).max(1e-9);
            let part = ((atom.gap - low.0) / width).clamp(0.0, 1.0);
            missed += atom.rate * (low.1 + part * (high.1 - low.1));
            rate += atom.rate;
        }
        PredictedPoint {
            position: now,
            fpr: fpr.clamp(0.0, 1.0),
            fnr: if rate > 0.0 { missed / rate } else { 0.0 },
            load: (occupied.min(self.k) / self.k).clamp(0.0, 1.0),
        }
    }
}
