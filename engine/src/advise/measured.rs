//! Rates by running candidates over a sample, in memory scaled to it.
//!
//! Errors are counted in groups of keys. Keys err independently of each other, near enough,
//! while the repeats of one key share its fate; so the spread between groups says how far
//! the difference of two candidates on this sample is to be trusted.

use super::advice::{Estimate, Sureness};
use super::question::Question;
use super::sample::Sample;
use crate::filter::{FilterSpec, Observation, Verdict};
use crate::fingerprint::Fingerprint;
use crate::rng::Generator;
use crate::seen_set::SeenSet;

/// Groups of keys.
const GROUPS: usize = 32;
/// Fewer repeats or keys than this say too little.
const LEAST: u64 = 200;
/// Fewer bits than this are no small likeness of a filter.
const LEAST_BITS: u64 = 1024;
/// Keys handed over at a time.
const BATCH: usize = 1024;

/// What a sample is to a question.
pub(super) struct Trial<'a> {
    observations: &'a [Observation],
    first: Vec<bool>,
    groups: Vec<u8>,
    distinct: u64,
    memory_bits: u64,
}

impl<'a> Trial<'a> {
    /// Nothing, if the sample has too little in it, or too little of the memory is left.
    pub fn new(question: &Question<'a>) -> Option<Self> {
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
        let group = |fingerprint: Fingerprint| {
            // Other draws than those that took the keys into the sample.
            (Generator::from_state(fingerprint.0).draw(1) % GROUPS as u64) as u8
        };
        let observations = sample.observations();
        Some(Trial {
            observations,
            first,
            groups: observations
                .iter()
                .map(|it| group(it.fingerprint))
                .collect(),
            distinct,
            memory_bits,
        })
    }

    /// The rates of each candidate that can be built.
    pub fn estimates(&self, question: &Question<'_>, filters: &[FilterSpec]) -> Vec<Estimate> {
        let tried = filters
            .iter()
            .filter_map(|filter| self.run(question, filter));
        tried.collect()
    }

    fn run(&self, question: &Question<'_>, filter: &FilterSpec) -> Option<Estimate> {
        let mut set = SeenSet::in_memory(filter, self.memory_bits, 1).ok()?;
        let (mut dropped, mut missed) = ([0u64; GROUPS], [0u64; GROUPS]);
        let mut verdicts = [Verdict::New; BATCH];
        let mut place = 0;
        for batch in self.observations.chunks(BATCH) {
            let verdicts = &mut verdicts[..batch.len()];
            set.observe_batch(batch, verdicts);
            for &mut verdict in verdicts {
                let group = usize::from(self.groups[place]) % GROUPS;
                let (first, seen) = (self.first[place], verdict == Verdict::Seen);
                dropped[group] += u64::from(first & seen);
                missed[group] += u64::from(!first & !seen);
                place += 1;
            }
        }
        let count = self.observations.len() as f64;
        let repeats = count - self.distinct as f64;
        let share =
            |parts: &[u64; GROUPS], whole: f64| parts.iter().sum::<u64>() as f64 / whole.max(1.0);
        let (fpr, fnr) = (
            share(&dropped, self.distinct as f64),
            share(&missed, repeats),
        );
        let weighed = dropped.iter().zip(&missed);
        let parts = weighed.map(|(&dropped, &missed)| {
            (question.cost_fp * dropped as f64 + question.cost_fn * missed as f64) / count
        });
        let cost = question.cost(fpr, fnr, self.distinct as f64 / count);
        Some(Estimate {
            filter: filter.clone(),
            fpr,
            fnr,
            fpr_range: (fpr, fpr),
            fnr_range: (fnr, fnr),
            cost,
            score: cost,
            parts: parts.collect(),
        })
    }
}

/// How far the best is ahead of the next, with the standard error of that.
pub(super) fn sureness(best: &Estimate, next: Option<&Estimate>, sampled: u64) -> Sureness {
    let Some(next) = next else {
        return Sureness::Measured {
            observations: sampled,
            ahead: 0.0,
            standard_error: 0.0,
        };
    };
    let differences: Vec<f64> = next
        .parts
        .iter()
        .zip(&best.parts)
        .map(|(next, best)| next - best)
        .collect();
    let n = differences.len().max(2) as f64;
    let ahead: f64 = differences.iter().sum();
    let mean = ahead / n;
    let squares = differences.iter().map(|it| (it - mean) * (it - mean));
    let variance = squares.sum::<f64>() * n / (n - 1.0);
    Sureness::Measured {
        observations: sampled,
        ahead,
        standard_error: libm::sqrt(variance),
    }
}
