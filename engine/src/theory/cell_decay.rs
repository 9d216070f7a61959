//! Cells that keys fill and that insertions empty at random: BSBF, BSBFSD, RLBSBF and SQF.
//!
//! Let A be the time since the cell was last emptied, looking back from now. At time t it is
//! emptied at the rate η(t), so Pr(A > a) = e^−(H(t) − H(t − a)) with H = ∫η. The cell is empty if
//! none of its keys occurred within A, because a key that finds it empty is New and fills it. A
//! window of A positions has d(A) distinct keys, of which a share p belongs to the cell: Pr(empty)
//! = E[e^(−p·d(A))]. A repeat at gap g finds its cell empty if A < g and no other key of the cell
//! occurred within A: the same expectation, restricted to A < g.
//!
//! η follows from the number of insertions, which follows from both error rates. It is solved step
//! by step along the stream.

use super::prediction::{Formula, PredictedPoint, Prediction, positions};
use super::workload::Workload;

/// A filter of such cells.
pub(super) trait CellDecay {
    /// Returns the kinds of cells: the probability that a cell of a key is of this kind, and the
    /// share of keys that belong to such a cell.
    fn kinds(&self) -> Vec<(f64, f64)>;

    /// Returns the probability that one insertion empties a given cell, after `position`
    /// observations.
    fn emptied_by_insertion(&self, workload: &Workload, position: f64, load: f64) -> f64;

    /// Returns the probability that all cells of a key are full, given that of one.
    fn all(&self, one: f64) -> f64;

    /// Returns the share of cells in use, given for each kind the probability that a key's cell
    /// is full.
    fn load(&self, full: &[f64]) -> f64;
}

/// Solves for both rates along the stream.
pub(super) fn solve(workload: &Workload, formula: Formula, filter: &impl CellDecay) -> Prediction {
    let kinds = filter.kinds();
    let grid: Vec<f64> = positions(workload).collect();
    let mut hazard = vec![0.0];
    let mut points = vec![PredictedPoint::default()];
    let (mut speed_before, mut load_before) = (1.0, 0.0);
    for (i, &position) in grid.iter().enumerate().skip(1) {
        let (mut speed, mut load) = (speed_before, load_before);
        hazard.push(0.0);
        let mut point = PredictedPoint::default();
        // Twice: first with the state of the last step, then with the mean of it and the new one.
        for _ in 0..2 {
            let middle = (load_before + load) / 2.0;
            let emptied = filter.emptied_by_insertion(workload, position, middle);
            let insertions = (position - grid[i - 1]) * (speed_before + speed) / 2.0;
            hazard[i] = hazard[i - 1] + emptied * insertions;
            point = state(workload, filter, &kinds, &grid, &hazard);
            let repeats = workload.repeat_rate(position);
            speed = (1.0 - repeats) * (1.0 - point.fpr) + repeats * point.fnr;
            load = point.load;
        }
        points.push(point);
        (speed_before, load_before) = (speed, load);
    }
    Prediction::averaged(workload, formula, points)
}

/// Returns the state at the last position for which the hazard is known.
fn state(
    workload: &Workload,
    filter: &impl CellDecay,
    kinds: &[(f64, f64)],
    grid: &[f64],
    hazard: &[f64],
) -> PredictedPoint {
    let last = hazard.len() - 1;
    let (now, end) = (grid[last], hazard[last]);
    let survived: Vec<f64> = hazard.iter().map(|h| libm::exp(h - end)).collect();
    let distinct: Vec<f64> = (0..last)
        .map(|i| workload.distinct_within(now - (grid[i] + grid[i + 1]) / 2.0))
        .collect();
    let all_distinct = workload.distinct_within(now);
    let mut fpr = 0.0;
    let mut full = Vec::with_capacity(kinds.len());
    // For each age, starting now: the probability that a repeat at that gap is missed.
    let mut misses = vec![0.0; last + 1];
    for &(share, p) in kinds {
        let mut empty = 0.0;
        for i in (0..last).rev() {
            empty += (survived[i + 1] - survived[i]) * libm::exp(-p * distinct[i]);
            misses[last - i] += share * (1.0 - filter.all(1.0 - empty));
        }
        let never = survived[0] * libm::exp(-p * all_distinct);
        let found = (1.0 - empty - never).clamp(0.0, 1.0);
        fpr += share * filter.all(found);
        full.push(found);
    }
    let (mut missed, mut rate, mut at) = (0.0, 0.0, 0);
    let age = |back: usize| now - grid[last - back];
    for repeats in workload.repeats_at(now) {
        while at + 2 <= last && age(at + 1) < repeats.gap {
            at += 1;
        }
        let part = (repeats.gap - age(at)) / (age(at + 1) - age(at)).max(1e-9);
        let (low, high) = (misses[at], misses[at + 1]);
        missed += repeats.rate * (low + part.clamp(0.0, 1.0) * (high - low));
        rate += repeats.rate;
    }
    PredictedPoint {
        position: now,
        fpr: fpr.clamp(0.0, 1.0),
        fnr: if rate > 0.0 { missed / rate } else { 0.0 },
        load: filter.load(&full),
    }
}
