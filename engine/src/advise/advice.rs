//! The answer, and how candidates are ranked.

use super::candidate::candidates;
use super::question::Question;
use super::trial::Heat;
use super::{assumed, measured, reason};
use crate::filter::{AnyFilter, BuildError, FilterSpec};
use crate::theory::information;

/// Costs this near are equal, and what touches fewer lines of memory is preferred: as they
/// were measured, or predicted for a number of keys; and where that number was assumed, too,
/// which is further off than this.
const AS_GOOD: f64 = 1.02;
const AS_GOOD_UNKNOWN: f64 = 1.5;
/// What a filter that misses next to no repeats may cost more than one that does, where how
/// far back they lie is assumed: the first one's rates hold whatever that is.
const FIRM: f64 = 1.5;
const NEXT_TO_NONE: f64 = 1e-3;
/// A rate or a cost of which few will ever see an error.
const NEGLIGIBLE: f64 = 1e-8;

/// What is expected of a candidate.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The filter.
    pub filter: FilterSpec,
    /// New keys dropped, as a share of them.
    pub fpr: f64,
    /// Repeats missed, as a share of them.
    pub fnr: f64,
    /// The least and the greatest FPR on the streams assumed.
    pub fpr_range: (f64, f64),
    /// The same of the FNR.
    pub fnr_range: (f64, f64),
    /// What its errors cost an observation.
    pub cost: f64,
    /// What it is ranked by: the cost, or its geometric mean over the streams assumed.
    pub(super) score: f64,
    /// Costs by assumed stream, or by group of keys.
    pub(super) parts: Vec<f64>,
}

impl Estimate {
    /// No worse on either rate.
    pub(super) fn is_no_worse_than(&self, other: &Estimate) -> bool {
        self.fpr <= other.fpr && self.fnr <= other.fnr
    }

    /// Better on one rate, by as much as can matter, and no worse on the other.
    fn is_better_on_both_than(&self, other: &Estimate) -> bool {
        let matters = |mine: f64, others: f64| mine + NEGLIGIBLE < others;
        self.is_no_worse_than(other)
            && (matters(self.fpr, other.fpr) || matters(self.fnr, other.fnr))
    }

    /// Cheaper on one of the streams assumed and no dearer on the others.
    fn is_better_on_every_stream_than(&self, other: &Estimate) -> bool {
        let mut pairs = self.parts.iter().zip(&other.parts);
        pairs.all(|(mine, others)| mine <= others) && self.parts != other.parts
    }
}

/// What is known of candidates.
pub(super) struct Found {
    /// Estimates of all that may be chosen: of the papers' filters, those that no Bloom
    /// filter is better than on both rates.
    pub all: Vec<Estimate>,
    /// The best of the papers' filters, chosen or not.
    pub papers: Option<Estimate>,
}

/// How far a choice is to be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sureness {
    /// Nothing was measured.
    Assumed {
        /// On how many of the streams it is within a tenth of the best.
        best_on: usize,
        /// How many streams were assumed.
        streams: usize,
        /// How many times the best one's cost its own is at worst.
        worst_times_the_best: f64,
    },
    /// It was run over a sample.
    Measured {
        /// The sample's length.
        observations: u64,
        /// By how much an observation of the next candidate costs more.
        ahead: f64,
        /// The standard error of that.
        standard_error: f64,
    },
}

/// A filter for a question.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The choice.
    pub choice: Estimate,
    /// The best of each other filter, best first.
    pub runners_up: Vec<Estimate>,
    /// Whether the bounds asked for are kept, as far as can be told.
    pub keeps_bounds: bool,
    /// In one sentence.
    pub reason: String,
    /// What there is to say of the papers' filters, in one sentence.
    pub papers: Option<String>,
    /// How far it is to be trusted.
    pub sureness: Sureness,
    /// The least FPR that any filter could have that misses no repeat, once all keys are in.
    pub least_fpr: Option<f64>,
}

pub(super) fn ranked(question: &Question<'_>) -> Result<Advice, BuildError> {
    let trial = Heat::of(question);
    let found = match &trial {
        Some(heat) => measured::race(question, heat),
        None => assumed::found(question),
    };
    let mut all = found.all;
    sort(question, &mut all);
    let Some(choice) = all.first().cloned() else {
        return Err(too_small(question));
    };
    let as_good = match (&trial, question.expected_distinct()) {
        (None, None) => AS_GOOD_UNKNOWN,
        _ => AS_GOOD,
    };
    let choice = match (&trial, question.expected_distinct()) {
        (None, Some(_)) => firm(question, &all).unwrap_or(choice),
        _ => choice,
    };
    let is_beaten = |it: &Estimate| {
        all.iter().any(|other| match trial {
            Some(_) => other.is_better_on_both_than(it),
            None => other.is_better_on_every_stream_than(it),
        })
    };
    let eligible: Vec<Estimate> = all.iter().filter(|it| !is_beaten(it)).cloned().collect();
    // What costs next to nothing less may be slower; what another beats is not taken for that.
    let choice = cheaper_to_run(question, &choice, &eligible, as_good).unwrap_or(choice);
    let mut runners_up: Vec<Estimate> = Vec::new();
    for estimate in &all {
        let name = |it: &Estimate| it.filter.descriptor().name;
        let known = runners_up.iter().any(|it| name(it) == name(estimate));
        if name(estimate) != name(&choice) && !known {
            runners_up.push(estimate.clone());
        }
    }
    let sureness = match (&trial, question.sample) {
        (Some(_), Some(sample)) => {
            let count = sample.observations().len() as u64;
            measured::sureness(&choice, runners_up.first(), count)
        }
        _ => assumed::sureness(&choice, &all),
    };
    let keeps_bounds = question.excess(choice.fpr, choice.fnr) <= 1.0;
    Ok(Advice {
        reason: reason::of(question, &choice, keeps_bounds),
        papers: found
            .papers
            .and_then(|paper| reason::of_papers(&choice, &paper, &all)),
        keeps_bounds,
        sureness,
        least_fpr: question.bits_a_key().map(information::least_fpr),
        choice,
        runners_up,
    })
}

/// Those that keep the bounds first, then by how little they exceed them; then by cost.
fn sort(question: &Question<'_>, estimates: &mut [Estimate]) {
    let key = |it: &Estimate| (question.excess(it.fpr, it.fnr), it.score);
    estimates.sort_by(|a, b| {
        let ((a_excess, a_score), (b_excess, b_score)) = (key(a), key(b));
        a_excess
            .total_cmp(&b_excess)
            .then(a_score.total_cmp(&b_score))
    });
}

/// The best of those whose rates do not hang on how far back repeats lie, if it is not much
/// worse than the best of all.
fn firm(question: &Question<'_>, sorted: &[Estimate]) -> Option<Estimate> {
    let best = sorted.first()?;
    let excess = |it: &Estimate| question.excess(it.fpr, it.fnr);
    let mut firm = sorted.iter().filter(|it| it.fnr_range.1 <= NEXT_TO_NONE);
    firm.find(|it| it.score <= FIRM * best.score && excess(it) <= excess(best))
        .cloned()
}

/// Of those that are as good as the best, the one that touches the fewest lines of memory.
fn cheaper_to_run(
    question: &Question<'_>,
    best: &Estimate,
    sorted: &[Estimate],
    as_good: f64,
) -> Option<Estimate> {
    let excess = |it: &Estimate| question.excess(it.fpr, it.fnr);
    let lines = |it: &Estimate| {
        let built = AnyFilter::build(&it.filter, question.memory_bits);
        built.map_or(u32::MAX, |filter| filter.lines_touched())
    };
    let no_less_firm = |it: &Estimate| it.fnr_range.1 <= best.fnr_range.1.max(NEXT_TO_NONE);
    let as_good = sorted.iter().filter(|it| {
        it.score <= as_good * best.score + NEGLIGIBLE
            && excess(it) <= excess(best)
            && no_less_firm(it)
    });
    as_good.min_by_key(|it| lines(it)).cloned()
}

/// Nothing could be built: what the first candidate says of that.
fn too_small(question: &Question<'_>) -> BuildError {
    let refused = candidates(question.bits_a_key(), question.preference)
        .iter()
        .find_map(|filter| AnyFilter::build(filter, question.memory_bits).err());
    refused.unwrap_or(BuildError::TooSmall {
        filter: "any filter".to_owned(),
        memory_bits: question.memory_bits,
        minimum_bits: crate::filter::MIN_MEMORY_BITS,
    })
}
