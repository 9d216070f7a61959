//! RSBF: the i-th key is inserted with a chance of s/i, whatever the verdict.
//!
//! Bits fade as in `fading.rs`, at the rate η(i) = (s/i)/s that an arrival clears a given
//! bit. But only inserted keys set bits: of a window of w places with d distinct keys, each
//! met w/d times on average, d·(1 − (1 − p)^(w/d)) were inserted, p being the mean chance.
//!
//! A repeat finds all its bits set if they were at the last occurrence of its key, because
//! it was inserted or because they were found so, and did not fade since; or if others
//! have set what was clear.

use super::power::power;
use super::prediction::{Formula, PredictedPoint, Prediction, Trust, positions, step_of};
use super::workload::Workload;

/// The geometry of an RSBF, and which of its two readings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reservoir {
    pub k: f64,
    /// Bits a part.
    pub span: f64,
    /// How many arrivals clear nothing: none as published, s as printed.
    pub spared: f64,
}

/// What is known along the stream so far.
#[derive(Default)]
struct History {
    grid: Vec<f64>,
    /// ∫η, and ∫p.
    hazard: Vec<f64>,
    inserted: Vec<f64>,
    load: Vec<f64>,
    /// The chance that an arriving key finds all its bits set.
    found: Vec<f64>,
}

impl Reservoir {
    fn chance(&self, position: f64) -> f64 {
        (self.span / position.max(1.0)).min(1.0)
    }

    /// Arrivals inserted among the first so many: min(t, s) + s·ln(t/s) past s.
    fn inserted(&self, position: f64) -> f64 {
        let beyond = (position / self.span).max(1.0);
        position.min(self.span) + self.span * libm::log(beyond)
    }

    pub fn predict(&self, workload: &Workload) -> Prediction {
        let formula = Formula {
            by: match self.spared > 0.0 {
                false => "Bera et al. 2012, RSBF as its tables read: bits that fade (not Eq. 3.8)",
                true => "Bera et al. 2012, Algorithm 1: bits that fade (not Eq. 3.4 and 3.27)",
            },
            trust: Trust::Approximation,
            loose: match self.spared > 0.0 {
                false => "skewed streams: every key of a window is taken to be met as often",
                true => {
                    "skewed streams; and streams past s/threshold keys, where bits are exchanged"
                }
            },
        };
        let mut history = History::default();
        let mut points = Vec::new();
        for position in positions(workload) {
            let inserted = self.inserted(position);
            let spared = self.inserted(self.spared.min(position));
            history.grid.push(position);
            history.inserted.push(inserted);
            history.hazard.push((inserted - spared) / self.span);
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
            let chance = (inserted / age.max(1e-9)).min(1.0);
            distinct * (1.0 - power(1.0 - chance, age / distinct)) / self.span
        };
        // For each age, from now back: the chance that a bit is lost at that gap.
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
        for atom in workload.repeats_at(now) {
            let then = now - atom.gap;
            let (place, part) = step_of(workload, then);
            let (low, high) = (place.min(last), (place + 1).min(last));
            let at = |series: &[f64]| {
                let high = high.min(series.len() - 1);
                series[low.min(high)] + part * (series[high] - series[low.min(high)])
            };
            let gone = lost[last - low] + part * (lost[last - high] - lost[last - low]);
            let kept = power(1.0 - gone, self.k);
            let inserted_then = self.chance(then);
            let (found, was) = (at(&history.found), at(&history.load));
            let set = inserted_then + (1.0 - inserted_then) * found;
            // A bit that was clear then is set now if others set it since.
            let moved =
                hazard - at(&history.hazard) + (inserted - at(&history.inserted)) / self.span;
            let filled = (load - was * libm::exp(-moved)).clamp(0.0, 1.0);
            let all = set * kept + (1.0 - set) * filled * power(1.0 - gone, self.k - 1.0);
            missed += atom.rate * (1.0 - all);
            rate += atom.rate;
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
