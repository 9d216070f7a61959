//! Explains why a filter that costs less than the choice was not chosen.

use std::fmt::{self, Display};

use super::advice::{ALMOST_NONE, Estimate, NEGLIGIBLE};
use super::question::Question;
use crate::filter::AnyFilter;

/// A filter whose mean cost is below that of the choice.
#[derive(Clone, Debug)]
pub struct Cheaper {
    /// The filter with its expected rates.
    pub estimate: Estimate,
    /// Why it was not chosen.
    pub why: WhyNotChosen,
}

/// Why a filter that costs less was not chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyNotChosen {
    /// It exceeds the bounds by more than the choice.
    ExceedsBounds,
    /// Its false negative rate depends on the distances between repeats, which are not known.
    DependsOnGaps,
    /// It is cheaper on average, but its cost is farther above the best on some kinds of streams.
    WorseOnSomeStreams,
    /// It costs almost as much and is slower.
    Slower {
        /// The number of cache lines that it touches per new key.
        cache_lines: u32,
        /// That number for the choice.
        of_choice: u32,
    },
}

impl Display for WhyNotChosen {
    /// Writes a clause that follows "it costs less, but".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhyNotChosen::ExceedsBounds => f.write_str("exceeds the bounds by more"),
            WhyNotChosen::DependsOnGaps => f.write_str(
                "its false negative rate depends on the distances between repeats, which are not \
                 known; that of the choice does not",
            ),
            WhyNotChosen::WorseOnSomeStreams => f.write_str(
                "on some kinds of streams its cost is farther above the best than that of the \
                 choice",
            ),
            WhyNotChosen::Slower {
                cache_lines,
                of_choice,
            } if cache_lines > of_choice => write!(
                f,
                "not by much, and it is slower: it touches {cache_lines} cache lines per new key, \
                 the choice {of_choice}"
            ),
            WhyNotChosen::Slower { .. } => {
                f.write_str("not by more than the accuracy of the comparison")
            }
        }
    }
}

/// Returns the filter that costs least, if it is not the choice.
pub(super) fn than(
    question: &Question<'_>,
    choice: &Estimate,
    all: &[Estimate],
) -> Option<Cheaper> {
    let cheapest = all.iter().min_by(|a, b| a.cost.total_cmp(&b.cost))?;
    if cheapest.cost + NEGLIGIBLE >= choice.cost {
        return None;
    }
    let excess = |it: &Estimate| question.excess(it.fpr, it.fnr);
    let cache_lines = |it: &Estimate| {
        let built = AnyFilter::build(&it.filter, question.memory_bits);
        built.map_or(u32::MAX, |filter| filter.cache_lines_touched())
    };
    let is_independent = |it: &Estimate| it.fnr_range.1 <= ALMOST_NONE;
    let is_assumed = cheapest.fnr_range.0 < cheapest.fnr_range.1;
    let why = if excess(cheapest) > excess(choice) {
        WhyNotChosen::ExceedsBounds
    } else if is_assumed && is_independent(choice) && !is_independent(cheapest) {
        WhyNotChosen::DependsOnGaps
    } else if cheapest.score > choice.score {
        WhyNotChosen::WorseOnSomeStreams
    } else {
        WhyNotChosen::Slower {
            cache_lines: cache_lines(cheapest),
            of_choice: cache_lines(choice),
        }
    };
    Some(Cheaper {
        estimate: cheapest.clone(),
        why,
    })
}
