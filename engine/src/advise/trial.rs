//! Candidates run over a sample, in memory scaled to it.
//!
//! Errors are counted in groups of keys. Keys err independently of each other, near enough,
//! while the repeats of one key share its fate; so the spread between groups says how far
//! the difference of two candidates on this sample is to be trusted.

use super::question::Question;
use super::sample::{Sample, is_in};
use crate::filter::{FilterSpec, Observation, Verdict};
use crate::fingerprint::Fingerprint;
use crate::lab::GapMeter;
use crate::rng::Generator;
use crate::seen_set::SeenSet;
use crate::theory::Workload;

/// Groups of keys.
pub(super) const GROUPS: usize = 32;
/// Fewer repeats or keys than this say too little.
const LEAST: u64 = 200;
/// Fewer bits than this are no small likeness of a filter.
const LEAST_BITS: u64 = 1024;
/// A heat of this length tells what is worth a longer one, in a memory of as many bits or
/// more: in much less, the rounding to whole lines decides.
const SHORT: usize = 1 << 16;
const SHORT_BITS: u64 = 1 << 15;
/// Keys handed over at a time.
const BATCH: usize = 1024;

/// A sample, or a part of its keys, in the memory that this part is to have.
#[derive(Clone, Debug)]
pub(super) struct Heat {
    observations: Vec<Observation>,
    first: Vec<bool>,
    groups: Vec<u8>,
    pub distinct: u64,
    pub memory_bits: u64,
}

/// The errors of a filter by group of keys.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    pub filter: FilterSpec,
    pub dropped: [u64; GROUPS],
    pub missed: [u64; GROUPS],
    /// How often the sample was gone over.
    pub laps: u64,
    /// FPR and FNR by theory, if it was asked.
    pub predicted: Option<(f64, f64)>,
}

impl Tried {
    pub fn errors(&self) -> (u64, u64) {
        (self.dropped.iter().sum(), self.missed.iter().sum())
    }

    pub fn add(&mut self, more: &Tried) {
        let sums = self.dropped.iter_mut().chain(&mut self.missed);
        for (sum, more) in sums.zip(more.dropped.iter().chain(&more.missed)) {
            *sum += more;
        }
        self.laps += more.laps;
    }
}

impl Heat {
    /// The whole sample. Nothing, if it has too little in it, or too little of the memory is
    /// left.
    pub fn of(question: &Question<'_>) -> Option<Self> {
        let sample: &Sample = question.sample?;
        let first = sample.first_occurrences();
        let distinct = first.iter().filter(|first| **first).count() as u64;
        let repeats = first.len() as u64 - distinct;
        let expected = question
            .distinct
            .unwrap_or(distinct << sample.one_in().ilog2());
        let scale = distinct as f64 / expected.max(1) as f64;
        let memory_bits = (question.memory_bits as f64 * scale) as u64;
        if distinct < LEAST || repeats < LEAST || memory_bits < LEAST_BITS {
            return None;
        }
        let observations = sample.observations().to_vec();
        let group = |it: &Observation| {
            // Other draws than those that took the keys into the sample.
            (Generator::from_state(it.fingerprint.0).draw(1) % GROUPS as u64) as u8
        };
        Some(Heat {
            groups: observations.iter().map(group).collect(),
            observations,
            first,
            distinct,
            memory_bits,
        })
    }

    pub fn count(&self) -> u64 {
        self.observations.len() as u64
    }

    pub fn repeats(&self) -> u64 {
        self.count() - self.distinct
    }

    /// The keys of one in 2, 4, 8 and so on, as few as still tell something. Nothing, if
    /// that is all of them.
    pub fn shortened(&self, sample_bits: u32) -> Option<Self> {
        let mut less = 0;
        while self.observations.len() >> less > SHORT && self.memory_bits >> less > SHORT_BITS {
            less += 1;
        }
        let kept = |place: &usize| {
            let fingerprint = self.observations[*place].fingerprint;
            is_in(fingerprint, sample_bits + less)
        };
        let places: Vec<usize> = (0..self.observations.len()).filter(kept).collect();
        let first: Vec<bool> = places.iter().map(|&place| self.first[place]).collect();
        let distinct = first.iter().filter(|first| **first).count() as u64;
        if less == 0 || distinct < LEAST || first.len() as u64 - distinct < LEAST {
            return None;
        }
        let scale = distinct as f64 / self.distinct as f64;
        Some(Heat {
            observations: places.iter().map(|&it| self.observations[it]).collect(),
            groups: places.iter().map(|&place| self.groups[place]).collect(),
            first,
            distinct,
            memory_bits: (self.memory_bits as f64 * scale) as u64,
        })
    }

    /// The same keys with other fingerprints: as if they had been hashed by another seed.
    pub fn hashed_anew(&self, lap: u64) -> Self {
        let anew = |it: &Observation| {
            let word = Generator::from_state(it.fingerprint.0 ^ lap).draw(lap);
            Observation::from(Fingerprint(word))
        };
        Heat {
            observations: self.observations.iter().map(anew).collect(),
            ..self.clone()
        }
    }

    /// What theory has to know of it.
    pub fn workload(&self) -> Workload {
        let mut gaps = GapMeter::exact();
        for it in &self.observations {
            gaps.record(it.fingerprint.0);
        }
        Workload::with_gaps(self.count(), self.distinct, gaps.histogram()).coarse()
    }

    /// Nothing, if there is no such filter in this memory.
    pub fn run(&self, filter: &FilterSpec) -> Option<Tried> {
        let mut set = SeenSet::in_memory(filter, self.memory_bits, 1).ok()?;
        let mut tried = Tried {
            filter: filter.clone(),
            dropped: [0; GROUPS],
            missed: [0; GROUPS],
            laps: 1,
            predicted: None,
        };
        let mut verdicts = [Verdict::New; BATCH];
        let mut place = 0;
        for batch in self.observations.chunks(BATCH) {
            let verdicts = &mut verdicts[..batch.len()];
            set.observe_batch(batch, verdicts);
            for &mut verdict in verdicts {
                let group = usize::from(self.groups[place]) % GROUPS;
                let (first, seen) = (self.first[place], verdict == Verdict::Seen);
                tried.dropped[group] += u64::from(first & seen);
                tried.missed[group] += u64::from(!first & !seen);
                place += 1;
            }
        }
        Some(tried)
    }
}
