//! One seen-set on many sites: slices of a Bloom filter, messages, failed sites.
//!
//! A [`Site`] holds some of the bits of a Bloom filter. It answers *test*, *set* and
//! *test-and-set* for positions, atomically per call, and it can fail. A [`SiteGroup`] is all sites
//! of one filter; it receives requests in rounds, so that a network can send them at once.
//! [`Slicing`] says how a filter is divided, [`SlicePlan`] which site has which bits of a key, and
//! [`SlicedFilter`] asks the sites and decides by a [`FailureRule`].
//!
//! A [`BloomTree`] puts filters near the producers of keys. [`RowPartitions`] divide a streaming
//! quotient filter among workers, in stream order or by Map-Reduce.
//!
//! A composition of sites is not a [`Filter`](crate::filter::Filter): an observation costs messages,
//! and if sites have failed there may be no answer. So the verdict has a type of its own,
//! [`SiteVerdict`], with [`Unknown`](SiteVerdict::Unknown).
//!
//! Everything here is pure. [`BitSite`] lives in this process and serves simulations and tests. A
//! network implements [`Site`] or [`SiteGroup`] in a crate of its own.
//!
//! **Paper.** G. Koloniari, N. Ntarmos, E. Pitoura, D. Souravlias, "One is enough: distributed
//! filtering for duplicate elimination", 2011, sections 2 and 3.

mod bit_site;
mod claim;
mod failure_rule;
mod interleaving;
#[cfg(feature = "all-filters")]
mod map_reduce;
#[cfg(feature = "all-filters")]
mod partition_error;
mod prediction;
mod primitive;
mod round;
#[cfg(feature = "all-filters")]
mod row_entry;
#[cfg(feature = "all-filters")]
mod row_partitions;
mod site;
mod slice_plan;
mod sliced_filter;
mod slicing;
mod traffic;
mod tree;

pub use bit_site::BitSite;
pub use failure_rule::{FailureRule, FailureRuleError, SiteVerdict, Tally};
pub use interleaving::Interleavings;
#[cfg(feature = "all-filters")]
pub use map_reduce::{Combined, Reduced, combine, observe_block, split_evenly};
#[cfg(feature = "all-filters")]
pub use partition_error::PartitionError;
pub use prediction::{
    PredictedVerdicts, SitePrediction, horizontal_fault_tolerance, vertical_fault_tolerance,
};
pub use primitive::{ParsePrimitiveError, ParseTestingError, SitePrimitive, Testing};
#[cfg(feature = "all-filters")]
pub use row_entry::{EntryError, RowEntry};
#[cfg(feature = "all-filters")]
pub use row_partitions::{RowPartition, RowPartitions};
pub use site::{Operation, Request, Site, SiteFailure, SiteGroup};
pub use slice_plan::{SiteBit, SiteBits, SlicePlan};
pub use sliced_filter::SlicedFilter;
pub use slicing::{DicedOrder, Slicing, SlicingError};
pub use traffic::{Traffic, fairness};
pub use tree::{
    BitNode, BloomTree, LevelCounts, TimerNode, TopDown, TreeError, TreeNode, TreeOrder, TreeSpec,
};
