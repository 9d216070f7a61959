//! What a formula says, and how far it is to be trusted.

use serde::Serialize;

use super::workload::Workload;

/// How a number relates to the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// The expectation itself, for a stationary stream and many cells.
    Exact,
    /// Near it; see where it is loose.
    Approximation,
    /// At least as much as the truth.
    Bound,
}

/// A moment of the stream. Rates are those of the observation at this position.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PredictedPoint {
    /// Observations before.
    pub position: f64,
    /// The chance that a new key is taken for Seen.
    pub fpr: f64,
    /// The chance that a repeat is taken for New.
    pub fnr: f64,
    /// The share of cells in use.
    pub load: f64,
}

/// The predicted errors of a filter on a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// First occurrences taken for Seen, as a share of them, over the whole stream.
    pub fpr: f64,
    /// Repeats taken for New, as a share of them, over the whole stream.
    pub fnr: f64,
    /// The formula's name and source.
    pub by: &'static str,
    /// How it relates to the truth.
    pub trust: Trust,
    /// Where it is loose.
    pub loose: &'static str,
    points: Vec<PredictedPoint>,
}

/// A formula's name and standing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Formula {
    pub by: &'static str,
    pub trust: Trust,
    pub loose: &'static str,
}

impl Prediction {
    /// Averages over the stream what a formula says at each position: FPR over the first
    /// occurrences, FNR over the repeats.
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

    /// A formula whose state at a position does not depend on what came of other keys:
    /// given are the drop chance and load there, and the chance that a repeat at a gap is
    /// missed.
    pub(super) fn of_state(
        workload: &Workload,
        formula: Formula,
        state: impl Fn(f64) -> (f64, f64),
        miss: impl Fn(f64) -> f64,
    ) -> Self {
        let misses: Vec<(f64, f64)> = workload
            .repeats_at(workload.count())
            .iter()
            .scan(0.0, |sum, atom| {
                *sum += atom.rate * miss(atom.gap);
                Some((atom.gap, *sum))
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

    /// The curve, from the start of the stream to its end.
    pub fn points(&self) -> &[PredictedPoint] {
        &self.points
    }

    /// The state at the end of the stream.
    pub fn end(&self) -> PredictedPoint {
        self.points.last().copied().unwrap_or_default()
    }

    /// The drop chance of a new key at a position.
    pub fn fpr_at(&self, position: f64) -> f64 {
        self.at(position, |point| point.fpr)
    }

    /// The chance that a repeat at a position is missed.
    pub fn fnr_at(&self, position: f64) -> f64 {
        self.at(position, |point| point.fnr)
    }

    /// The share of cells in use at a position.
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

/// The positions of a curve: N·(i/steps)³, dense at its start, where empty filters change
/// fast.
pub(super) fn positions(workload: &Workload) -> impl Iterator<Item = f64> + use<> {
    let (count, steps) = (workload.count(), workload.steps());
    (0..=steps).map(move |i| {
        let share = i as f64 / steps as f64;
        count * share * share * share
    })
}

/// Where a position lies among [`positions`], as a whole place and a part of a step.
pub(super) fn step_of(workload: &Workload, position: f64) -> (usize, f64) {
    let steps = workload.steps();
    let share = (position / workload.count()).clamp(0.0, 1.0);
    let step = libm::cbrt(share) * steps as f64;
    let place = (step as usize).min(steps - 1);
    (place, step - place as f64)
}
