//! Which filter, with which parameters, for a stream and a memory.
//!
//! No filter is the best everywhere. From what is known of the stream ([`Question`]) a few
//! dozen [candidates] are made and each is given its expected error rates: by
//! [`theory`](crate::theory) on the streams it could be, or, where there is a [`Sample`],
//! by running it over that in as much less memory as there are fewer keys. [`advise`] takes
//! the one that costs least, and says what the others would have cost and how sure it is.
//!
//! Pure as all but the store: a question has one answer on every target.

mod advice;
mod assumed;
mod candidate;
mod measured;
mod question;
mod reason;
mod sample;
mod sizing;
mod trial;

pub use advice::{Advice, Estimate, Sureness};
pub use candidate::{PAPERS, candidates, is_from_papers, papers_candidates};
pub use question::{Preference, Question};
pub use sample::Sample;
pub use sizing::{Size, least_memory};

use crate::filter::BuildError;

/// What [`advise`] says to those who tell nothing but a memory; a test holds it to that.
pub const DEFAULT_FILTER: &str = "blocked:k=6,cap=85";

/// The filter for a question. A sample is gone by if it has repeats and keys enough, and
/// leaves enough of the memory; else what it says of the number of keys is all that counts.
pub fn advise(question: &Question<'_>) -> Result<Advice, BuildError> {
    advice::ranked(question)
}
