//! The run that measures a cell: one filter over one stream.

use super::faulty_stable::FaultyStable;
use super::horizontal_slices::{HorizontalSlices, MAX_EQUAL};
use super::koloniari_growth::{THIRDS, Third, run_growing};
use super::sliced_filter::{SiteOutcome, SliceContender};
use super::{Job, Metric};
use crate::filter::{FilterSpec, SpecError, Verdict};
use crate::fingerprint::KeyHasher;
use crate::lab::clock::NoClock;
use crate::lab::filter_run::FilterRun;
use crate::lab::gap_meter::GapMeter;
use crate::lab::scoreboard::{Scoreboard, share};
use crate::lab::simulation::Simulation;
use crate::lab::stream::{Stream, StreamSpec};
use crate::lab::tree_simulation::TreeSimulation;
use crate::lab::weights::Weights;
use crate::lab::window_truth::WindowTruth;
use crate::seen_set::CreateError;
use crate::sites::{SlicingError, TreeError};

/// A run at the size of the paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The filter.
    pub contender: Contender,
    /// The memory of the filter.
    pub memory_bits: u64,
    /// The kind of stream.
    pub source: Source,
    /// The number of keys.
    pub count: u64,
}

/// The filter of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Contender {
    /// A filter of the registry, in its text form.
    Filter(String),
    /// The stable Bloom filter with a random generator that does not reach all cells. It is not
    /// in the registry because it is of no use.
    FaultyStable,
    /// A filter of the registry in several horizontal slices. Keys come one per second.
    HorizontalSlices {
        /// The filter of a slice, in its text form.
        filter: String,
        /// The number of slices, which share the memory.
        slices: u64,
    },
    /// A Bloom filter on many sites.
    Slices(SliceContender),
    /// A tree of Bloom filters, in its text form. Each node has the memory of the run. Keys come
    /// from random leaves.
    Tree(String),
    /// A filter of the registry, compared with another one over the same stream.
    Compared {
        /// The filter, in its text form.
        filter: String,
        /// The other filter, in its text form.
        reference: String,
        /// The memory of the other filter.
        reference_bits: u64,
    },
    /// A growing filter with a window, in its text form, whose parts are counted.
    Growing(String),
}

/// A kind of stream, independent of its length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// See [`StreamSpec::Shuffle`].
    Shuffle {
        /// The percentage of first occurrences.
        distinct_percent: f64,
    },
    /// See [`StreamSpec::Uniform`].
    Uniform {
        /// The expected percentage of first occurrences.
        distinct_percent: f64,
    },
    /// See [`StreamSpec::Zipf`]; the number of keys is proportional to the length of the stream.
    Zipf {
        /// The exponent: larger values give more skew.
        exponent: f64,
        /// The number of keys divided by the length of the stream.
        keys_per_arrival: f64,
    },
    /// See [`StreamSpec::ImportanceDraws`].
    Importance {
        /// The expected percentage of first occurrences.
        distinct_percent: f64,
    },
    /// See [`StreamSpec::Burst`].
    Burst {
        /// The expected percentage of first occurrences.
        distinct_percent: f64,
        /// The number of keys per second before and after the burst.
        keys_per_second: f64,
        /// How many times that rate the burst has.
        factor: f64,
    },
}

/// Why a run is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The text is not a filter.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The filter cannot be created, for example because memory is exhausted.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The filter cannot be divided in this way.
    #[error(transparent)]
    Slicing(#[from] SlicingError),
    /// The tree cannot be built.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// With fewer keys, random variation hides the rates of the filter.
const MIN_COUNT: u64 = 100_000;
/// The least scaled memory: every filter can be built in it. Some memories of the papers are
/// smaller at full size.
const MIN_MEMORY_BITS: u64 = 1024;

impl Run {
    /// Returns the scale that is used for `scale`: smaller if there would be too few keys.
    fn effective_scale(&self, scale: u64) -> u64 {
        scale.min(self.count / MIN_COUNT).max(1)
    }

    /// Returns the number of keys at a scale.
    pub fn count_at(&self, scale: u64) -> u64 {
        self.count / self.effective_scale(scale)
    }

    /// Returns the memory at a scale.
    pub fn memory_bits_at(&self, scale: u64) -> u64 {
        let scaled = self.memory_bits / self.effective_scale(scale);
        scaled.max(MIN_MEMORY_BITS.min(self.memory_bits))
    }

    fn stream_at(&self, scale: u64) -> StreamSpec {
        match self.source {
            Source::Shuffle { distinct_percent } => StreamSpec::Shuffle { distinct_percent },
            Source::Uniform { distinct_percent } => StreamSpec::Uniform { distinct_percent },
            Source::Zipf {
                exponent,
                keys_per_arrival,
            } => StreamSpec::Zipf {
                exponent,
                universe: (self.count_at(scale) as f64 * keys_per_arrival) as u64,
            },
            Source::Importance { distinct_percent } => {
                StreamSpec::ImportanceDraws { distinct_percent }
            }
            Source::Burst {
                distinct_percent,
                keys_per_second,
                factor,
            } => StreamSpec::Burst {
                distinct_percent,
                keys_per_second,
                factor,
            },
        }
    }
}

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
    /// Duplicates by the number of equal timers, from 1 on. Only counted for
    /// [`Contender::HorizontalSlices`] of timers that need not be equal.
    pub by_equal_timers: [Duplicates; MAX_EQUAL],
    /// The thirds of the stream. Only counted for [`Contender::Growing`].
    pub thirds: [Third; THIRDS],
    /// Only counted for [`Contender::Slices`].
    pub sites: SiteOutcome,
    /// Hits and accesses at each level of a tree.
    pub levels: [LevelOutcome; MAX_LEVELS],
    /// Counts by importance, if the stream has importance.
    pub weights: Weights,
    /// The same of the other filter of [`Contender::Compared`].
    pub reference: Weights,
    /// The numbers of empty cells at points of the second half of the stream, added up, and the
    /// number of points.
    pub empty_cells: (u64, u64),
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

    fn add_run(&mut self, run: &FilterRun) {
        self.add(run.scoreboard());
        self.weights.add(run.weights());
        let (cells, curve) = (run.set().filter().cells(), run.scoreboard().curve());
        let half = run.scoreboard().now().position / 2;
        for point in curve.iter().filter(|point| point.position >= half) {
            self.empty_cells.0 += cells - point.occupied;
            self.empty_cells.1 += 1;
        }
    }

    fn level(&self, level: usize) -> LevelOutcome {
        self.levels.get(level).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, scoreboard: &Scoreboard) {
        let end = scoreboard.now();
        self.distinct += end.distinct;
        self.false_positives += end.false_positives;
        self.repeats += end.repeats();
        self.false_negatives += end.false_negatives;
    }
}

impl Job {
    /// Executes the job: minutes at full size, seconds at a scale of 100.
    pub fn execute(&self) -> Result<Outcome, RunError> {
        let mut outcome = Outcome::default();
        let count = self.run.count_at(self.scale);
        let memory_bits = self.run.memory_bits_at(self.scale);
        if let Contender::Slices(slices) = &self.run.contender {
            let stream = self.run.stream_at(self.scale);
            return slices.execute(stream, count, memory_bits, self.rounds);
        }
        for seed in 1..=self.rounds {
            let keys = self.run.stream_at(self.scale).open(count, seed);
            match &self.run.contender {
                Contender::Filter(spec) => {
                    let spec: FilterSpec = spec.parse()?;
                    // No table needs gaps, so the meter gets the least memory.
                    let mut simulation =
                        Simulation::for_stream(&keys, seed).with_gap_meter(GapMeter::bounded(1));
                    simulation.add_filter(&spec, memory_bits)?;
                    run_over(&mut simulation, keys);
                    for run in simulation.runs() {
                        outcome.add_run(run);
                    }
                }
                Contender::Compared {
                    filter,
                    reference,
                    reference_bits,
                } => {
                    let mut simulation =
                        Simulation::for_stream(&keys, seed).with_gap_meter(GapMeter::bounded(1));
                    simulation.add_filter(&filter.parse()?, memory_bits)?;
                    simulation.add_filter(&reference.parse()?, *reference_bits)?;
                    run_over(&mut simulation, keys);
                    if let [run, reference] = simulation.runs() {
                        outcome.add_run(run);
                        outcome.reference.add(reference.weights());
                    }
                }
                Contender::FaultyStable => outcome.add(&run_faulty(keys, memory_bits, seed)?),
                Contender::HorizontalSlices { filter, slices } => {
                    let filter =
                        HorizontalSlices::new(&filter.parse()?, *slices, memory_bits, seed)?;
                    run_sliced(filter, keys, &mut outcome);
                }
                Contender::Growing(spec) => {
                    let spec: FilterSpec = spec.parse()?;
                    run_growing(&spec, memory_bits, seed, keys, count, &mut outcome.thirds)?;
                }
                // Executed above, with all seeds at once.
                Contender::Slices(_) => {}
                Contender::Tree(tree) => {
                    let mut simulation = TreeSimulation::new(seed, keys.truth());
                    simulation.add_tree(&tree.parse()?, memory_bits)?;
                    run_tree(simulation, keys, &mut outcome);
                }
            }
        }
        Ok(outcome)
    }
}

fn run_over(simulation: &mut Simulation, mut keys: Stream) {
    while let Some(arrival) = keys.next_arrival() {
        simulation.push_arrival(&arrival, &NoClock);
    }
    simulation.flush(&NoClock);
}

fn run_tree(mut simulation: TreeSimulation, mut keys: Stream, outcome: &mut Outcome) {
    while let Some((key, number)) = keys.next_key() {
        simulation.push_numbered(key, number);
    }
    for summary in simulation.summaries("") {
        outcome.distinct += summary.distinct;
        outcome.false_positives += summary.fp;
        outcome.repeats += summary.repeats;
        outcome.false_negatives += summary.false_negatives;
        for (sum, level) in outcome.levels.iter_mut().zip(&summary.levels) {
            sum.hits += level.hits;
            sum.accesses += level.accesses;
        }
    }
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

fn run_faulty(mut keys: Stream, memory_bits: u64, seed: u64) -> Result<Scoreboard, RunError> {
    let mut filter = FaultyStable::new(memory_bits, seed).map_err(CreateError::from)?;
    let mut truth = keys.truth();
    let hasher = KeyHasher::new(seed);
    let mut scoreboard = Scoreboard::default();
    while let Some((key, number)) = keys.next_key() {
        let verdict: Verdict = filter.observe(hasher.fingerprint(key));
        scoreboard.score(&[verdict], &[truth.is_first(number)], 0);
    }
    Ok(scoreboard)
}

fn run_sliced(mut filter: HorizontalSlices, mut keys: Stream, outcome: &mut Outcome) {
    let mut truth = keys.truth();
    let clock = filter.filter().and_then(|it| it.window()).copied();
    let mut window = clock.map(WindowTruth::new);
    let mut scoreboard = Scoreboard::default();
    loop {
        let second = keys.next_second();
        let Some((key, number)) = keys.next_key() else {
            break;
        };
        let (verdict, equal) = filter.observe(key, second);
        let is_new = match &mut window {
            Some(window) => window.is_new(number, second, verdict),
            None => truth.is_first(number),
        };
        scoreboard.score(&[verdict], &[is_new], 0);
        let index = equal.checked_sub(1);
        if let Some(counts) = index.and_then(|it| outcome.by_equal_timers.get_mut(it)) {
            counts.reported += 1;
            counts.correct += u64::from(!is_new);
        }
    }
    outcome.add(&scoreboard);
}
