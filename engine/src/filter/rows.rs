//! The rows of a filter whose observations touch only one.
//!
//! A filter is row-local if an observation reads and changes only one row of the region, and
//! otherwise only adds to words of the registers. The row follows from the fingerprint alone, and
//! it does not fall when the fingerprint rises. Several threads can then observe one batch; see
//! `row_parts.rs`.

/// The rows of a row-local filter. The row of a key is
/// [`reduce`](crate::fingerprint::reduce)`(fingerprint, count)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The number of rows.
    pub count: u64,
    /// The size of a row in bits. Rows follow each other without gaps.
    pub bits: u64,
}
