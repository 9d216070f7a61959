//! Partitioned Bloom filters that clear bits before they set bits: what BSBF, BSBFSD and
//! RLBSBF share.
//!
//! A key has one bit in each partition and is Seen if all of them are set; a Seen key changes
//! nothing. For a new key some random bits are cleared, and then the key's bits are set. The
//! three filters differ only in which bits they clear: their [`ClearingRule`].

use std::marker::PhantomData;

use super::bit_partitions::BitPartitions;
use super::descriptor::Descriptor;
use super::parameter::Parameter;
use super::union::unite_bits;
use super::{
    BuildError, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers, Verdict,
    delegate_reads,
};
use crate::bytes::{clear_bit, set_bit};
use crate::fingerprint::Fingerprint;
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// The parameter k of these filters and of RSBF.
pub(super) const PARTITIONS: Parameter = Parameter::integer(
    "k",
    "number of partitions; each key sets one bit in each",
    1..=32,
    2,
);

/// Which random bits are cleared for a new key.
pub trait ClearingRule: Clone + Copy + std::fmt::Debug {
    /// The filter's entry in the registry.
    const DESCRIPTOR: Descriptor;

    /// Returns the largest number of bits that are cleared. Each is chosen by one draw.
    fn clear_count(partitions: &BitPartitions) -> u64;

    /// Returns the bit that draw number `number` clears; None if it clears no bit.
    fn position_to_clear(
        partitions: &BitPartitions,
        registers: &Registers,
        number: u64,
        draw: u64,
    ) -> Option<u64>;

    /// Records that the number of set bits in a partition changed by 1, 0 or −1. A rule that
    /// uses this clears at most one bit per partition, by the draw with the partition's number.
    fn record_change(_registers: &mut Registers, _partition: u64, _change: i64) {}

    /// Counts the set bits of each partition anew, if the rule keeps their numbers.
    fn recount(_partitions: &BitPartitions, _region: &[u8], _registers: &mut Registers) {}

    /// Returns the present false positive rate.
    fn false_positive_rate(partitions: &BitPartitions, registers: &Registers) -> f64 {
        partitions.false_positive_rate(registers.occupied())
    }
}

/// The geometry of such a filter.
#[derive(Clone, Copy, Debug)]
pub struct ClearingBloom<C> {
    partitions: BitPartitions,
    rule: PhantomData<C>,
}

impl<C> ClearingBloom<C> {
    /// Returns the number of partitions.
    pub(crate) fn k(&self) -> u32 {
        self.partitions.count()
    }
}

impl<C: ClearingRule> Filter for ClearingBloom<C> {
    const DESCRIPTOR: Descriptor = C::DESCRIPTOR;

    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(ClearingBloom {
            partitions: BitPartitions::partitioned(spec.integer("k"), memory_bits),
            rule: PhantomData,
        })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        let known = |partitions| ClearingBloom {
            partitions,
            ..*self
        };
        [self.partitions.with_constant_count(2).map(known), None]
    }

    delegate_reads!(partitions);

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        C::false_positive_rate(&self.partitions, registers)
    }

    fn cache_lines_touched(&self) -> u32 {
        self.partitions.count() + C::clear_count(&self.partitions) as u32
    }

    fn draws(&self) -> u64 {
        C::clear_count(&self.partitions)
    }

    fn observe_reads_only_evidence(&self) -> bool {
        true
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        true
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
        if self.partitions.contains(region.bytes(), fingerprint) == Verdict::Seen {
            return Verdict::Seen;
        }
        let mut occupied = registers.occupied();
        let mut change = |registers: &mut Registers, partition: u64, change: i64| {
            C::record_change(registers, partition, change);
            occupied = occupied.wrapping_add_signed(change);
        };
        for number in 0..C::clear_count(&self.partitions) {
            let draw = generator.draw(number);
            let position = C::position_to_clear(&self.partitions, registers, number, draw);
            if let Some(position) = position {
                let cleared = i64::from(clear_bit(region, position));
                change(registers, number, -cleared);
            }
        }
        for (partition, position) in (0..).zip(self.partitions.positions(fingerprint)) {
            let set = i64::from(set_bit(region, position));
            change(registers, partition, set);
        }
        *registers.occupied_mut() = occupied;
        Verdict::New
    }

    fn cell_layout(&self) -> CellLayout {
        self.partitions.cell_layout("cleared for newer keys")
    }

    /// Takes the union of the bits. The load may be above the one that the filter settles at: the
    /// next keys clear more bits than they set.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        unite_bits(self, region, registers, other, other_registers);
        C::recount(&self.partitions, region, registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.partitions.prefetch(region, fingerprint);
    }

    /// Prefetches the bits to clear, if the key looks new.
    #[inline(always)]
    fn prefetch_dependent(
        &self,
        region: &[u8],
        registers: &Registers,
        generator: Generator,
        fingerprint: Fingerprint,
    ) {
        if self.partitions.contains(region, fingerprint) == Verdict::Seen {
            return;
        }
        for number in 0..C::clear_count(&self.partitions) {
            let draw = generator.draw(number);
            let position = C::position_to_clear(&self.partitions, registers, number, draw);
            if let Some(position) = position {
                prefetch(region, (position / 8) as usize);
            }
        }
    }
}
