//! Chooses a filter and its parameters for a stream and a memory size.
//!
//! No filter is the best everywhere. A [`Question`] states what is known about the stream. A few
//! dozen [candidates] follow from it, and each gets its expected error rates: from
//! [`theory`](crate::theory) on the streams that the unknown stream could be; or, given a
//! [`Sample`], from a run over the sample, with the memory scaled to the sample's share of keys.
//! [`advise`] returns the candidate with the lowest cost, the expected rates of the others, and
//! how reliable the choice is.
//!
//! The module is deterministic: a question has the same answer on every target.

mod advice;
mod assumed;
mod calculator;
mod candidate;
mod cheaper;
mod measured;
mod memory_search;
mod question;
mod reason;
mod sample;
mod sizing;
mod trial;

pub use advice::{Advice, Confidence, Estimate};
pub use calculator::{Calculation, CalculationError, Given, calculate, calculated_filters};
pub use candidate::{candidates, is_from_papers, paper_candidates, window_candidates};
pub use cheaper::{Cheaper, WhyNotChosen};
pub use memory_search::{MemorySearch, RequiredMemory};
pub use question::{Preference, Question, RatesBy};
pub use sample::Sample;
pub use sizing::{Size, minimum_memory};
pub use trial::Unmeasured;

pub use crate::filter::{DEFAULT_FILTER, DEFAULT_MEMORY};

use crate::seen_set::CreateError;

/// Chooses a filter.
///
/// Candidates run over the sample if it has enough keys and repeats, and if the scaled memory is
/// large enough. Otherwise only its number of keys is used.
///
/// # Errors
/// If the memory is too small for every candidate, or if the system has less than candidates need
/// to run over the sample.
pub fn advise(question: &Question<'_>) -> Result<Advice, CreateError> {
    advice::ranked(question)
}
