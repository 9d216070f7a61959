//! RSBF: the i-th key is inserted with probability s/i, whatever the verdict.
//!
//! Bits decay as in `cell_decay.rs`, at the rate η(i) = (s/i)/s at which an observation clears a
//! given bit. But only inserted keys set bits: in a window of w positions with d distinct keys,
//! each of which occurs w/d times on average, d·(1 − (1 − p)^(w/d)) were inserted, where p is the
//! mean probability.
//!
//! A repeat finds all its bits set if they were set at the last occurrence of its key, by the key
//! itself or by others, and were not cleared since; or if other keys have set the clear ones.

use super::power::power;
use super::prediction::{Formula, PredictedPoint, Prediction, Trust, positions, step_of};
use super::workload::Workload;

/// The geometry of an RSBF, in one of its two readings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reservoir {
    pub k: f64,
    /// The number of bits per partition.
    pub partition_bits: f64,
    /// How many observations clear nothing: 0 as published, s as printed.
    pub without_clearing: f64,
}

/// The states up to the present position.
#[derive(Default)]
struct History {
    grid: Vec<f64>,
    /// The integrals of η and of p.
    hazard: Vec<f64>,
    inserted: Vec<f64>,
    load: Vec<f64>,
    /// The probability that the key observed there finds all its bits set.
    found: Vec<f64>,
}

impl Reservoir {
    fn insertion_probability(&self, position: f64) -> f64 {
        (self.partition_bits / position.max(1.0)).min(1.0)
    }

    /// Returns the number of insertions up to a position: min(t, s), plus s·ln(t/s) beyond s.
    fn inserted(&self, position: f64) -> f64 {
        let beyond = (position / self.partition_bits).max(1.0);
        position.min(self.partition_bits) + self.partition_bits * libm::log(beyond)
    }

    pub fn predict(&self, workload: &Workload) -> Prediction {
        let formula = Formula {
            by: match self.without_clearing > 0.0 {
                false => "Bera et al. 2012, RSBF as in its tables: bits that decay (not Eq. 3.8)",
                true => "Bera et al. 2012, Algorithm 1: bits that decay (not Eq. 3.4 and 3.27)",
            },
            trust: Trust::Approximation,
            loose: match self.without_clearing > 0.0 {
                false => "skewed streams: all keys of a window are taken to occur equally often",
                true => {
                    "skewed streams, and streams with more than s/threshold keys, where bits are exchanged"
                }
            },
        };
        let mut history = History::default();
        let mut points = Vec::new();
        for position in positions(workload) {
            let inserted = self.inserted(position);
            let not_clearing = self.inserted(self.without_clearing.min(position));
            history.grid.push(position);
            history.inserted.push(inserted);
            history
                .hazard
                .push((inserted - not_clearing) / self.partition_bits);
            let point = self.point(workload, &mut history);
            points.push(point);
        }
        Prediction::averaged(workload, formula, points)
    }

    fn point(&self, workload: &Workload, history: &mut History) -> PredictedPoint {
        let last = history.grid.len() - 1;
        let now = history.grid[last];
        let (hazard, inserted) = (history.hazard[last], history.inserted[last]);
        let fills = |age: f64, inserted: f64| {
            let distinct = workload.distinct_within(age).max(1e-9);
            let probability = (inserted / age.max(1e-9)).min(1.0);
            distinct * (1.0 - power(1.0 - probability, age / distinct)) / self.partition_bits
        };
        // For each age, starting now: the probability that a bit is cleared at that gap.
        let mut lost = vec![0.0; last + 1];
        let mut empty = 0.0;
        for i in (0..last).rev() {
            let age = now - (history.grid[i] + history.grid[i + 1]) / 2.0;
            let since = inserted - (history.inserted[i] + history.inserted[i + 1]) / 2.0;
            let emptied =
                libm::exp(history.hazard[i + 1] - hazard) - libm::exp(history.hazard[i] - hazard);
            empty += emptied * libm::exp(-fills(age, since));
            lost[last - i] = empty;
        }
        let never = libm::exp(-hazard) * libm::exp(-fills(now, inserted));
        let load = (1.0 - empty - never).clamp(0.0, 1.0);
        history.load.push(load);
        let (mut missed, mut rate) = (0.0, 0.0);
        for repeats in workload.repeats_at(now) {
            let then = now - repeats.gap;
            let (step, part) = step_of(workload, then);
            let (low, high) = (step.min(last), (step + 1).min(last));
            let at = |series: &[f64]| {
                let high = high.min(series.len() - 1);
                series[low.min(high)] + part * (series[high] - series[low.min(high)])
            };
            let gone = lost[last - low] + part * (lost[last - high] - lost[last - low]);
            let kept = power(1.0 - gone, self.k);
            let inserted_then = self.insertion_probability(then);
            let (found, was) = (at(&history.found), at(&history.load));
            let set = inserted_then + (1.0 - inserted_then) * found;
            // A bit that was clear then is set now if another key set it since.
            let moved = hazard - at(&history.hazard)
                + (inserted - at(&history.inserted)) / self.partition_bits;
            let filled = (load - was * libm::exp(-moved)).clamp(0.0, 1.0);
            let all = set * kept + (1.0 - set) * filled * power(1.0 - gone, self.k - 1.0);
            missed += repeats.rate * (1.0 - all);
            rate += repeats.rate;
        }
        let fpr = power(load, self.k);
        let rate = rate.min(1.0);
        history
            .found
            .push((1.0 - rate) * fpr + (rate - missed).max(0.0));
        PredictedPoint {
            position: now,
            fpr,
            fnr: if rate > 0.0 { missed / rate } else { 0.0 },
            load,
        }
    }
}
