//! Why a filter cannot be built, or cannot forget.

use super::AnyFilter;

/// The filter cannot remove a single key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{filter} cannot forget a key; these filters can: {able}")]
pub struct CannotForget {
    /// The filter's name.
    pub filter: &'static str,
    /// The names of the filters that can, separated by commas.
    pub able: String,
}

impl CannotForget {
    /// Says that a filter cannot.
    pub(crate) fn of(filter: &AnyFilter) -> Self {
        CannotForget {
            filter: filter.name(),
            able: super::filters_that_forget().join(", "),
        }
    }
}

/// A spec and a memory size that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The memory is too small for the filter.
    #[error("{filter} needs at least {minimum_bits} bits of memory; {memory_bits} were given")]
    TooSmall {
        /// The filter, in its text form.
        filter: String,
        /// The memory given.
        memory_bits: u64,
        /// The smallest memory that works.
        minimum_bits: u64,
    },
    /// Two parameters contradict each other.
    #[error("{filter}: {reason}")]
    Contradiction {
        /// The filter, in its text form.
        filter: String,
        /// The condition that must hold.
        reason: &'static str,
    },
    /// The memory is larger than the filter's positions, or this target, can address.
    #[error(
        "{filter} can use at most {maximum_bits} bits of memory on this machine; \
         {memory_bits} were given"
    )]
    TooLarge {
        /// The filter, in its text form.
        filter: String,
        /// The memory given.
        memory_bits: u64,
        /// The largest memory that works.
        maximum_bits: u64,
    },
}
