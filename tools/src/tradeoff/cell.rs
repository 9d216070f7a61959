//! One stream at one memory: all that was run there, and what the adviser picked.

use dedupstore::FilterSpec;
use dedupstore::advise::is_from_papers;

use super::track::Errors;

/// Within this of the least total error is as good as the least.
const NEAR: f64 = 1.1;
/// Within this of it on the tracks so far, a filter may yet turn out to be the best.
const MAY_BE_BEST: f64 = 1.2;

/// A filter in a cell.
#[derive(Clone, Debug)]
pub struct Run {
    /// The filter.
    pub filter: FilterSpec,
    /// Its wrong verdicts on the first tracks: on all of them, if it is one of those that
    /// matter.
    pub by_track: Vec<Errors>,
}

impl Run {
    /// On all tracks that it was run on.
    pub fn errors(&self) -> Errors {
        self.errors_on(self.by_track.len())
    }

    fn errors_on(&self, tracks: usize) -> Errors {
        let tracks = self.by_track.iter().take(tracks);
        tracks.fold(Errors::default(), |sum, &errors| sum.and(errors))
    }

    /// Errors of both, on the tracks that both were run on.
    fn beside(&self, other: &Run) -> (Errors, Errors) {
        let tracks = self.by_track.len().min(other.by_track.len());
        (self.errors_on(tracks), other.errors_on(tracks))
    }

    fn surely_better_on_both_than(&self, other: &Run) -> bool {
        let (mine, others) = self.beside(other);
        mine.surely_better_on_both_than(others)
    }

    /// Whether it may turn out to be better on both rates, as far as chance goes.
    fn may_be_better_on_both_than(&self, other: &Run) -> bool {
        let (mine, others) = self.beside(other);
        may_be_below(mine.dropped, others.dropped as f64)
            && may_be_below(mine.missed, others.missed as f64)
    }
}

/// Whether a count may belong to less than another: not if it is three standard errors above.
fn may_be_below(count: u64, other: f64) -> bool {
    let count = count as f64;
    count <= other + 3.0 * (count + other).sqrt() + 3.0
}

/// All runs of a stream at one memory, and which of them the adviser picked.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The stream.
    pub stream: String,
    /// Bits for each distinct key.
    pub bits_a_key: f64,
    /// First occurrences on each track.
    pub distinct: Vec<u64>,
    /// The others.
    pub repeats: Vec<u64>,
    /// What was run.
    pub runs: Vec<Run>,
    /// What the adviser picks by memory and number of keys.
    pub untold: Run,
    /// What it picks by a sample.
    pub told: Run,
}

impl Cell {
    /// On how many tracks what matters was run.
    pub fn tracks(&self) -> usize {
        self.distinct.len()
    }

    /// All that was run, and what was picked.
    pub(super) fn all(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().chain([&self.untold, &self.told])
    }

    /// What is worth another track: what was picked, what may be the best, and what may be
    /// better on both rates than a pick that is not.
    pub(super) fn contenders(&mut self) -> Vec<&mut Run> {
        let tracks = self.tracks();
        let least = self.least_errors();
        let picks = [self.untold.clone(), self.told.clone()];
        let contends = |run: &Run| {
            let errors = run.errors().total();
            let may_be_best = may_be_below(errors, MAY_BE_BEST * least as f64);
            let mut picks = picks.iter();
            may_be_best || picks.any(|pick| run.may_be_better_on_both_than(pick))
        };
        let runs = self.runs.iter_mut();
        let runs = runs.filter(|run| run.by_track.len() == tracks && contends(run));
        runs.chain([&mut self.untold, &mut self.told]).collect()
    }

    /// Whether nothing that was run is better on both rates, beyond what chance explains.
    pub fn is_on_front(&self, run: &Run) -> bool {
        !self
            .all()
            .any(|other| other.surely_better_on_both_than(run))
    }

    /// Whether nothing that was run has better counts.
    pub fn is_on_front_by_counts(&self, run: &Run) -> bool {
        self.better_by_counts(run).is_none()
    }

    /// Something with better counts on both rates, and the counts of both.
    pub fn better_by_counts(&self, run: &Run) -> Option<(&Run, Errors, Errors)> {
        self.all().find_map(|other| {
            let (others, mine) = other.beside(run);
            let better = others.better_on_both_than(mine);
            better.then_some((other, others, mine))
        })
    }

    /// The best of all that was run on all tracks.
    pub fn best(&self) -> &Run {
        let on_all = self.runs.iter();
        let on_all = on_all.filter(|run| run.by_track.len() == self.tracks());
        let picks = [&self.told, &self.untold];
        let best = on_all.chain(picks).min_by_key(|run| run.errors().total());
        best.unwrap_or(&self.told)
    }

    /// Its errors: the least there are.
    pub fn least_errors(&self) -> u64 {
        self.best().errors().total()
    }

    /// Whether a pick makes at most a tenth more errors than the best.
    pub fn is_near(&self, run: &Run) -> bool {
        let (errors, least) = run.beside(self.best());
        errors.total() as f64 <= NEAR * least.total() as f64
    }

    /// Whether a pick is what it should be.
    pub fn is_good(&self, run: &Run) -> bool {
        self.is_near(run) || self.is_on_front(run)
    }

    /// The same, with the front by bare counts.
    pub fn is_good_by_counts(&self, run: &Run) -> bool {
        self.is_near(run) || self.is_on_front_by_counts(run)
    }

    /// Whether a filter of the papers is better on both rates.
    pub fn papers_beat(&self, run: &Run) -> bool {
        let mut papers = self.runs.iter().filter(|it| is_from_papers(&it.filter));
        papers.any(|it| {
            let (papers, mine) = it.beside(run);
            papers.better_on_both_than(mine)
        })
    }

    /// FPR and FNR on the tracks that a filter was run on.
    pub fn rates(&self, run: &Run) -> (f64, f64) {
        let (errors, [distinct, repeats]) = (run.errors(), self.extent(run));
        (
            errors.dropped as f64 / distinct.max(1.0),
            errors.missed as f64 / repeats.max(1.0),
        )
    }

    /// Wrong verdicts as a share of all.
    pub fn wrong(&self, run: &Run) -> f64 {
        let all: f64 = self.extent(run).iter().sum();
        run.errors().total() as f64 / all.max(1.0)
    }

    /// First occurrences and repeats that a filter was given.
    fn extent(&self, run: &Run) -> [f64; 2] {
        let tracks = run.by_track.len();
        [&self.distinct, &self.repeats].map(|it| it.iter().take(tracks).sum::<u64>() as f64)
    }
}

/// How the adviser did in some cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many there are.
    pub cells: usize,
    /// On the front or near the least error, without a sample and with one.
    pub good: [usize; 2],
    /// The same, with the front by bare counts.
    pub good_by_counts: [usize; 2],
    /// Within a tenth of the least total error, without a sample and with one.
    pub near: [usize; 2],
    /// A filter of the papers is better on both rates, without a sample and with one.
    pub beaten_by_papers: [usize; 2],
}

impl Tally {
    /// Counts.
    pub fn of<'a>(cells: impl Iterator<Item = &'a Cell>) -> Self {
        let mut tally = Tally::default();
        for cell in cells {
            tally.cells += 1;
            for (place, pick) in [&cell.untold, &cell.told].into_iter().enumerate() {
                tally.good[place] += usize::from(cell.is_good(pick));
                tally.good_by_counts[place] += usize::from(cell.is_good_by_counts(pick));
                tally.near[place] += usize::from(cell.is_near(pick));
                tally.beaten_by_papers[place] += usize::from(cell.papers_beat(pick));
            }
        }
        tally
    }

    /// A number of the cells as a share of them.
    pub fn share(&self, part: usize) -> f64 {
        part as f64 / self.cells.max(1) as f64
    }
}
