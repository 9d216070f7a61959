//! Estimates rates from theory, on streams that the unknown stream could be.
//!
//! Unknown properties get several assumed values: the share of first occurrences, and the gaps
//! between repeats. Repeats are either uniform choices among all keys, or close, with as many
//! gaps of 1 to 2 as of 1,000 to 2,000. The score of a candidate is the geometric mean of its
//! costs over all assumed streams. So twice the best cost counts the same on a stream where all
//! filters err often as on one where few do, and good results on other streams do not outweigh a
//! failure on one.

use super::advice::{Confidence, Estimate, Estimates};
use super::candidate;
use super::question::{Preference, Question, RatesBy};
use crate::filter::FilterSpec;
use crate::theory::{GapHistogram, Workload, predict};

/// Assumed shares of first occurrences if no count is given.
const FIRST_SHARES: [f64; 2] = [0.2, 0.75];
/// Assumed bits per key if the number of keys is unknown.
const BITS_PER_KEY: [f64; 4] = [2.0, 4.0, 8.0, 16.0];
/// The number of windows in an assumed stream.
const WINDOWS: u64 = 8;
/// A cost per observation that counts as none.
const NEGLIGIBLE: f64 = 1e-5;

/// Returns the assumed streams.
pub(super) fn streams(question: &Question<'_>) -> Vec<Workload> {
    let memory = question.memory_bits as f64;
    let keys: Vec<u64> = match question.expected_distinct() {
        Some(distinct) => vec![distinct],
        None => BITS_PER_KEY.map(|bits| (memory / bits) as u64).to_vec(),
    };
    let mut streams = Vec::new();
    for distinct in keys {
        let distinct = distinct.max(1);
        let counts: Vec<u64> = match question.count {
            Some(count) => vec![count.max(distinct)],
            None => FIRST_SHARES
                .map(|share| (distinct as f64 / share) as u64)
                .to_vec(),
        };
        if let Some(seconds) = question.window {
            streams.extend(
                counts
                    .iter()
                    .map(|&count| several_windows(count, distinct, seconds)),
            );
            continue;
        }
        for count in counts {
            streams.push(Workload::uniform(count, distinct).coarse());
            streams.push(Workload::with_gaps(count, distinct, &close_gaps(count)).coarse());
        }
    }
    streams
}

/// Returns a stream of several windows with so many observations and keys in each. Keys repeat only
/// within a window: how many come again later is unknown, and they count as new.
fn several_windows(count: u64, distinct: u64, seconds: u64) -> Workload {
    let gaps = close_gaps(count);
    let workload = Workload::with_gaps(WINDOWS * count, WINDOWS * distinct, &gaps);
    workload.lasting((WINDOWS * seconds) as f64).coarse()
}

/// Returns gaps with the same number of repeats in every octave.
fn close_gaps(count: u64) -> GapHistogram {
    let mut gaps = GapHistogram::default();
    let octaves = count.max(4).ilog2();
    for octave in 0..octaves {
        let from = 1u64 << octave;
        for step in 0..4 {
            gaps.record(from + from * step / 4, 1);
        }
    }
    gaps
}

/// Estimates the candidates and some filters of the papers.
pub(super) fn estimates(question: &Question<'_>) -> Estimates {
    let mut filters = candidate::of_question(question);
    // Its formula is about keys that never occurred. It often drops keys that come again right
    // after their span, and without a sample nobody knows how many do.
    filters.retain(|it| it.descriptor().name != "apbf");
    let mut eligible = estimate_all(question, &filters);
    if question.preference != Preference::Balanced || question.window.is_some() {
        return Estimates {
            eligible,
            best_of_papers: None,
        };
    }
    let papers = estimate_all(question, &candidate::paper_examples());
    let is_dominated = |paper: &&Estimate| {
        let mut blooms = eligible.iter().filter(|it| candidate::is_bloom(&it.filter));
        blooms.any(|it| it.is_no_worse_than(paper))
    };
    let not_dominated: Vec<Estimate> = papers
        .iter()
        .filter(|it| !is_dominated(it))
        .cloned()
        .collect();
    eligible.extend(not_dominated);
    let best_of_papers = papers
        .into_iter()
        .min_by(|a, b| a.score.total_cmp(&b.score));
    Estimates {
        eligible,
        best_of_papers,
    }
}

/// Returns the expected rates of each filter that can be built, averaged over the streams.
fn estimate_all(question: &Question<'_>, filters: &[FilterSpec]) -> Vec<Estimate> {
    let streams = streams(question);
    let estimate = |filter: &FilterSpec| {
        let (mut fpr, mut fnr, mut logarithm) = (0.0, 0.0, 0.0);
        let mut end_fpr = 0.0;
        let (mut cost, mut costs) = (0.0, Vec::new());
        let (mut fpr_range, mut fnr_range) = ((1.0f64, 0.0f64), (1.0f64, 0.0f64));
        for stream in &streams {
            let predicted = predict(filter, question.memory_bits, stream)?;
            let first_share = stream.distinct() / stream.count().max(1.0);
            let end = predicted.end();
            let (fpr_here, fnr_here) = match question.rates_by {
                RatesBy::Mean => (predicted.fpr, predicted.fnr),
                RatesBy::End => (end.fpr, end.fnr),
            };
            let cost_here = question.cost(fpr_here, fnr_here, first_share);
            fpr += fpr_here;
            fnr += fnr_here;
            end_fpr += end.fpr;
            cost += cost_here;
            logarithm += libm::log(cost_here + NEGLIGIBLE);
            costs.push(cost_here);
            fpr_range = (fpr_range.0.min(fpr_here), fpr_range.1.max(fpr_here));
            fnr_range = (fnr_range.0.min(fnr_here), fnr_range.1.max(fnr_here));
        }
        let n = streams.len() as f64;
        Some(Estimate {
            filter: filter.clone(),
            fpr: fpr / n,
            fnr: fnr / n,
            end_fpr: Some(end_fpr / n),
            fpr_range,
            fnr_range,
            cost: cost / n,
            score: libm::exp(logarithm / n),
            parts: costs,
        })
    };
    filters.iter().filter_map(estimate).collect()
}

/// Compares the choice with the best candidate on each assumed stream.
pub(super) fn confidence(choice: &Estimate, all: &[Estimate]) -> Confidence {
    let (mut near_best_on, mut worst_ratio) = (0, 1.0f64);
    for (stream, &cost) in choice.parts.iter().enumerate() {
        let least = all.iter().filter_map(|it| it.parts.get(stream));
        let least = least.fold(f64::INFINITY, |least, &cost| least.min(cost));
        let ratio = (cost + NEGLIGIBLE) / (least + NEGLIGIBLE);
        near_best_on += usize::from(ratio <= 1.1);
        worst_ratio = worst_ratio.max(ratio);
    }
    Confidence::Assumed {
        near_best_on,
        streams: choice.parts.len(),
        worst_ratio,
    }
}
