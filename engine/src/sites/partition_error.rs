//! Why the rows of a filter cannot be divided, united or observed.

use crate::filter::BuildError;

/// Why rows cannot be divided or united.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// The filter cannot be built in this memory.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The filter has no independent rows.
    #[error("{filter} cannot be divided by rows; only sqf can, because its rows are independent")]
    OtherFilter {
        /// The filter, in its text form.
        filter: String,
    },
    /// There are too few rows for so many partitions, or no partition was requested.
    #[error("{rows} rows can be divided into 1 to {most} partitions; {requested} were requested")]
    Count {
        /// The number of rows.
        rows: u64,
        /// The largest number of partitions.
        most: u64,
        /// The number requested.
        requested: usize,
    },
    /// A state has the wrong size.
    #[error("partition {index} has {expected} bytes; {found} were given")]
    Length {
        /// The partition.
        index: usize,
        /// The length of its bytes.
        expected: usize,
        /// The length given.
        found: usize,
    },
    /// There is no such partition.
    #[error("there is no partition {index}; there are {count}, numbered from 0")]
    Unknown {
        /// The index given.
        index: usize,
        /// The number of partitions.
        count: usize,
    },
    /// Not all partitions are given.
    #[error("{expected} partitions are needed; {found} were given")]
    Missing {
        /// The number of partitions.
        expected: usize,
        /// The number given.
        found: usize,
    },
    /// Partitions are not in order.
    #[error("partition {index} is given where partition {expected} is needed")]
    Order {
        /// The partition given.
        index: usize,
        /// The partition needed.
        expected: usize,
    },
    /// Two partitions have not been through the same blocks.
    #[error("partition {index} is at observation {found}, partition 0 is at {expected}")]
    Position {
        /// The partition that differs.
        index: usize,
        /// The observations of partition 0.
        expected: u64,
        /// The observations of this partition.
        found: u64,
    },
    /// A key was sent to a worker that does not have its row.
    #[error("row {row} is not in partition {index}")]
    WrongRow {
        /// The row.
        row: u64,
        /// The partition.
        index: usize,
    },
    /// A block is longer than its positions can count.
    #[error("a block has at most {} keys; {length} were given", u32::MAX)]
    BlockLength {
        /// The number of keys.
        length: usize,
    },
    /// A position is outside its block.
    #[error("position {position} is outside a block of {length}")]
    OutsideBlock {
        /// The position.
        position: u32,
        /// The length of the block.
        length: u32,
    },
    /// A signature does not exist with the filter's parameters.
    #[error("signature {signature} does not exist; the signatures are 1 to {most}")]
    Signature {
        /// The signature.
        signature: u16,
        /// The largest signature.
        most: u32,
    },
    /// Positions of one row are not in stream order.
    #[error("position {position} comes after position {previous}; the order must be the stream's")]
    StreamOrder {
        /// The position.
        position: u32,
        /// The one before it.
        previous: u32,
    },
}
