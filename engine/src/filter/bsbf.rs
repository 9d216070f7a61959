//! BSBF: a partitioned Bloom filter that clears one bit per partition for each key it adds.
//!
//! **Guarantee.** Neither error rate is bounded. With k = 1 the load grows towards 1, more and
//! more slowly: as the filter fills, more keys are reported as Seen and change nothing. With a
//! larger k it settles where bits are cleared as fast as they are set: at 62 % with k = 2.
//!
//! **When to use it.** To compare with the literature. If the number of distinct keys is
//! bounded, a plain Bloom filter with the best k has lower rates of *both* errors in 15 of the
//! 24 settings that the paper publishes.
//!
//! **How it works.** There are k partitions of s bits. With k = 2 and s = 8, key `a` has position
//! 5 in the first partition and 1 in the second. One of these bits is clear, so `a` is New. First
//! a random bit of each partition is cleared, say 2 and 7, whether it was set or not. Then 5 and 1
//! are set. A Seen key changes nothing.
//!
//! **Paper.** Bera, Dutta, Narang, Bhattacherjee, "Advanced Bloom Filter Based Algorithms for
//! Efficient Approximate Data De-Duplication in Streams", 2012, Algorithm 2.
//!
//! **Departure.** The paper prints DISTINCT and DUPLICATE interchanged; read literally, the
//! algorithm never inserts a key. We interchange them, which reproduces the paper's tables.

use super::Registers;
use super::bit_partitions::BitPartitions;
use super::citation::Citation;
use super::clearing_bloom::{ClearingBloom, ClearingRule, PARTITIONS};
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use crate::fingerprint::reduce;

/// The geometry of a BSBF.
pub type Bsbf = ClearingBloom<ClearInEachPartition>;

/// Clears one random bit in each partition, whether it is set or not.
#[derive(Clone, Copy, Debug)]
pub struct ClearInEachPartition;

impl ClearingRule for ClearInEachPartition {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "bsbf",
        title: "Biased sampling based Bloom filter",
        summary: "For a new key, clears one random bit in each of k partitions and then sets the \
                  key's bit in each.",
        promise: "The load settles if k is at least 2; neither error rate is bounded.",
        choose_when: "To compare with its paper: a plain Bloom filter with the best k has lower \
                      rates of both errors in 15 of the paper's 24 settings.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::StreamPaper,
        source: Citation::BERA_2012,
        advised_because: Descriptor::FEWEST_ERRORS,
        drawing: Drawing {
            before: &["#..#..|.#..#."],
            after: &["...##.|.##..."],
            caption: "The new key clears a random bit in each partition, then sets its own bits.",
        },
        parameters: &[PARTITIONS],
    };

    #[inline(always)]
    fn clear_count(partitions: &BitPartitions) -> u64 {
        u64::from(partitions.count())
    }

    #[inline(always)]
    fn position_to_clear(
        partitions: &BitPartitions,
        _: &Registers,
        number: u64,
        draw: u64,
    ) -> Option<u64> {
        Some(partitions.start(number) + reduce(draw, partitions.partition_bits))
    }
}
