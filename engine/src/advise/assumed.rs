//! Rates by theory, on the streams that a stream could be.
//!
//! What is not known is assumed several times: the share of first occurrences, and whether
//! repeats are uniform picks of all keys or lie close, as many at distances of 1 to 2 as at
//! 1,000 to 2,000. A candidate's score is the geometric mean of its costs on all of them.
//! So a cost of twice the best one counts as much where all err often as where few do, and
//! a filter that fails on one kind of stream is not saved by the others.

use super::advice::{Estimate, Found, Sureness};
use super::candidate;
use super::question::{Preference, Question};
use crate::filter::FilterSpec;
use crate::theory::{GapHistogram, Workload, predict};

/// Shares of first occurrences, where no count is given.
const FIRST_SHARES: [f64; 2] = [0.2, 0.75];
/// Bits for a key, where not even the number of keys is known.
const BITS_A_KEY: [f64; 4] = [2.0, 4.0, 8.0, 16.0];
/// Errors an observation that are as good as none.
const NEGLIGIBLE: f64 = 1e-5;

/// Streams that the one in question could be.
pub(super) fn streams(question: &Question<'_>) -> Vec<Workload> {
    let memory = question.memory_bits as f64;
    let keys: Vec<u64> = match question.expected_distinct() {
        Some(distinct) => vec![distinct],
        None => BITS_A_KEY.map(|bits| (memory / bits) as u64).to_vec(),
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
        for count in counts {
            streams.push(Workload::uniform(count, distinct).coarse());
            streams.push(Workload::with_gaps(count, distinct, &close(count)).coarse());
        }
    }
    streams
}

/// As many repeats in every octave of distances.
fn close(count: u64) -> GapHistogram {
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

/// Estimates of the candidates, and of some of the papers' filters.
pub(super) fn found(question: &Question<'_>) -> Found {
    let mut all = estimates(
        question,
        &candidate::candidates(question.bits_a_key(), question.preference),
    );
    if question.preference != Preference::Balanced {
        return Found { all, papers: None };
    }
    let papers = estimates(question, &candidate::papers_examples());
    let is_beaten = |paper: &&Estimate| {
        let mut blooms = all.iter().filter(|it| candidate::is_bloom(&it.filter));
        blooms.any(|it| it.is_no_worse_than(paper))
    };
    let worth_it: Vec<Estimate> = papers.iter().filter(|it| !is_beaten(it)).cloned().collect();
    all.extend(worth_it);
    let best = papers
        .into_iter()
        .min_by(|a, b| a.score.total_cmp(&b.score));
    Found { all, papers: best }
}

/// The expected rates of each candidate that can be built, averaged over the streams.
fn estimates(question: &Question<'_>, filters: &[FilterSpec]) -> Vec<Estimate> {
    let streams = streams(question);
    let estimate = |filter: &FilterSpec| {
        let (mut fpr, mut fnr, mut logarithm) = (0.0, 0.0, 0.0);
        let (mut cost, mut costs) = (0.0, Vec::new());
        let (mut widest_fpr, mut widest_fnr) = ((1.0f64, 0.0f64), (1.0f64, 0.0f64));
        for stream in &streams {
            let found = predict(filter, question.memory_bits, stream)?;
            let first = stream.distinct() / stream.count().max(1.0);
            let here = question.cost(found.fpr, found.fnr, first);
            fpr += found.fpr;
            fnr += found.fnr;
            cost += here;
            logarithm += libm::log(here + NEGLIGIBLE);
            costs.push(here);
            widest_fpr = (widest_fpr.0.min(found.fpr), widest_fpr.1.max(found.fpr));
            widest_fnr = (widest_fnr.0.min(found.fnr), widest_fnr.1.max(found.fnr));
        }
        let n = streams.len() as f64;
        Some(Estimate {
            filter: filter.clone(),
            fpr: fpr / n,
            fnr: fnr / n,
            fpr_range: widest_fpr,
            fnr_range: widest_fnr,
            cost: cost / n,
            score: libm::exp(logarithm / n),
            parts: costs,
        })
    };
    filters.iter().filter_map(estimate).collect()
}

/// On how many of the streams the best is the best, and how far behind it is at worst.
pub(super) fn sureness(best: &Estimate, all: &[Estimate]) -> Sureness {
    let (mut wins, mut worst) = (0, 1.0f64);
    for (stream, &cost) in best.parts.iter().enumerate() {
        let least = all.iter().filter_map(|it| it.parts.get(stream));
        let least = least.fold(f64::INFINITY, |least, &cost| least.min(cost));
        let times = (cost + NEGLIGIBLE) / (least + NEGLIGIBLE);
        wins += usize::from(times <= 1.1);
        worst = worst.max(times);
    }
    Sureness::Assumed {
        best_on: wins,
        streams: best.parts.len(),
        worst_times_the_best: worst,
    }
}
