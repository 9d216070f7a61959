//! Estimates rates by running candidates over a sample, in rounds.
//!
//! 1. All candidates run over some keys of the sample.
//! 2. The best of them, and the best configuration of every filter, run over the whole sample.
//! 3. Neighbours of the best, with one parameter changed by an eighth, run until none is better.
//! 4. If the best makes too few errors to be distinguished from the next, the contenders run over
//!    the sample again under other hashes.
//!
//! If errors are still few, theory with the gaps of the sample is combined with the measurement.
//! A prediction weighs as much as a measurement of [`FORMULA_ERRORS`] errors, and is clamped to
//! the confidence interval of the measurement. So it ranks the candidates that made no error, and
//! hardly changes a well-measured rate.

use super::advice::{Confidence, Estimate, Estimates};
use super::candidate::{self, neighbours};
use super::question::{Preference, Question};
use super::trial::{Trial, TrialResult};
use crate::filter::FilterSpec;
use crate::region::OutOfMemory;
use crate::theory::predict;

/// How many candidates of the first round run over the whole sample.
const FINALISTS: usize = 12;
/// The first round tries the neighbours of the best configuration of this many filters.
const LEADERS: usize = 4;
/// The last round tries the neighbours of the best at most this many times.
const MAX_STEPS: usize = 4;
/// Enough errors to distinguish two candidates that differ by 10 %.
const ENOUGH_ERRORS: f64 = 1000.0;
/// If the best makes hardly any errors, this many more may be chance.
const FEW: f64 = 20.0;
/// A candidate that costs more than this many times the best in the first pass runs in no other.
const MAY_BE_BEST: f64 = 1.5;
/// The greatest number of passes over the sample, and of observations in all of them.
const MAX_PASSES: u64 = 16;
const MAX_OBSERVATIONS: u64 = 1 << 22;
/// The weight of a prediction, in errors: 50 errors have a standard error of a seventh.
const FORMULA_ERRORS: f64 = 50.0;

/// Estimates the candidates by running them over a sample. Fails if the system has not enough
/// memory for them.
pub(super) fn estimates(question: &Question<'_>, full: &Trial) -> Result<Estimates, OutOfMemory> {
    let one_in = question.sample.map_or(1, |sample| sample.one_in());
    let short = full.shortened(one_in.ilog2());
    let mut round = Round::new(question, short.as_ref().unwrap_or(full));
    round.run(&candidate::for_trial_of(question))?;
    let leaders = round.best_of_each_filter();
    for leader in leaders.iter().take(LEADERS) {
        round.run(&neighbours(leader, question.preference))?;
    }
    let mut papers = Round::new(question, round.trial);
    if question.preference == Preference::Balanced && question.window.is_none() {
        papers.run(&candidate::paper_candidates())?;
    }
    let papers = papers.sorted();
    let best_of_papers = papers.first().map(|it| it.filter.clone());
    let not_dominated = |it: &TrialResult| !round.is_dominated_by_bloom(it);
    let not_dominated: Vec<TrialResult> = papers.into_iter().filter(not_dominated).collect();
    round.results.extend(not_dominated);
    round.add_predictions();
    let finalists = round.sorted().into_iter().take(FINALISTS);
    let mut finalists: Vec<FilterSpec> = finalists.map(|it| it.filter).collect();
    finalists.extend(round.best_of_each_filter());
    let mut last = Round::new(question, full);
    last.run(&finalists)?;
    for _ in 0..MAX_STEPS {
        let Some(best) = last.sorted().into_iter().next() else {
            break;
        };
        if last.run(&neighbours(&best.filter, question.preference))? == 0 {
            break;
        }
    }
    last.add_passes()?;
    last.add_predictions();
    let best_of_papers = match best_of_papers {
        Some(filter) => full.run(&filter)?,
        None => None,
    };
    let eligible = last
        .results
        .iter()
        .filter(|it| !candidate::is_from_papers(&it.filter) || !last.is_dominated_by_bloom(it));
    Ok(Estimates {
        eligible: eligible.map(|it| last.estimate(it)).collect(),
        best_of_papers: best_of_papers.map(|it| last.estimate(&it)),
    })
}

/// The results of candidates over the same keys.
struct Round<'a> {
    question: &'a Question<'a>,
    trial: &'a Trial,
    results: Vec<TrialResult>,
}

impl<'a> Round<'a> {
    fn new(question: &'a Question<'a>, trial: &'a Trial) -> Self {
        Round {
            question,
            trial,
            results: Vec::new(),
        }
    }

    /// Runs the filters that have not run yet. Returns how many ran.
    fn run(&mut self, filters: &[FilterSpec]) -> Result<usize, OutOfMemory> {
        let before = self.results.len();
        for filter in filters {
            if !self.results.iter().any(|it| it.filter == *filter) {
                self.results.extend(self.trial.run(filter)?);
            }
        }
        Ok(self.results.len() - before)
    }

    /// Returns FPR and FNR: as measured, combined with theory if it was computed.
    fn rates(&self, result: &TrialResult) -> (f64, f64) {
        let ((dropped, missed), (new, repeats)) = (result.errors(), result.occurrences());
        let rate = |errors: f64, of: f64, predicted: Option<f64>| {
            combined_rate(errors, of.max(1.0), predicted)
        };
        let predicted = result.predicted;
        (
            rate(dropped, new, predicted.map(|it| it.0)),
            rate(missed, repeats, predicted.map(|it| it.1)),
        )
    }

    /// Computes the predictions of the candidates that err about as rarely as the best, if the
    /// best errs too rarely to be distinguished from the next.
    fn add_predictions(&mut self) {
        let errors = |it: &TrialResult| (it.errors().0 + it.errors().1) / it.passes as f64;
        let least = self
            .results
            .iter()
            .map(errors)
            .fold(f64::INFINITY, f64::min);
        if least >= ENOUGH_ERRORS {
            return;
        }
        let workload = self.trial.workload();
        for it in &mut self.results {
            let few = errors(it) <= 2.0 * least + FEW;
            if few && it.predicted.is_none() {
                let prediction = predict(&it.filter, self.trial.memory_bits, &workload);
                it.predicted = prediction.map(|prediction| (prediction.fpr, prediction.fnr));
            }
        }
    }

    /// Returns the sort key: the factor by which the bounds are exceeded, then the cost.
    fn rank(&self, result: &TrialResult) -> (f64, f64) {
        let (fpr, fnr) = self.rates(result);
        let cost = self.question.cost(fpr, fnr, result.new_share());
        (self.question.excess(fpr, fnr), cost)
    }

    fn sorted(&self) -> Vec<TrialResult> {
        let mut sorted = self.results.clone();
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

    /// Returns whether a Bloom filter is at least as good on both rates.
    fn is_dominated_by_bloom(&self, paper: &TrialResult) -> bool {
        let (fpr, fnr) = self.rates(paper);
        let mut blooms = self
            .results
            .iter()
            .filter(|it| candidate::is_bloom(&it.filter));
        blooms.any(|it| {
            let bloom = self.rates(it);
            bloom.0 <= fpr && bloom.1 <= fnr
        })
    }

    /// Runs the candidates that may be the best over the sample again.
    fn add_passes(&mut self) -> Result<(), OutOfMemory> {
        let sorted = self.sorted();
        let Some(best) = sorted.first() else {
            return Ok(());
        };
        let (question, count) = (self.question, self.trial.count().max(1));
        let errors = best.errors().0 + best.errors().1;
        let wanted = (ENOUGH_ERRORS / errors.max(1.0)) as u64;
        let passes = wanted.min(MAX_OBSERVATIONS / count).min(MAX_PASSES);
        let (excess, least) = self.rank(best);
        // This many more errors may be chance.
        let slack = 3.0 * libm::sqrt(errors + 1.0) + 3.0;
        let greater_cost = question.cost_fp.max(question.cost_fn);
        let (new, repeats) = best.occurrences();
        let limit = MAY_BE_BEST * least + slack * greater_cost / (new + repeats).max(1.0);
        let contends = |it: &TrialResult| {
            let rank = self.rank(it);
            rank.0 <= MAY_BE_BEST * excess && rank.1 <= limit
        };
        let indices = 0..self.results.len();
        let contenders: Vec<usize> = indices.filter(|&it| contends(&self.results[it])).collect();
        for pass in 1..passes {
            let trial = self.trial.rehashed(pass);
            for &index in &contenders {
                let result = &mut self.results[index];
                if let Some(more) = trial.run(&result.filter)? {
                    result.add(&more);
                }
            }
        }
        Ok(())
    }

    fn estimate(&self, result: &TrialResult) -> Estimate {
        let (fpr, fnr) = self.rates(result);
        let cost = self.question.cost(fpr, fnr, result.new_share());
        let all = (result.new + result.repeats).max(1) as f64;
        let parts = result.dropped.iter().zip(&result.missed);
        let parts = parts.map(|(&dropped, &missed)| {
            let cost = self.question.cost_fp * dropped as f64;
            (cost + self.question.cost_fn * missed as f64) / all
        });
        Estimate {
            filter: result.filter.clone(),
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

/// Returns the rate of `errors` in `of` observations, combined with a prediction.
fn combined_rate(errors: f64, of: f64, predicted: Option<f64>) -> f64 {
    let Some(predicted) = predicted else {
        return errors / of;
    };
    // An interval of two standard errors around the means that could give this count.
    let (middle, reach) = (errors + 2.0, 2.0 * libm::sqrt(errors + 1.0));
    let clamped = predicted.clamp((middle - reach) / of, (middle + reach) / of);
    match clamped > 0.0 {
        true => ((errors + FORMULA_ERRORS) / (of + FORMULA_ERRORS / clamped)).min(1.0),
        false => 0.0,
    }
}

/// Compares the costs of the choice and the next candidate.
pub(super) fn confidence(best: &Estimate, next: Option<&Estimate>, sampled: u64) -> Confidence {
    let Some(next) = next else {
        return Confidence::Measured {
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
    Confidence::Measured {
        observations: sampled,
        ahead,
        standard_error: libm::sqrt(variance),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theory_ranks_candidates_without_errors() {
        assert_eq!(combined_rate(0.0, 1e6, Some(0.0)), 0.0);
        let rare = combined_rate(0.0, 1e6, Some(1e-9));
        assert!((0.9e-9..1.1e-9).contains(&rare), "{rare}");
        // A prediction far above the measurement is clamped.
        assert!(combined_rate(0.0, 1e6, Some(0.5)) < 4e-6);
    }

    #[test]
    fn theory_hardly_changes_a_measured_rate() {
        for wrong in [0.0, 1e-9, 0.5] {
            let many = combined_rate(10_000.0, 1e6, Some(wrong));
            assert!((many / 0.01 - 1.0).abs() < 0.001, "{many}");
            let some = combined_rate(100.0, 1e6, Some(wrong));
            assert!((some / 1e-4 - 1.0).abs() < 0.15, "{some}");
        }
        assert_eq!(combined_rate(5.0, 100.0, None), 0.05);
    }
}
