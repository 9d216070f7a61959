//! RLBSBF: a partitioned Bloom filter that clears bits more often the fuller it is.
//!
//! **Guarantee.** Neither error rate is bounded. The load settles where bits are cleared as
//! fast as they are set, so the filter keeps working on an endless stream.
//!
//! **When to use it.** To compare with the literature. If the number of distinct keys is
//! bounded, a plain Bloom filter with the best k has lower rates of *both* errors in 15 of the
//! 24 settings that the paper publishes.
//!
//! **How it works.** There are k partitions of s bits. With k = 1 and s = 8, key `a` has position
//! 5. The bit is clear, so `a` is New. First a random bit is chosen, say 2, and cleared with a
//! probability equal to the load of the partition, here 0/8. Then bit 5 is set, and the load is
//! 1/8. A Seen key changes nothing.
//!
//! **Paper.** Bera, Dutta, Narang, Bhattacherjee, "Advanced Bloom Filter Based Algorithms for
//! Efficient Approximate Data De-Duplication in Streams", 2012, Algorithm 4.
//!
//! **Departures.** The paper prints DISTINCT and DUPLICATE interchanged; read literally, the
//! algorithm never inserts a key. We interchange them, which reproduces the paper's tables. One
//! 64-bit draw per partition gives both the position and the random number for the probability:
//! the high half of draw × s is the position, and the low half is uniform and independent of it.

use super::Registers;
use super::bit_partitions::BitPartitions;
use super::citation::Citation;
use super::clearing_bloom::{ClearingBloom, ClearingRule, PARTITIONS};
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use crate::bytes::count_ones;
use crate::fingerprint::reduce;

/// The geometry of an RLBSBF. Its own registers hold the number of set bits per partition.
pub type Rlbsbf = ClearingBloom<ClearByLoad>;

/// Clears a random bit of each partition, with a probability equal to the partition's load.
#[derive(Clone, Copy, Debug)]
pub struct ClearByLoad;

impl ClearingRule for ClearByLoad {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "rlbsbf",
        title: "Randomly load-balanced biased sampling Bloom filter",
        summary: "For a new key, sets one bit in each of k partitions, after clearing a random \
                  bit with a probability equal to the partition's load.",
        promise: "The load settles; neither error rate is bounded.",
        choose_when: "To compare with its paper: a plain Bloom filter with the best k has lower \
                      rates of both errors in 15 of the paper's 24 settings.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::StreamPaper,
        source: Citation::BERA_2012,
        advised_because: Descriptor::FEWEST_ERRORS,
        drawing: Drawing {
            before: &["#..#..|.#..#."],
            after: &["##....|.#.##."],
            caption: "The new key sets one bit in each partition. The fuller a partition, the more \
                      likely it is that a random bit is cleared first: here in the left one.",
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
        registers: &Registers,
        number: u64,
        draw: u64,
    ) -> Option<u64> {
        let size = partitions.partition_bits;
        let threshold = reduce(draw.wrapping_mul(size), size);
        let position = partitions.start(number) + reduce(draw, size);
        (threshold < registers.own()[number as usize]).then_some(position)
    }

    #[inline(always)]
    fn record_change(registers: &mut Registers, partition: u64, change: i64) {
        let load = &mut registers.own_mut()[partition as usize];
        *load = load.wrapping_add_signed(change);
    }

    fn recount(partitions: &BitPartitions, region: &[u8], registers: &mut Registers) {
        for (partition, load) in (0..u64::from(partitions.count())).zip(registers.own_mut()) {
            let start = partitions.start(partition);
            *load = count_ones(region, start..start + partitions.partition_bits);
        }
    }

    fn false_positive_rate(partitions: &BitPartitions, registers: &Registers) -> f64 {
        let loads = &registers.own()[..partitions.count() as usize];
        let share = |&load: &u64| load as f64 / partitions.partition_bits as f64;
        loads.iter().map(share).product()
    }
}
