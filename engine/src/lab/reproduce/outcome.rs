//! What a run counts, and the values of cells that follow from it.

use super::Metric;
use super::horizontal_slices::MAX_EQUAL;
use super::koloniari_growth::{THIRDS, Third};
use super::sliced_filter::SiteOutcome;
use crate::lab::filter_run::FilterRun;
use crate::lab::scoreboard::{Scoreboard, share};
use crate::lab::weights::Weights;

/// Counts of verdicts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The number of first occurrences.
    pub distinct: u64,
    /// First occurrences reported Seen.
    pub false_positives: u64,
    /// The number of repeats.
    pub repeats: u64,
    /// Repeats reported New.
    pub false_negatives: u64,
    /// Repeats that the other filter of [`Contender::Versus`](super::Contender::Versus) reported New.
    pub reference_false_negatives: u64,
    /// The counts after each tenth of the stream. Only counted for filters of the registry.
    pub tenths: [Tenth; TENTHS],
    /// Duplicates by the number of equal timers, from 1 on. Only counted for
    /// [`Contender::HorizontalSlices`](super::Contender::HorizontalSlices) of timers that need not be equal.
    pub by_equal_timers: [Duplicates; MAX_EQUAL],
    /// The thirds of the stream. Only counted for [`Contender::Growing`](super::Contender::Growing).
    pub thirds: [Third; THIRDS],
    /// Only counted for [`Contender::Slices`](super::Contender::Slices).
    pub sites: SiteOutcome,
    /// Hits and accesses at each level of a tree.
    pub levels: [LevelOutcome; MAX_LEVELS],
    /// Counts by importance, if the stream has importance.
    pub weights: Weights,
    /// The same of the other filter of [`Contender::Compared`](super::Contender::Compared).
    pub reference: Weights,
    /// The numbers of empty cells at points of the second half of the stream, added up, and the
    /// number of points.
    pub empty_cells: (u64, u64),
    /// The lowest and the highest result of a search: a memory in megabytes, a number of hash
    /// functions, a difference in points.
    pub found: Option<(f64, f64)>,
}

/// The parts of a stream after which counts are kept.
pub(super) const TENTHS: usize = 10;

/// The counts after a part of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tenth {
    /// First occurrences so far.
    pub distinct: u64,
    /// First occurrences reported Seen.
    pub false_positives: u64,
    /// Repeats so far.
    pub repeats: u64,
    /// Repeats reported New.
    pub false_negatives: u64,
    /// Cells in use at this moment, added up over the runs.
    pub occupied: u64,
    /// All cells, added up over the runs.
    pub cells: u64,
}

/// The most levels of a tree of which hits and accesses are counted.
pub(super) const MAX_LEVELS: usize = 5;

/// What happened at a level of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelOutcome {
    /// Observations reported Seen because of a hit at this level.
    pub hits: u64,
    /// How often a node was asked or told something.
    pub accesses: u64,
}

/// Observations reported Seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Duplicates {
    /// All of them.
    pub reported: u64,
    /// Those that are repeats.
    pub correct: u64,
}

impl Outcome {
    /// Returns the value of a metric, in percent if it is a rate. None if there were no
    /// observations to count.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        let all = self.distinct + self.repeats;
        let missed_within = |from, to| Some(100.0 * self.weights.rates_within(from, to)?.i_fn);
        match metric {
            Metric::Filters { third } => {
                let third = self.thirds.get(third)?;
                share(third.filters, third.observations)
            }
            Metric::FilterChanges { third } => {
                let third = self.thirds.get(third)?;
                share(1000 * third.changes, third.observations)
            }
            Metric::FprInThird { third } => {
                let third = self.thirds.get(third)?;
                percent(third.false_positives, third.new)
            }
            Metric::Fpr => percent(self.false_positives, self.distinct),
            Metric::Fnr => percent(self.false_negatives, self.repeats),
            Metric::FprUntil { tenths } => {
                let tenth = self.tenth(tenths)?;
                percent(tenth.false_positives, tenth.distinct)
            }
            Metric::FnrUntil { tenths } => {
                let tenth = self.tenth(tenths)?;
                percent(tenth.false_negatives, tenth.repeats)
            }
            Metric::LoadAt { tenths } => {
                let tenth = self.tenth(tenths)?;
                percent(tenth.occupied, tenth.cells)
            }
            Metric::ZerosAt { tenths } => {
                let tenth = self.tenth(tenths)?;
                percent(tenth.cells - tenth.occupied, tenth.cells)
            }
            Metric::FnrDifference => Some(self.value(Metric::Fnr)? - self.reference_fnr()?),
            Metric::DrawnFnr => self.drawn_fnr(),
            Metric::Advantage => Some(self.drawn_fnr()? - self.value(Metric::Fnr)?),
            Metric::LowestFound(_) => Some(self.found?.0),
            Metric::HighestFound(_) => Some(self.found?.1),
            Metric::TrueDuplicates { equal } => {
                let counts = self.by_equal_timers.get(equal.checked_sub(1)?)?;
                percent(counts.correct, counts.reported)
            }
            Metric::Sites(metric) => self.sites.value(metric),
            Metric::Hits { level } => percent(self.level(level).hits, all),
            Metric::Accesses { level } => percent(self.level(level).accesses, all),
            Metric::Wfp => self.weights.wfp().map(|share| 100.0 * share),
            Metric::Wfn => self.weights.wfn().map(|share| 100.0 * share),
            Metric::FalsePositives => percent(self.false_positives, all),
            Metric::FalseNegatives => percent(self.false_negatives, all),
            Metric::LowFalseNegatives => missed_within(1, 5),
            Metric::HighFalseNegatives => missed_within(46, 50),
            Metric::Crossover => self.weights.crossover(&self.reference).map(f64::from),
            Metric::EmptyCells => {
                let (sum, points) = self.empty_cells;
                (points > 0).then(|| sum as f64 / points as f64)
            }
        }
    }

    fn tenth(&self, tenths: usize) -> Option<&Tenth> {
        self.tenths.get(tenths.checked_sub(1)?)
    }

    fn level(&self, level: usize) -> LevelOutcome {
        self.levels.get(level).copied().unwrap_or_default()
    }

    fn reference_fnr(&self) -> Option<f64> {
        percent(self.reference_false_negatives, self.repeats)
    }

    /// Returns the false negative rate of FPBuffering, where the other filter is a buffer: among
    /// what the buffer misses, it reports as many Seen as the filter reports of the new keys.
    fn drawn_fnr(&self) -> Option<f64> {
        let fpr = share(self.false_positives, self.distinct)?;
        Some((1.0 - fpr) * self.reference_fnr()?)
    }

    pub(super) fn add_run(&mut self, run: &FilterRun) {
        self.add(run.scoreboard());
        self.weights.add(run.weights());
        let (cells, curve) = (run.set().filter().cells(), run.scoreboard().curve());
        let end = run.scoreboard().now().position;
        for point in curve.iter().filter(|point| point.position >= end / 2) {
            self.empty_cells.0 += cells - point.occupied;
            self.empty_cells.1 += 1;
        }
        for (tenths, sum) in (1..).zip(&mut self.tenths) {
            let wanted = end * tenths / TENTHS as u64;
            let nearest = curve.iter().min_by_key(|it| it.position.abs_diff(wanted));
            if let Some(point) = nearest {
                sum.distinct += point.distinct;
                sum.false_positives += point.false_positives;
                sum.repeats += point.repeats();
                sum.false_negatives += point.false_negatives;
                sum.occupied += point.occupied;
                sum.cells += cells;
            }
        }
    }

    pub(super) fn add(&mut self, scoreboard: &Scoreboard) {
        let end = scoreboard.now();
        self.distinct += end.distinct;
        self.false_positives += end.false_positives;
        self.repeats += end.repeats();
        self.false_negatives += end.false_negatives;
    }
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}
