//! Runs candidates over a sample, with the memory scaled to it.
//!
//! Errors are counted per group of keys. The errors of different keys are almost independent,
//! while those of one key depend on each other. So the variance between groups gives the standard
//! error of the difference between two candidates.
//!
//! If errors are weighted, sums of importance take the place of counts. A sum is worth as many errors
//! as have the same relative standard error: the sum divided by the mean importance, each
//! observation weighted by its importance.

use super::question::Question;
use super::sample::{Sample, is_sampled};
use crate::filter::{FilterSpec, Observation, Verdict};
use crate::fingerprint::Fingerprint;
use crate::lab::{GapMeter, WindowTruth};
use crate::region::OutOfMemory;
use crate::rng::Generator;
use crate::seen_set::{CreateError, SeenSetBuilder};
use crate::theory::Workload;

/// Number of groups of keys.
pub(super) const GROUPS: usize = 32;
/// A sample needs at least this many distinct keys, and this many repeats.
const MIN_KEYS: u64 = 200;
/// The least scaled memory in which a filter behaves like the full-size one.
const MIN_BITS: u64 = 1024;
/// Length and memory of the short trial that selects candidates for a longer one. In much less
/// memory, the rounding to whole cache lines would decide.
const SHORT: usize = 1 << 16;
const SHORT_BITS: u64 = 1 << 15;
/// Observations per batch.
const BATCH: usize = 1024;

/// Why candidates were not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unmeasured {
    /// There is no sample.
    NoSample,
    /// The sample has too few distinct keys.
    FewKeys {
        /// Their number.
        distinct: u64,
        /// How many it takes.
        least: u64,
    },
    /// The sample has too few repeats.
    FewRepeats {
        /// Their number.
        repeats: u64,
        /// How many it takes.
        least: u64,
    },
    /// The memory, reduced in proportion to the sample, is too small for a filter to behave like
    /// one of full size.
    LittleMemory {
        /// The reduced memory.
        memory_bits: u64,
        /// How much it takes.
        least_bits: u64,
    },
}

/// A sample, or some of its keys, with the memory scaled to it.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    observations: Vec<Observation>,
    is_first: Vec<bool>,
    groups: Vec<u8>,
    pub distinct: u64,
    pub memory_bits: u64,
    /// The time from the earliest to the latest observation.
    seconds: u64,
    /// Whether errors are weighted by importance.
    weighted: bool,
    /// How much weight is worth one observation: 1 if errors are not weighted.
    unit: f64,
}

/// The errors of a filter, per group of keys: numbers, or sums of importance.
#[derive(Clone, Debug)]
pub(super) struct TrialResult {
    pub filter: FilterSpec,
    pub dropped: [u64; GROUPS],
    pub missed: [u64; GROUPS],
    /// The new keys in all passes.
    pub new: u64,
    /// The repeats in all passes.
    pub repeats: u64,
    /// The unit of the trial.
    pub unit: f64,
    /// The number of passes over the sample.
    pub passes: u64,
    /// FPR and FNR by theory, if computed.
    pub predicted: Option<(f64, f64)>,
}

impl TrialResult {
    /// Returns how many errors of each kind there are, or how many the sums are worth.
    pub fn errors(&self) -> (f64, f64) {
        let count = |errors: &[u64]| errors.iter().sum::<u64>() as f64 / self.unit;
        (count(&self.dropped), count(&self.missed))
    }

    /// Returns how many new keys and repeats there are, or how many the sums are worth.
    pub fn occurrences(&self) -> (f64, f64) {
        (self.new as f64 / self.unit, self.repeats as f64 / self.unit)
    }

    pub fn add(&mut self, more: &TrialResult) {
        let sums = self.dropped.iter_mut().chain(&mut self.missed);
        for (sum, more) in sums.zip(more.dropped.iter().chain(&more.missed)) {
            *sum += more;
        }
        self.new += more.new;
        self.repeats += more.repeats;
        self.passes += more.passes;
    }

    /// Returns the share of observations that were new keys.
    pub fn new_share(&self) -> f64 {
        self.new as f64 / (self.new + self.repeats).max(1) as f64
    }
}

impl Trial {
    /// Returns a trial over the whole sample. Fails if there is no sample, or if the sample or the
    /// scaled memory is too small.
    pub fn of(question: &Question<'_>) -> Result<Self, Unmeasured> {
        let sample: &Sample = question.sample.ok_or(Unmeasured::NoSample)?;
        let is_first = sample.first_occurrences();
        let distinct = is_first.iter().filter(|first| **first).count() as u64;
        let repeats = is_first.len() as u64 - distinct;
        let sampled = distinct << sample.one_in().ilog2();
        let expected = match question.window {
            None => question.distinct.unwrap_or(sampled),
            // The memory per key in the window must stay the same.
            Some(seconds) => {
                let in_window = sample.stream_keys_within(seconds).max(1) as f64;
                let expected = question.distinct.map_or(1.0, |it| it as f64 / in_window);
                (sampled as f64 * expected) as u64
            }
        };
        let scale = distinct as f64 / expected.max(1) as f64;
        let memory_bits = (question.memory_bits as f64 * scale) as u64;
        match () {
            () if distinct < MIN_KEYS => {
                let least = MIN_KEYS;
                return Err(Unmeasured::FewKeys { distinct, least });
            }
            () if repeats < MIN_KEYS => {
                let least = MIN_KEYS;
                return Err(Unmeasured::FewRepeats { repeats, least });
            }
            () if memory_bits < MIN_BITS => {
                let least_bits = MIN_BITS;
                return Err(Unmeasured::LittleMemory {
                    memory_bits,
                    least_bits,
                });
            }
            () => {}
        }
        let observations = sample.observations().to_vec();
        let group = |it: &Observation| {
            // Not the draw that chose the keys of the sample.
            (Generator::from_state(it.fingerprint.0).draw(1) % GROUPS as u64) as u8
        };
        let trial = Trial {
            groups: observations.iter().map(group).collect(),
            observations,
            is_first,
            distinct,
            memory_bits,
            seconds: sample.seconds(),
            weighted: question.weighted,
            unit: 1.0,
        };
        Ok(trial.with_unit())
    }

    /// Computes the unit of the weights.
    fn with_unit(self) -> Self {
        let weights = || self.observations.iter().map(|it| self.weight(it));
        let (sum, squares) = weights().fold((0, 0), |(sum, squares), weight| {
            (sum + weight, squares + weight * weight)
        });
        let unit = match sum {
            0 => 1.0,
            sum => squares as f64 / sum as f64,
        };
        Trial { unit, ..self }
    }

    fn weight(&self, observation: &Observation) -> u64 {
        match self.weighted {
            true => observation.importance.into(),
            false => 1,
        }
    }

    pub fn count(&self) -> u64 {
        self.observations.len() as u64
    }

    /// Returns a shorter trial with one key in 2, 4, 8 and so on. None if the trial is short
    /// already or would become too short.
    pub fn shortened(&self, sample_bits: u32) -> Option<Self> {
        let mut halvings = 0;
        while self.observations.len() >> halvings > SHORT
            && self.memory_bits >> halvings > SHORT_BITS
        {
            halvings += 1;
        }
        let is_kept = |index: &usize| {
            let fingerprint = self.observations[*index].fingerprint;
            is_sampled(fingerprint, sample_bits + halvings)
        };
        let kept: Vec<usize> = (0..self.observations.len()).filter(is_kept).collect();
        let is_first: Vec<bool> = kept.iter().map(|&index| self.is_first[index]).collect();
        let distinct = is_first.iter().filter(|first| **first).count() as u64;
        if halvings == 0 || distinct < MIN_KEYS || is_first.len() as u64 - distinct < MIN_KEYS {
            return None;
        }
        let scale = distinct as f64 / self.distinct as f64;
        Some(Trial {
            observations: kept.iter().map(|&index| self.observations[index]).collect(),
            groups: kept.iter().map(|&index| self.groups[index]).collect(),
            is_first,
            distinct,
            memory_bits: (self.memory_bits as f64 * scale) as u64,
            seconds: self.seconds,
            weighted: self.weighted,
            unit: self.unit,
        })
    }

    /// Returns the same trial with other fingerprints, as if the keys were hashed with another
    /// seed.
    pub fn rehashed(&self, pass: u64) -> Self {
        let rehash = |it: &Observation| {
            let word = Generator::from_state(it.fingerprint.0 ^ pass).draw(pass);
            Observation {
                fingerprint: Fingerprint(word),
                ..*it
            }
        };
        Trial {
            observations: self.observations.iter().map(rehash).collect(),
            ..self.clone()
        }
    }

    /// Returns the properties of the sample that theory needs.
    pub fn workload(&self) -> Workload {
        let mut gaps = GapMeter::exact();
        for it in &self.observations {
            gaps.record(it.fingerprint.0);
        }
        let workload = Workload::with_gaps(self.count(), self.distinct, gaps.histogram());
        workload.lasting(self.seconds as f64).coarse()
    }

    /// Runs a filter over the sample. None if it cannot be built in the memory. Fails if the
    /// system has not that much memory.
    pub fn run(&self, filter: &FilterSpec) -> Result<Option<TrialResult>, OutOfMemory> {
        let built = SeenSetBuilder::new(filter)
            .memory_bits(self.memory_bits)
            .seed(1)
            .build();
        let mut set = match built {
            Ok(set) => set,
            Err(CreateError::OutOfMemory(error)) => return Err(error),
            Err(_) => return Ok(None),
        };
        let mut result = TrialResult {
            filter: filter.clone(),
            dropped: [0; GROUPS],
            missed: [0; GROUPS],
            new: 0,
            repeats: 0,
            unit: self.unit,
            passes: 1,
            predicted: None,
        };
        let mut verdicts = [Verdict::New; BATCH];
        let mut window = set.filter().window().copied().map(WindowTruth::new);
        let mut index = 0;
        for batch in self.observations.chunks(BATCH) {
            let verdicts = &mut verdicts[..batch.len()];
            set.observe_batch(batch, verdicts);
            for (&mut verdict, observed) in verdicts.iter_mut().zip(batch) {
                let group = usize::from(self.groups[index]) % GROUPS;
                let first = match &mut window {
                    None => self.is_first[index],
                    Some(window) => window.is_new(observed.fingerprint.0, observed.tick, verdict),
                };
                let (seen, weight) = (verdict == Verdict::Seen, self.weight(observed));
                result.new += weight * u64::from(first);
                result.repeats += weight * u64::from(!first);
                result.dropped[group] += weight * u64::from(first & seen);
                result.missed[group] += weight * u64::from(!first & !seen);
                index += 1;
            }
        }
        Ok(Some(result))
    }
}
