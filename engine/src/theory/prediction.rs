//! The result of a formula, and how accurate it is.

use serde::Serialize;

use super::workload::Workload;

/// How a prediction relates to the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Equal to the expected value, for a stationary stream and many cells.
    Exact,
    /// Close to it; [`Prediction::loose`] says where it is inaccurate.
    Approximation,
    /// An upper bound.
    Bound,
}

/// The predicted state at a position of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PredictedPoint {
    /// The number of observations before this position.
    pub position: f64,
    /// The probability that a new key is reported as Seen.
    pub fpr: f64,
    /// The probability that a repeat is reported as New.
    pub fnr: f64,
    /// The share of cells in use.
    pub load: f64,
}

/// The predicted errors of a filter on a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The share of first occurrences that are reported as Seen, over the whole stream.
    pub fpr: f64,
    /// The share of repeats that are reported as New, over the whole stream.
    pub fnr: f64,
    /// The name and source of the formula.
    pub by: &'static str,
    /// How it relates to the truth.
    pub trust: Trust,
    /// Where it is inaccurate.
    pub loose: &'static str,
    points: Vec<PredictedPoint>,
}

/// The name and accuracy of a formula.
#[derive(Clone, Copy, Debug)]
pub(super) struct Formula {
    pub by: &'static str,
    pub trust: Trust,
    pub loose: &'static str,
}

impl Prediction {
    /// Averages predicted points over the stream: the FPR over first occurrences, the FNR over
    /// repeats.
    pub(super) fn averaged(
        workload: &Workload,
        formula: Formula,
        points: Vec<PredictedPoint>,
    ) -> Self {
        let (mut dropped, mut missed) = (0.0, 0.0);
        let (mut firsts, mut repeats) = (0.0, 0.0);
        for pair in points.windows(2) {
            let [before, after] = [pair[0], pair[1]];
            let met = workload.distinct_within(after.position)
                - workload.distinct_within(before.position);
            let again = (after.position - before.position - met).max(0.0);
            firsts += met;
            repeats += again;
            dropped += met * (before.fpr + after.fpr) / 2.0;
            missed += again * (before.fnr + after.fnr) / 2.0;
        }
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Prediction {
            fpr: share(dropped, firsts).clamp(0.0, 1.0),
            fnr: share(missed, repeats).clamp(0.0, 1.0),
            by: formula.by,
            trust: formula.trust,
            loose: formula.loose,
            points,
        }
    }

    /// Evaluates a formula whose state does not depend on the verdicts about other keys. `state`
    /// returns the FPR and the load at a position; `miss` returns the probability that a repeat at
    /// a gap is missed.
    pub(super) fn of_state(
        workload: &Workload,
        formula: Formula,
        state: impl Fn(f64) -> (f64, f64),
        miss: impl Fn(f64) -> f64,
    ) -> Self {
        let misses: Vec<(f64, f64)> = workload
            .repeats_at(workload.count())
            .iter()
            .scan(0.0, |sum, repeats| {
                *sum += repeats.rate * miss(repeats.gap);
                Some((repeats.gap, *sum))
            })
            .collect();
        let points = positions(workload).map(|position| {
            let (fpr, load) = state(position);
            let end = misses.partition_point(|(gap, _)| *gap < position);
            let missed = end.checked_sub(1).map_or(0.0, |last| misses[last].1);
            let rate = workload.repeat_rate(position);
            PredictedPoint {
                position,
                fpr,
                fnr: if rate > 0.0 { missed / rate } else { 0.0 },
                load,
            }
        });
        let points = points.collect();
        Self::averaged(workload, formula, points)
    }

    /// Returns the predicted states from the start of the stream to its end.
    pub fn points(&self) -> &[PredictedPoint] {
        &self.points
    }

    /// Returns the predicted state at the end of the stream.
    pub fn end(&self) -> PredictedPoint {
        self.points.last().copied().unwrap_or_default()
    }

    /// Returns the false positive rate at the planned number of keys: that of a key that comes at
    /// the end of the stream. [`fpr`](Prediction::fpr) is the mean over the stream, which is lower
    /// if the filter starts empty and only fills.
    pub fn final_fpr(&self) -> f64 {
        self.end().fpr
    }

    /// Returns the probability that a new key at this position is reported as Seen.
    pub fn fpr_at(&self, position: f64) -> f64 {
        self.at(position, |point| point.fpr)
    }

    /// Returns the probability that a repeat at this position is reported as New.
    pub fn fnr_at(&self, position: f64) -> f64 {
        self.at(position, |point| point.fnr)
    }

    /// Returns the share of cells in use at this position.
    pub fn load_at(&self, position: f64) -> f64 {
        self.at(position, |point| point.load)
    }

    fn at(&self, position: f64, value: impl Fn(&PredictedPoint) -> f64) -> f64 {
        let after = self.points.partition_point(|it| it.position < position);
        match (
            after.checked_sub(1).and_then(|i| self.points.get(i)),
            self.points.get(after),
        ) {
            (Some(low), Some(high)) => {
                let share = (position - low.position) / (high.position - low.position);
                value(low) + share * (value(high) - value(low))
            }
            (Some(only), None) | (None, Some(only)) => value(only),
            (None, None) => 0.0,
        }
    }
}

/// Returns the positions at which formulas are evaluated: N·(i/steps)³, denser at the start, where
/// an empty filter changes fast.
pub(super) fn positions(workload: &Workload) -> impl Iterator<Item = f64> + use<> {
    let (count, steps) = (workload.count(), workload.steps());
    (0..=steps).map(move |i| {
        let share = i as f64 / steps as f64;
        count * share * share * share
    })
}

/// Returns the index among [`positions`] of the last one before a position, and the fraction of the
/// step to the next.
pub(super) fn step_of(workload: &Workload, position: f64) -> (usize, f64) {
    let steps = workload.steps();
    let share = (position / workload.count()).clamp(0.0, 1.0);
    let step = libm::cbrt(share) * steps as f64;
    let index = (step as usize).min(steps - 1);
    (index, step - index as f64)
}
