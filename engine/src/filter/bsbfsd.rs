//! BSBFSD: a partitioned Bloom filter that clears one bit in total for each key it adds.
//!
//! **Guarantee.** Neither error rate is bounded. The filter forgets k times more slowly than
//! BSBF, so it has fewer false negatives and more false positives.
//!
//! **When to use it.** To compare with the literature. If the number of distinct keys is
//! bounded, a plain Bloom filter with the best k has lower rates of *both* errors in 15 of the
//! 24 settings that the paper publishes.
//!
//! **How it works.** There are k partitions of s bits. With k = 2 and s = 8, key `a` has position
//! 5 in the first partition and 1 in the second. One of these bits is clear, so `a` is New. First
//! one random bit of a random partition is cleared, say bit 7 of the second. Then 5 and 1 are
//! set. A Seen key changes nothing.
//!
//! **Paper.** Bera, Dutta, Narang, Bhattacherjee, "Advanced Bloom Filter Based Algorithms for
//! Efficient Approximate Data De-Duplication in Streams", 2012, Algorithm 3.
//!
//! **Departures.** The paper prints DISTINCT and DUPLICATE interchanged; read literally, the
//! algorithm never inserts a key. We interchange them, which reproduces the paper's tables. All
//! partitions have the same size, so a random bit of a random partition is a random bit of the
//! whole filter: one draw is enough.

use super::Registers;
use super::bit_partitions::BitPartitions;
use super::citation::Citation;
use super::clearing_bloom::{ClearingBloom, ClearingRule, PARTITIONS};
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use crate::fingerprint::reduce;

/// The geometry of a BSBFSD.
pub type Bsbfsd = ClearingBloom<ClearInOnePartition>;

/// Clears one random bit of one random partition, whether it is set or not.
#[derive(Clone, Copy, Debug)]
pub struct ClearInOnePartition;

impl ClearingRule for ClearInOnePartition {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "bsbfsd",
        title: "Biased sampling based Bloom filter with single deletion",
        summary: "For a new key, clears one random bit in one of k partitions and then sets the \
                  key's bit in each.",
        promise: "Neither error rate is bounded; it forgets k times more slowly than bsbf.",
        choose_when: "To compare with its paper: a plain Bloom filter with the best k has lower \
                      rates of both errors in 15 of the paper's 24 settings.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::StreamPaper,
        source: Citation::BERA_2012,
        advised_because: Descriptor::FEWEST_ERRORS,
        drawing: Drawing {
            before: &["#..#..|.#..#."],
            after: &["#..##.|.##..."],
            caption: "The new key clears one random bit in total, then sets its own bit in each \
                      partition.",
        },
        parameters: &[PARTITIONS],
    };

    #[inline(always)]
    fn clear_count(_: &BitPartitions) -> u64 {
        1
    }

    #[inline(always)]
    fn position_to_clear(
        partitions: &BitPartitions,
        _: &Registers,
        _: u64,
        draw: u64,
    ) -> Option<u64> {
        Some(reduce(draw, partitions.cells()))
    }
}
