//! The reasons why a set cannot be created.

use crate::byte_size::ByteSizeError;
use crate::filter::BuildError;
use crate::region::OutOfMemory;

/// The reason why a set cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The filter cannot be built in this memory size.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The operating system has not enough memory.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The memory or the audit was given as something that is no size.
    #[error(transparent)]
    Size(#[from] ByteSizeError),
    /// The audit is larger than the format of a store allows.
    #[error("an audit has at most {maximum} bytes; {requested} were requested")]
    AuditTooLarge {
        /// The size requested, in bytes.
        requested: u64,
        /// The largest size, in bytes.
        maximum: u64,
    },
    /// The filter uses a key's number as its fingerprint, and these keys are not numbers.
    #[error("{filter} works only on keys that are the numbers 0, 1, 2 and so on")]
    NumbersOnly {
        /// The filter, in its text form.
        filter: String,
    },
    /// The region given to [`resume`](super::SeenSetBuilder::resume) has the wrong length.
    #[error("{filter} needs a region of {expected} bytes; {found} were given")]
    RegionLength {
        /// The filter, in its text form.
        filter: String,
        /// The length that the filter needs, in bytes.
        expected: usize,
        /// The length given, in bytes.
        found: usize,
    },
}
