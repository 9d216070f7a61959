//! States on many machines.

mod map_reduce;
mod partition_error;
mod row_entry;
mod row_partitions;

pub use map_reduce::{Combined, Reduced, combine, observe_block, split_evenly};
pub use partition_error::PartitionError;
pub use row_entry::{EntryError, RowEntry};
pub use row_partitions::{RowPartition, RowPartitions};
