//! One filter over one stream: what measures a cell.

use super::faulty_stable::FaultyStable;
use super::{Job, Metric};
use crate::filter::{FilterSpec, SpecError, Verdict};
use crate::fingerprint::KeyHasher;
use crate::lab::gap_meter::GapMeter;
use crate::lab::scoreboard::Scoreboard;
use crate::lab::simulation::{NoClock, Simulation};
use crate::lab::stream::{Stream, StreamSpec};
use crate::seen_set::CreateError;

/// What is run, in the paper's own size.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What decides.
    pub contender: Contender,
    /// Its memory.
    pub memory_bits: u64,
    /// The kind of stream.
    pub source: Source,
    /// How many keys.
    pub count: u64,
}

/// What decides whether a key is new.
#[derive(Clone, Debug, PartialEq)]
pub enum Contender {
    /// A filter of the registry, in its text form.
    Filter(String),
    /// The stable Bloom filter with a generator too short for its cells. Only here: nobody
    /// would want it.
    FaultyStable,
}

/// A kind of stream, whatever its length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// See [`StreamSpec::Shuffle`].
    Shuffle {
        /// First occurrences in a hundred.
        distinct_percent: f64,
    },
    /// See [`StreamSpec::Zipf`]; the number of keys grows with the stream.
    Zipf {
        /// How much more popular the popular ones are.
        exponent: f64,
        /// Keys there are for each in the stream.
        keys_per_arrival: f64,
    },
}

/// Why a run cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The text is no filter.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The filter cannot be made, for one for want of memory.
    #[error(transparent)]
    Create(#[from] CreateError),
}

/// With fewer keys than this, chance says more than the filter.
const LEAST_COUNT: u64 = 100_000;
/// Room for a few keys in any filter. A few memories of the stand-ins are tiny already.
const LEAST_MEMORY_BITS: u64 = 1024;

impl Run {
    /// The scale used where `scale` is asked for: one that leaves enough keys.
    fn scale(&self, scale: u64) -> u64 {
        scale.min(self.count / LEAST_COUNT).max(1)
    }

    /// How many keys at a scale.
    pub fn count_at(&self, scale: u64) -> u64 {
        self.count / self.scale(scale)
    }

    /// How much memory at a scale.
    pub fn memory_bits_at(&self, scale: u64) -> u64 {
        let smaller = self.memory_bits / self.scale(scale);
        smaller.max(LEAST_MEMORY_BITS.min(self.memory_bits))
    }

    fn stream_at(&self, scale: u64) -> StreamSpec {
        match self.source {
            Source::Shuffle { distinct_percent } => StreamSpec::Shuffle { distinct_percent },
            Source::Zipf {
                exponent,
                keys_per_arrival,
            } => StreamSpec::Zipf {
                exponent,
                universe: (self.count_at(scale) as f64 * keys_per_arrival) as u64,
            },
        }
    }
}

/// Verdicts counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// First occurrences.
    pub distinct: u64,
    /// Of which reported Seen.
    pub false_positives: u64,
    /// The other observations.
    pub repeats: u64,
    /// Of which reported New.
    pub false_negatives: u64,
}

impl Outcome {
    /// A rate in percent, unless it would be one of nothing.
    pub fn percent(&self, metric: Metric) -> Option<f64> {
        let (part, whole) = match metric {
            Metric::Fpr => (self.false_positives, self.distinct),
            Metric::Fnr => (self.false_negatives, self.repeats),
        };
        (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
    }

    fn add(&mut self, board: &Scoreboard) {
        let end = board.now();
        self.distinct += end.distinct;
        self.false_positives += end.false_positives;
        self.repeats += end.repeats();
        self.false_negatives += end.false_negatives;
    }
}

impl Job {
    /// Does the job: minutes at full size, seconds at a hundredth.
    pub fn execute(&self) -> Result<Outcome, RunError> {
        let mut outcome = Outcome::default();
        for seed in 1..=self.rounds {
            let count = self.run.count_at(self.scale);
            let keys = self.run.stream_at(self.scale).open(count, seed);
            let memory_bits = self.run.memory_bits_at(self.scale);
            match &self.run.contender {
                Contender::Filter(spec) => {
                    let spec: FilterSpec = spec.parse()?;
                    // No table asks for gaps.
                    let mut race =
                        Simulation::over(&keys, seed).measuring_gaps_with(GapMeter::bounded(1));
                    race.enter(&spec, memory_bits)?;
                    run_over(&mut race, keys);
                    for contestant in race.contestants() {
                        outcome.add(contestant.board());
                    }
                }
                Contender::FaultyStable => outcome.add(&faulty(keys, memory_bits, seed)?),
            }
        }
        Ok(outcome)
    }
}

fn run_over(race: &mut Simulation, mut keys: Stream) {
    while let Some((key, number)) = keys.next_key() {
        race.push_numbered(key, number, &NoClock);
    }
    race.flush(&NoClock);
}

fn faulty(mut keys: Stream, memory_bits: u64, seed: u64) -> Result<Scoreboard, RunError> {
    let mut filter = FaultyStable::new(memory_bits, seed).map_err(CreateError::from)?;
    let mut truth = keys.truth();
    let hasher = KeyHasher::new(seed);
    let mut board = Scoreboard::default();
    while let Some((key, number)) = keys.next_key() {
        let verdict: Verdict = filter.observe(hasher.fingerprint(key));
        board.score(&[verdict], &[truth.is_first(number)], 0);
    }
    Ok(board)
}
