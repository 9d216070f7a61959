//! RSBF: a partitioned Bloom filter that adds keys with decreasing probability, like a
//! reservoir sample.
//!
//! **Guarantee.** Neither error rate is bounded. A key that was not added is reported as New
//! when it occurs again, and bits that are cleared for one key remove others.
//!
//! **When to use it.** To compare with the literature. If the number of distinct keys is
//! bounded, a plain Bloom filter with the best k has lower rates of *both* errors in 15 of the
//! 24 settings that the paper publishes.
//!
//! **How it works.** There are k partitions of s bits. With k = 1 and s = 8, the twentieth key of
//! the stream has position 5, which is clear, so it is New. It is added with probability s/20: a
//! random bit, say 2, is cleared, and 5 is set. A Seen key is added with the same probability.
//! The first s keys are always added.
//!
//! **Paper.** Bera, Dutta, Narang, Bhattacherjee, "Advanced Bloom Filter Based Algorithms for
//! Efficient Approximate Data De-Duplication in Streams", 2012.
//!
//! **Departures.** The paper's tables do not come from its Algorithm 1. `reading=published` is
//! what they come from: every key is added with probability min(1, s/i), and every addition
//! clears bits, also for the first s keys. `reading=printed` is Algorithm 1: the first s keys
//! clear nothing, and once s/i is below `threshold` (the paper's p*, 0.03) a key sets only those
//! of its bits that are clear, and a set bit is cleared for each of them. That stage needs a
//! stream of more than 33·s keys, and no published table has one. "Find a bit which is set" is
//! read as: the first set bit from a random position on.

use super::bit_partitions::BitPartitions;
use super::citation::Citation;
use super::clearing_bloom::PARTITIONS;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::union::unite_bits;
use super::{
    BuildError, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers, Verdict,
    delegate_reads,
};
use crate::bytes::{bit, clear_bit, first_set_bit, set_bit};
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of an RSBF.
#[derive(Clone, Debug)]
pub struct Rsbf {
    partitions: BitPartitions,
    reading: Reading,
}

#[derive(Clone, Copy, Debug)]
enum Reading {
    Published,
    Printed { threshold_millionths: u64 },
}

/// What an observation does to the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Nothing,
    Set,
    ClearAndSet,
    /// Sets the clear bits of the key, and clears a set bit for each.
    Exchange,
}

const MILLION: u128 = 1_000_000;

impl Rsbf {
    /// Returns the number of partitions.
    pub(crate) fn k(&self) -> u32 {
        self.partitions.count()
    }

    /// Whether the algorithm is that of the paper's text, not that of its tables.
    pub(crate) fn is_as_printed(&self) -> bool {
        matches!(self.reading, Reading::Printed { .. })
    }

    /// Returns by how much the load settles above 1/2. Algorithm 1 fills the filter to 1 − 1/e
    /// before it clears bits, and keeps the load once s/i is below the threshold. In between it
    /// adds s·ln(1/threshold) keys, which reduce the difference by the factor threshold².
    pub(crate) fn load_above_half(&self) -> f64 {
        match self.reading {
            Reading::Published => 0.0,
            Reading::Printed {
                threshold_millionths,
            } => {
                let threshold = threshold_millionths as f64 / MILLION as f64;
                (0.5 - libm::exp(-1.0)) * threshold * threshold
            }
        }
    }

    /// Returns the bit of a partition that a draw clears.
    #[inline(always)]
    fn position_to_clear(&self, partition: u64, draw: u64) -> u64 {
        self.partitions.start(partition) + reduce(draw, self.partitions.partition_bits)
    }

    /// Returns what observation number `number`, counted from 1, does. A draw is below the share
    /// s/i of its range if and only if draw · i < s · 2^64; there is no division and no rounding.
    #[inline(always)]
    fn action(&self, number: u64, draw: u64) -> Action {
        let partition_bits = u128::from(self.partitions.partition_bits);
        let number = u128::from(number);
        if let Reading::Printed {
            threshold_millionths,
        } = self.reading
        {
            if number < partition_bits {
                return Action::Set;
            }
            if partition_bits * MILLION < u128::from(threshold_millionths) * number {
                return Action::Exchange;
            }
        }
        match u128::from(draw) * number < partition_bits << 64 {
            true => Action::ClearAndSet,
            false => Action::Nothing,
        }
    }

    /// Clears the first set bit of a partition from a random position on, and sets a clear bit.
    /// Returns by how much the number of set bits grew: 0, or 1 if the partition was empty.
    fn exchange<R: Region + ?Sized>(
        &self,
        region: &mut R,
        partition: u64,
        position: u64,
        draw: u64,
    ) -> u64 {
        let start = self.partitions.start(partition);
        let from = self.position_to_clear(partition, draw);
        let end = start + self.partitions.partition_bits;
        let found = first_set_bit(region.bytes(), from..end)
            .or_else(|| first_set_bit(region.bytes(), start..from));
        let cleared = found.is_some_and(|position| clear_bit(region, position));
        u64::from(set_bit(region, position)) - u64::from(cleared)
    }
}

impl Filter for Rsbf {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "rsbf",
        title: "Reservoir sampling based Bloom filter",
        summary: "Adds the i-th key with probability s/i: clears a random bit in each of k \
                  partitions of s bits, then sets the key's bit in each.",
        promise: "Neither error rate is bounded; the filter changes more and more rarely.",
        choose_when: "To compare with its paper: a plain Bloom filter with the best k has lower \
                      rates of both errors in 15 of the paper's 24 settings.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::StreamPaper,
        source: Citation::BERA_2012,
        advised_because: Descriptor::FEWEST_ERRORS,
        drawing: Drawing {
            before: &["#..#..|.#..#."],
            after: &["#....#|##..#."],
            caption: "A key that is added clears a random bit in each partition, whether it is set \
                      or not, then sets its own bits. Keys are added more and more rarely.",
        },
        parameters: &[
            PARTITIONS,
            Parameter::choice(
                "reading",
                "the algorithm behind the paper's tables (published), or the one in its text \
                 (printed)",
                &["published", "printed"],
            ),
            Parameter::probability(
                "threshold",
                "only for reading=printed: the probability s/i below which every new key is added",
                30_000,
            ),
        ],
    };

    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(Rsbf {
            partitions: BitPartitions::partitioned(spec.integer("k"), memory_bits),
            reading: match spec.is_choice("reading", "printed") {
                true => Reading::Printed {
                    threshold_millionths: spec.millionths("threshold"),
                },
                false => Reading::Published,
            },
        })
    }

    delegate_reads!(partitions);

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        self.partitions.false_positive_rate(registers.occupied())
    }

    fn cache_lines_touched(&self) -> u32 {
        2 * self.partitions.count()
    }

    /// One per partition, and one that decides whether the key is added.
    fn draws(&self) -> u64 {
        u64::from(self.partitions.count()) + 1
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        false
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
        observation: Observation,
    ) -> Verdict {
        let fingerprint = observation.fingerprint;
        let verdict = self.partitions.contains(region.bytes(), fingerprint);
        let coin = generator.draw(u64::from(self.partitions.count()));
        let action = self.action(registers.observations() + 1, coin);
        if action == Action::Nothing {
            return verdict;
        }
        let mut occupied = registers.occupied();
        for (partition, position) in (0..).zip(self.partitions.positions(fingerprint)) {
            let draw = generator.draw(partition);
            match action {
                Action::Exchange if bit(region.bytes(), position) => {}
                Action::Exchange => occupied += self.exchange(region, partition, position, draw),
                _ => {
                    let clears = action == Action::ClearAndSet;
                    let cleared = clears && {
                        let position = self.position_to_clear(partition, draw);
                        clear_bit(region, position)
                    };
                    occupied -= u64::from(cleared);
                    occupied += u64::from(set_bit(region, position));
                }
            }
        }
        *registers.occupied_mut() = occupied;
        verdict
    }

    fn cell_layout(&self) -> CellLayout {
        self.partitions.cell_layout("cleared for newer keys")
    }

    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        unite_bits(self, region, registers, other, other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], generator: Generator, fingerprint: Fingerprint) {
        self.partitions.prefetch(region, fingerprint);
        for partition in 0..u64::from(self.partitions.count()) {
            let position = self.position_to_clear(partition, generator.draw(partition));
            prefetch(region, (position / 8) as usize);
        }
    }
}
