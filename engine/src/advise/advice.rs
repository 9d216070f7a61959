//! Ranks the candidates and gives the advice.

use super::cheaper::{self, Cheaper};
use super::question::{Question, RatesBy};
use super::trial::{Trial, Unmeasured};
use super::{assumed, candidate, measured, reason};
use crate::filter::{AnyFilter, BuildError, FilterSpec};
use crate::seen_set::CreateError;
use crate::theory::{information, predict};

/// Candidates whose costs differ by at most this factor count as equal; the one that touches
/// the fewest cache lines is preferred.
const EQUAL_COST: f64 = 1.02;
/// The same if even the number of keys is assumed, which is less precise.
const EQUAL_COST_UNKNOWN: f64 = 1.5;
/// The factor by which a filter that misses almost no repeats may cost more than the best if
/// the gaps between repeats are assumed: its rates do not depend on the gaps.
const GAP_INDEPENDENT: f64 = 1.5;
/// A false negative rate of almost none.
pub(super) const ALMOST_NONE: f64 = 1e-3;
/// A difference of rates or costs that is too small to matter.
pub(super) const NEGLIGIBLE: f64 = 1e-8;

/// The expected error rates and cost of a candidate.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The filter.
    pub filter: FilterSpec,
    /// False positive rate: the share of new keys that are dropped.
    pub fpr: f64,
    /// False negative rate: the share of repeats that are missed.
    pub fnr: f64,
    /// The predicted FPR at the end of the stream, when the filter has observed all keys. None if
    /// there is no formula.
    pub end_fpr: Option<f64>,
    /// The lowest and the highest FPR on the assumed streams.
    pub fpr_range: (f64, f64),
    /// The lowest and the highest FNR on the assumed streams.
    pub fnr_range: (f64, f64),
    /// The mean cost of its errors per observation.
    pub cost: f64,
    /// The value used for ranking: the cost, or its geometric mean over the assumed streams.
    pub(super) score: f64,
    /// Cost by assumed stream, or by group of keys.
    pub(super) parts: Vec<f64>,
}

impl Estimate {
    /// Returns whether neither rate is higher.
    pub(super) fn is_no_worse_than(&self, other: &Estimate) -> bool {
        self.fpr <= other.fpr && self.fnr <= other.fnr
    }

    /// Returns whether one rate is lower by more than a negligible amount, and neither is
    /// higher.
    fn dominates(&self, other: &Estimate) -> bool {
        let matters = |mine: f64, others: f64| mine + NEGLIGIBLE < others;
        self.is_no_worse_than(other)
            && (matters(self.fpr, other.fpr) || matters(self.fnr, other.fnr))
    }

    /// Returns whether it costs less on one of the assumed streams and no more on the others.
    fn dominates_on_every_stream(&self, other: &Estimate) -> bool {
        let mut pairs = self.parts.iter().zip(&other.parts);
        pairs.all(|(mine, others)| mine <= others) && self.parts != other.parts
    }
}

/// Estimates of all candidates.
pub(super) struct Estimates {
    /// Candidates that may be chosen. It holds a filter of the papers only if no Bloom filter
    /// is at least as good on both rates.
    pub eligible: Vec<Estimate>,
    /// The best filter of the papers, eligible or not.
    pub best_of_papers: Option<Estimate>,
}

/// How reliable a choice is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Confidence {
    /// Nothing was measured; the choice rests on theory for assumed streams.
    Assumed {
        /// The number of assumed streams on which the choice costs at most 10 % more than the
        /// best.
        near_best_on: usize,
        /// The number of assumed streams.
        streams: usize,
        /// The greatest ratio of its cost to that of the best, over the assumed streams.
        worst_ratio: f64,
    },
    /// The candidates ran over a sample.
    Measured {
        /// The number of observations in the sample.
        observations: u64,
        /// How much more the best other filter costs per observation.
        ahead: f64,
        /// The standard error of `ahead`.
        standard_error: f64,
    },
}

/// The answer to a question.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The advised filter.
    pub choice: Estimate,
    /// The best configuration of each other filter, best first.
    pub runners_up: Vec<Estimate>,
    /// Whether the choice is expected to meet the bounds.
    pub keeps_bounds: bool,
    /// Why this filter was chosen: a sentence without capital letter and full stop.
    pub reason: String,
    /// How the best filter of the papers compares: a sentence like `reason`. None if it was not
    /// considered or is the choice.
    pub papers: Option<String>,
    /// If errors are weighted by importance: the best filter that uses importance, or the best that
    /// does not if the choice does.
    pub other_kind: Option<Estimate>,
    /// How reliable the choice is.
    pub confidence: Confidence,
    /// Why nothing was measured; None if candidates were.
    pub unmeasured: Option<Unmeasured>,
    /// The filter with the lowest mean cost, if it is not the choice, and why not.
    pub cheaper: Option<Cheaper>,
    /// The filters that `papers` and `cheaper` name, except for the choice.
    pub compared: Vec<Estimate>,
    /// The lower bound on the FPR, after all keys, of any filter that misses no repeat. None if
    /// the number of keys is unknown.
    pub least_fpr: Option<f64>,
}

pub(super) fn ranked(question: &Question<'_>) -> Result<Advice, CreateError> {
    let (trial, unmeasured) = match (question.rates_by, Trial::of(question)) {
        (RatesBy::Mean, Ok(trial)) => (Some(trial), None),
        (RatesBy::Mean, Err(why)) => (None, Some(why)),
        (RatesBy::End, _) => (None, None),
    };
    let estimates = match &trial {
        Some(trial) => measured::estimates(question, trial)?,
        None => assumed::estimates(question),
    };
    let mut all = estimates.eligible;
    sort(question, &mut all);
    let Some(choice) = all.first().cloned() else {
        return Err(too_small(question).into());
    };
    let equal_cost = match (&trial, question.expected_distinct()) {
        (None, None) => EQUAL_COST_UNKNOWN,
        _ => EQUAL_COST,
    };
    let choice = match (&trial, question.expected_distinct()) {
        (None, Some(_)) => gap_independent(question, &all).unwrap_or(choice),
        _ => choice,
    };
    let is_dominated = |it: &Estimate| {
        all.iter().any(|other| match trial {
            Some(_) => other.dominates(it),
            None => other.dominates_on_every_stream(it),
        })
    };
    let eligible: Vec<Estimate> = all.iter().filter(|it| !is_dominated(it)).cloned().collect();
    // A slightly cheaper filter may be slower. A dominated filter is not taken for its speed.
    let choice = fastest(question, &choice, &eligible, equal_cost).unwrap_or(choice);
    let mut runners_up: Vec<Estimate> = Vec::new();
    for estimate in &all {
        let name = |it: &Estimate| it.filter.descriptor().name;
        let listed = runners_up.iter().any(|it| name(it) == name(estimate));
        if name(estimate) != name(&choice) && !listed {
            runners_up.push(estimate.clone());
        }
    }
    let confidence = match (&trial, question.sample) {
        (Some(_), Some(sample)) => {
            let count = sample.observations().len() as u64;
            measured::confidence(&choice, runners_up.first(), count)
        }
        _ => assumed::confidence(&choice, &all),
    };
    let keeps_bounds = question.excess(choice.fpr, choice.fnr) <= 1.0;
    let cheaper = cheaper::than(question, &choice, &all);
    let papers = estimates
        .best_of_papers
        .and_then(|paper| reason::of_papers(&choice, &paper, &all));
    let (papers, named) =
        papers.map_or((None, Vec::new()), |(papers, named)| (Some(papers), named));
    let named = named
        .into_iter()
        .chain(cheaper.iter().map(|it| it.estimate.clone()));
    let mut compared: Vec<Estimate> = Vec::new();
    for estimate in named {
        let is_same = |it: &Estimate| it.filter == estimate.filter;
        if !is_same(&choice) && !compared.iter().any(is_same) {
            compared.push(estimate);
        }
    }
    let other_kind = all
        .iter()
        .find(|it| question.weighted && uses_importance(it) != uses_importance(&choice));
    let mut choice = choice;
    if let Some(trial) = &trial {
        let workload = trial.workload();
        let shown = std::iter::once(&mut choice)
            .chain(&mut runners_up)
            .chain(&mut compared);
        for estimate in shown {
            let prediction = predict(&estimate.filter, trial.memory_bits, &workload);
            estimate.end_fpr = prediction.map(|prediction| prediction.end().fpr);
        }
    }
    Ok(Advice {
        other_kind: other_kind.cloned(),
        reason: reason::of(question, &choice, keeps_bounds),
        papers,
        keeps_bounds,
        confidence,
        unmeasured,
        least_fpr: question.bits_per_key().map(information::min_fpr),
        choice,
        runners_up,
        cheaper,
        compared,
    })
}

fn uses_importance(estimate: &Estimate) -> bool {
    candidate::uses_importance(&estimate.filter)
}

/// Sorts by how far the bounds are exceeded, then by score. Of equal ones, those come first that need
/// not know the importance of keys.
fn sort(question: &Question<'_>, estimates: &mut [Estimate]) {
    let key = |it: &Estimate| (question.excess(it.fpr, it.fnr), it.score);
    estimates.sort_by(|a, b| {
        let ((a_excess, a_score), (b_excess, b_score)) = (key(a), key(b));
        a_excess
            .total_cmp(&b_excess)
            .then(a_score.total_cmp(&b_score))
            .then_with(|| uses_importance(a).cmp(&uses_importance(b)))
    });
}

/// Returns the best of the filters whose rates do not depend on the gaps between repeats. None
/// if it is much worse than the best of all.
fn gap_independent(question: &Question<'_>, sorted: &[Estimate]) -> Option<Estimate> {
    let best = sorted.first()?;
    let excess = |it: &Estimate| question.excess(it.fpr, it.fnr);
    let mut independent = sorted.iter().filter(|it| it.fnr_range.1 <= ALMOST_NONE);
    independent
        .find(|it| it.score <= GAP_INDEPENDENT * best.score && excess(it) <= excess(best))
        .cloned()
}

/// Returns the filter that touches the fewest cache lines among those as good as the best.
fn fastest(
    question: &Question<'_>,
    best: &Estimate,
    sorted: &[Estimate],
    equal_cost: f64,
) -> Option<Estimate> {
    let excess = |it: &Estimate| question.excess(it.fpr, it.fnr);
    let cache_lines = |it: &Estimate| {
        let built = AnyFilter::build(&it.filter, question.memory_bits);
        built.map_or(u32::MAX, |filter| filter.cache_lines_touched())
    };
    let as_independent = |it: &Estimate| it.fnr_range.1 <= best.fnr_range.1.max(ALMOST_NONE);
    let as_good = sorted.iter().filter(|it| {
        it.score <= equal_cost * best.score + NEGLIGIBLE
            && excess(it) <= excess(best)
            && as_independent(it)
            // One that needs importance is not taken for its speed.
            && (!uses_importance(it) || it.filter == best.filter)
    });
    as_good.min_by_key(|it| cache_lines(it)).cloned()
}

/// Returns the error of the first candidate that could not be built.
fn too_small(question: &Question<'_>) -> BuildError {
    let refused = candidate::of_question(question)
        .iter()
        .find_map(|filter| AnyFilter::build(filter, question.memory_bits).err());
    refused.unwrap_or(BuildError::TooSmall {
        filter: "any filter".to_owned(),
        memory_bits: question.memory_bits,
        minimum_bits: crate::filter::MIN_MEMORY_BITS,
    })
}
