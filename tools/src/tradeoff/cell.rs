//! The results for one stream at one memory size: all runs, and the adviser's picks.

use dedupstore::FilterSpec;
use dedupstore::advise::is_from_papers;

use super::recorded_stream::Errors;

/// A run is near the best if it makes at most this many times the best run's errors.
const NEAR_BEST: f64 = 1.1;
/// A run that makes at most this many times the fewest errors so far may become the best.
const MAY_BE_BEST: f64 = 1.2;

/// The errors of one filter in a cell.
#[derive(Clone, Debug)]
pub struct Run {
    /// The filter.
    pub filter: FilterSpec,
    /// Errors by trial. Only runs that may matter have an entry for every trial of the cell;
    /// the others have the first few.
    pub by_trial: Vec<Errors>,
}

impl Run {
    /// Errors in all trials of this run.
    pub fn errors(&self) -> Errors {
        self.errors_in(self.by_trial.len())
    }

    /// Errors in the first `trials` trials.
    fn errors_in(&self, trials: usize) -> Errors {
        let trials = self.by_trial.iter().take(trials);
        trials.fold(Errors::default(), |sum, &errors| sum + errors)
    }

    /// Errors of both runs in the trials that both have.
    fn errors_in_common_trials(&self, other: &Run) -> (Errors, Errors) {
        let trials = self.by_trial.len().min(other.by_trial.len());
        (self.errors_in(trials), other.errors_in(trials))
    }

    fn significantly_dominates(&self, other: &Run) -> bool {
        let (mine, others) = self.errors_in_common_trials(other);
        mine.significantly_dominates(others)
    }

    /// Returns whether more trials could show that this run dominates the other.
    fn may_dominate(&self, other: &Run) -> bool {
        let (mine, others) = self.errors_in_common_trials(other);
        may_be_below(mine.dropped, others.dropped as f64)
            && may_be_below(mine.missed, others.missed as f64)
    }
}

/// Returns whether the mean behind `count` may be below the mean behind `other`: false if
/// `count` is more than three standard errors above.
fn may_be_below(count: u64, other: f64) -> bool {
    let count = count as f64;
    count <= other + 3.0 * (count + other).sqrt() + 3.0
}

/// All runs over one stream at one memory size.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The stream.
    pub stream: String,
    /// Memory in bits per distinct key.
    pub bits_per_key: f64,
    /// First occurrences in each trial.
    pub distinct: Vec<u64>,
    /// Repeats in each trial.
    pub repeats: Vec<u64>,
    /// The runs of the grid.
    pub runs: Vec<Run>,
    /// The adviser's pick from the memory and the number of keys.
    pub without_sample: Run,
    /// The adviser's pick from a sample.
    pub with_sample: Run,
}

impl Cell {
    /// The number of trials.
    pub fn trials(&self) -> usize {
        self.distinct.len()
    }

    /// The adviser's picks: without a sample, with a sample.
    pub fn picks(&self) -> [&Run; 2] {
        [&self.without_sample, &self.with_sample]
    }

    /// All runs of the grid and the picks.
    pub(super) fn all(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().chain(self.picks())
    }

    /// The runs that deserve another trial: the picks, the runs that may be the best, and the
    /// runs that may dominate a pick.
    pub(super) fn contenders(&mut self) -> Vec<&mut Run> {
        let trials = self.trials();
        let least = self.least_errors();
        let picks = self.picks().map(Run::clone);
        let contends = |run: &Run| {
            let errors = run.errors().total();
            let may_be_best = may_be_below(errors, MAY_BE_BEST * least as f64);
            may_be_best || picks.iter().any(|pick| run.may_dominate(pick))
        };
        let runs = self.runs.iter_mut();
        let runs = runs.filter(|run| run.by_trial.len() == trials && contends(run));
        runs.chain([&mut self.without_sample, &mut self.with_sample])
            .collect()
    }

    /// Returns whether no other run significantly dominates this one.
    pub fn is_on_front(&self, run: &Run) -> bool {
        !self.all().any(|other| other.significantly_dominates(run))
    }

    /// Returns whether no other run dominates this one by bare counts.
    pub fn is_on_front_by_counts(&self, run: &Run) -> bool {
        self.dominating_by_counts(run).is_none()
    }

    /// A run that dominates this one by bare counts, with its errors and this run's.
    pub fn dominating_by_counts(&self, run: &Run) -> Option<(&Run, Errors, Errors)> {
        self.all().find_map(|other| {
            let (others, mine) = other.errors_in_common_trials(run);
            others.dominates(mine).then_some((other, others, mine))
        })
    }

    /// The run with the fewest errors among those that have all trials.
    pub fn best(&self) -> &Run {
        let complete = self.runs.iter();
        let complete = complete.filter(|run| run.by_trial.len() == self.trials());
        let picks = [&self.with_sample, &self.without_sample];
        let best = complete.chain(picks).min_by_key(|run| run.errors().total());
        best.unwrap_or(&self.with_sample)
    }

    /// The number of errors of the best run.
    pub fn least_errors(&self) -> u64 {
        self.best().errors().total()
    }

    /// Returns whether a run makes at most 10 % more errors than the best.
    pub fn is_near_best(&self, run: &Run) -> bool {
        let (errors, least) = run.errors_in_common_trials(self.best());
        errors.total() as f64 <= NEAR_BEST * least.total() as f64
    }

    /// Returns whether a pick is near the best or on the front.
    pub fn is_good(&self, run: &Run) -> bool {
        self.is_near_best(run) || self.is_on_front(run)
    }

    /// Returns whether a pick is near the best or on the front by bare counts.
    pub fn is_good_by_counts(&self, run: &Run) -> bool {
        self.is_near_best(run) || self.is_on_front_by_counts(run)
    }

    /// Returns whether a filter of the papers dominates a run.
    pub fn is_dominated_by_papers(&self, run: &Run) -> bool {
        let mut papers = self.runs.iter().filter(|it| is_from_papers(&it.filter));
        papers.any(|it| {
            let (papers, mine) = it.errors_in_common_trials(run);
            papers.dominates(mine)
        })
    }

    /// FPR and FNR in the trials of a run.
    pub fn rates(&self, run: &Run) -> (f64, f64) {
        let (errors, [distinct, repeats]) = (run.errors(), self.extent(run));
        (
            errors.dropped as f64 / distinct.max(1.0),
            errors.missed as f64 / repeats.max(1.0),
        )
    }

    /// The share of a run's verdicts that are wrong.
    pub fn error_rate(&self, run: &Run) -> f64 {
        let all: f64 = self.extent(run).iter().sum();
        run.errors().total() as f64 / all.max(1.0)
    }

    /// First occurrences and repeats in the trials of a run.
    fn extent(&self, run: &Run) -> [f64; 2] {
        let trials = run.by_trial.len();
        [&self.distinct, &self.repeats].map(|it| it.iter().take(trials).sum::<u64>() as f64)
    }
}

/// How many of the adviser's picks are good. Arrays hold: without a sample, with a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of cells.
    pub cells: usize,
    /// Picks that are near the best or on the front.
    pub good: [usize; 2],
    /// Picks that are near the best or on the front by bare counts.
    pub good_by_counts: [usize; 2],
    /// Picks that are near the best.
    pub near_best: [usize; 2],
    /// Picks that a filter of the papers dominates.
    pub dominated_by_papers: [usize; 2],
}

impl Tally {
    /// Counts the good picks of these cells.
    pub fn of<'a>(cells: impl Iterator<Item = &'a Cell>) -> Self {
        let mut tally = Tally::default();
        for cell in cells {
            tally.cells += 1;
            for (index, pick) in cell.picks().into_iter().enumerate() {
                tally.good[index] += usize::from(cell.is_good(pick));
                tally.good_by_counts[index] += usize::from(cell.is_good_by_counts(pick));
                tally.near_best[index] += usize::from(cell.is_near_best(pick));
                tally.dominated_by_papers[index] += usize::from(cell.is_dominated_by_papers(pick));
            }
        }
        tally
    }

    /// Returns `part` as a share of the cells.
    pub fn share(&self, part: usize) -> f64 {
        part as f64 / self.cells.max(1) as f64
    }
}
