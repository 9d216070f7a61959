//! Rates by running candidates over a sample.
//!
//! In rounds: all candidates over some keys of the sample; the best of them, and of every
//! filter, over all of it; then what lies next to the best, one parameter changed by an
//! eighth, until that is no better. Where the best makes too few errors to be told from the
//! next, the sample is gone over again under other hashes.
//!
//! What is still few is weighed against theory, on the gaps of the sample. A formula counts
//! for as much as a measurement of [`FORMULA_ERRORS`] errors would, and is not believed
//! further than to the edge of what the measurement leaves open. So it ranks those of whom
//! no error was met, and hardly moves a rate that is known.

use super::advice::{Estimate, Found, Sureness};
use super::candidate::{self, neighbours};
use super::question::{Preference, Question};
use super::trial::{Heat, Tried};
use crate::filter::FilterSpec;
use crate::theory::predict;

/// How many of the first round are run over the whole sample.
const FINALISTS: usize = 12;
/// Of how many filters the neighbours of the best configuration are tried in the first round.
const LEADERS: usize = 4;
/// How many times neighbours of the best are tried in the last.
const CLIMBS: usize = 4;
/// So many errors tell two candidates apart that differ by a tenth.
const ENOUGH_ERRORS: u64 = 1000;
/// So many more may be chance where the best makes hardly any.
const FEW: u64 = 20;
/// What costs more than this times the best on the first lap is run on no other.
const MAY_BE_BEST: f64 = 1.5;
/// At most so many laps, and so many observations on all of them.
const MOST_LAPS: u64 = 16;
const MOST_OBSERVATIONS: u64 = 1 << 22;
/// How many errors a formula's word is worth: it is taken to be good to a seventh.
const FORMULA_ERRORS: f64 = 50.0;

/// Runs candidates over a sample.
pub(super) fn race(question: &Question<'_>, full: &Heat) -> Found {
    let one_in = question.sample.map_or(1, |sample| sample.one_in());
    let short = full.shortened(one_in.ilog2());
    let mut round = Round::new(question, short.as_ref().unwrap_or(full));
    round.run(&candidate::for_trial(
        question.bits_a_key(),
        question.preference,
    ));
    let leaders = round.best_of_each_filter();
    for leader in leaders.iter().take(LEADERS) {
        round.run(&neighbours(leader, question.preference));
    }
    let mut papers = Round::new(question, round.heat);
    if question.preference == Preference::Balanced {
        papers.run(&candidate::papers_candidates());
    }
    let papers = papers.sorted();
    let of_papers = papers.first().map(|it| it.filter.clone());
    let not_beaten = |it: &Tried| !round.bloom_beats(it);
    let worth_it: Vec<Tried> = papers.into_iter().filter(not_beaten).collect();
    round.tried.extend(worth_it);
    round.ask_theory();
    let finalists = round.sorted().into_iter().take(FINALISTS);
    let mut finalists: Vec<FilterSpec> = finalists.map(|it| it.filter).collect();
    finalists.extend(round.best_of_each_filter());
    let mut last = Round::new(question, full);
    last.run(&finalists);
    for _ in 0..CLIMBS {
        let Some(best) = last.sorted().into_iter().next() else {
            break;
        };
        if last.run(&neighbours(&best.filter, question.preference)) == 0 {
            break;
        }
    }
    last.more_laps();
    last.ask_theory();
    let papers = of_papers.and_then(|filter| full.run(&filter));
    let ours = last.tried.iter();
    let ours = ours.filter(|it| !candidate::is_from_papers(&it.filter) || !last.bloom_beats(it));
    Found {
        all: ours.map(|it| last.estimate(it)).collect(),
        papers: papers.map(|it| last.estimate(&it)),
    }
}

/// Candidates that were run over the same keys.
struct Round<'a> {
    question: &'a Question<'a>,
    heat: &'a Heat,
    tried: Vec<Tried>,
}

impl<'a> Round<'a> {
    fn new(question: &'a Question<'a>, heat: &'a Heat) -> Self {
        Round {
            question,
            heat,
            tried: Vec::new(),
        }
    }

    /// Runs those that were not yet; how many that are.
    fn run(&mut self, filters: &[FilterSpec]) -> usize {
        let before = self.tried.len();
        for filter in filters {
            if !self.tried.iter().any(|it| it.filter == *filter) {
                self.tried.extend(self.heat.run(filter));
            }
        }
        self.tried.len() - before
    }

    /// FPR and FNR, as measured and as theory says, if it was asked.
    fn rates(&self, tried: &Tried) -> (f64, f64) {
        let (dropped, missed) = tried.errors();
        let rate = |errors: u64, of: u64, said: Option<f64>| {
            settled(errors, (of * tried.laps).max(1), said)
        };
        let said = tried.predicted;
        (
            rate(dropped, self.heat.distinct, said.map(|it| it.0)),
            rate(missed, self.heat.repeats(), said.map(|it| it.1)),
        )
    }

    /// Asks theory of those that err about as rarely as the best, if that is too rarely to be
    /// told from the next.
    fn ask_theory(&mut self) {
        let errors = |it: &Tried| (it.errors().0 + it.errors().1) / it.laps;
        let least = self.tried.iter().map(errors).min().unwrap_or(0);
        if least >= ENOUGH_ERRORS {
            return;
        }
        let workload = self.heat.workload();
        for it in &mut self.tried {
            let few = errors(it) <= 2 * least + FEW;
            if few && it.predicted.is_none() {
                let said = predict(&it.filter, self.heat.memory_bits, &workload);
                it.predicted = said.map(|said| (said.fpr, said.fnr));
            }
        }
    }

    fn first_share(&self) -> f64 {
        self.heat.distinct as f64 / self.heat.count().max(1) as f64
    }

    /// By what it is ranked: first by how far it exceeds the bounds, then by its cost.
    fn rank(&self, tried: &Tried) -> (f64, f64) {
        let (fpr, fnr) = self.rates(tried);
        let cost = self.question.cost(fpr, fnr, self.first_share());
        (self.question.excess(fpr, fnr), cost)
    }

    fn sorted(&self) -> Vec<Tried> {
        let mut sorted = self.tried.clone();
        sorted.sort_by(|a, b| {
            let ((a_excess, a_cost), (b_excess, b_cost)) = (self.rank(a), self.rank(b));
            a_excess
                .total_cmp(&b_excess)
                .then(a_cost.total_cmp(&b_cost))
        });
        sorted
    }

    fn best_of_each_filter(&self) -> Vec<FilterSpec> {
        let mut best: Vec<FilterSpec> = Vec::new();
        for it in self.sorted() {
            let name = it.filter.descriptor().name;
            if !best.iter().any(|other| other.descriptor().name == name) {
                best.push(it.filter);
            }
        }
        best
    }

    /// Whether one of the Bloom filters is better on both rates, or the same.
    fn bloom_beats(&self, paper: &Tried) -> bool {
        let (fpr, fnr) = self.rates(paper);
        let mut blooms = self
            .tried
            .iter()
            .filter(|it| candidate::is_bloom(&it.filter));
        blooms.any(|it| {
            let bloom = self.rates(it);
            bloom.0 <= fpr && bloom.1 <= fnr
        })
    }

    /// Goes over the sample again with those that may be the best.
    fn more_laps(&mut self) {
        let sorted = self.sorted();
        let Some(best) = sorted.first() else {
            return;
        };
        let (question, count) = (self.question, self.heat.count().max(1));
        let errors = best.errors().0 + best.errors().1;
        let wanted = ENOUGH_ERRORS / errors.max(1);
        let laps = wanted.min(MOST_OBSERVATIONS / count).min(MOST_LAPS);
        let (excess, least) = self.rank(best);
        // So many errors more may be chance.
        let slack = 3.0 * libm::sqrt(errors as f64 + 1.0) + 3.0;
        let dearest = question.cost_fp.max(question.cost_fn);
        let limit = MAY_BE_BEST * least + slack * dearest / count as f64;
        let contends = |it: &Tried| {
            let rank = self.rank(it);
            rank.0 <= MAY_BE_BEST * excess && rank.1 <= limit
        };
        let places = 0..self.tried.len();
        let contending: Vec<usize> = places.filter(|&it| contends(&self.tried[it])).collect();
        for lap in 1..laps {
            let heat = self.heat.hashed_anew(lap);
            for &place in &contending {
                let tried = &mut self.tried[place];
                if let Some(more) = heat.run(&tried.filter) {
                    tried.add(&more);
                }
            }
        }
    }

    fn estimate(&self, tried: &Tried) -> Estimate {
        let (fpr, fnr) = self.rates(tried);
        let cost = self.question.cost(fpr, fnr, self.first_share());
        let all = (self.heat.count() * tried.laps) as f64;
        let parts = tried.dropped.iter().zip(&tried.missed);
        let parts = parts.map(|(&dropped, &missed)| {
            let cost = self.question.cost_fp * dropped as f64;
            (cost + self.question.cost_fn * missed as f64) / all
        });
        Estimate {
            filter: tried.filter.clone(),
            fpr,
            fnr,
            fpr_range: (fpr, fpr),
            fnr_range: (fnr, fnr),
            cost,
            score: cost,
            parts: parts.collect(),
        }
    }
}

/// A rate of which so many errors were met, and of which theory has something to say.
fn settled(errors: u64, of: u64, predicted: Option<f64>) -> f64 {
    let (errors, of) = (errors as f64, of as f64);
    let Some(predicted) = predicted else {
        return errors / of;
    };
    // Two standard errors about the middle of what could have led to this number.
    let (middle, reach) = (errors + 2.0, 2.0 * libm::sqrt(errors + 1.0));
    let believed = predicted.clamp((middle - reach) / of, (middle + reach) / of);
    match believed > 0.0 {
        true => ((errors + FORMULA_ERRORS) / (of + FORMULA_ERRORS / believed)).min(1.0),
        false => 0.0,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theory_ranks_what_was_never_seen_to_err() {
        assert_eq!(settled(0, 1_000_000, Some(0.0)), 0.0);
        let rare = settled(0, 1_000_000, Some(1e-9));
        assert!((0.9e-9..1.1e-9).contains(&rare), "{rare}");
        // A formula that says often, where nothing was met, is not believed.
        assert!(settled(0, 1_000_000, Some(0.5)) < 4e-6);
    }

    #[test]
    fn theory_hardly_moves_what_was_measured() {
        for wrong in [0.0, 1e-9, 0.5] {
            let many = settled(10_000, 1_000_000, Some(wrong));
            assert!((many / 0.01 - 1.0).abs() < 0.001, "{many}");
            let some = settled(100, 1_000_000, Some(wrong));
            assert!((some / 1e-4 - 1.0).abs() < 0.15, "{some}");
        }
        assert_eq!(settled(5, 100, None), 0.05);
    }
}
