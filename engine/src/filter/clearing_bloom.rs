//! Filters of k parts that clear before they set: what BSBF, BSBFSD and RLBSBF share.
//!
//! A key has one bit in each part and is Seen if all are set; a Seen key changes nothing.
//! For a new key some random bits are cleared first, and then its own are set. Which bits
//! those are is all that the three differ in: their [`Clearing`].

use std::marker::PhantomData;

use super::descriptor::Descriptor;
use super::parts::Parts;
use super::{Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Registers, Verdict};
use crate::bytes::{clear_bit, set_bit};
use crate::fingerprint::Fingerprint;
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// Which random bits make room for a new key.
pub trait Clearing: Clone + Copy + std::fmt::Debug {
    /// What the registry says of the filter.
    const DESCRIPTOR: Descriptor;

    /// How many bits are cleared at the most, each chosen by one draw.
    fn victims(parts: &Parts) -> u64;

    /// The bit that the draw of a number clears; nothing if it clears none.
    fn victim(parts: &Parts, registers: &Registers, number: u64, draw: u64) -> Option<u64>;

    /// Takes note that a part has so many more bits set: 1, 0 or −1. Whoever wants to know
    /// has one victim in each part, of the part's number.
    fn note(_registers: &mut Registers, _part: u64, _change: i64) {}

    /// The chance that a key never met would be taken for Seen now. Parts that are filled
    /// and emptied alike have about the same load.
    fn drop_chance(parts: &Parts, registers: &Registers) -> f64 {
        let load = registers.occupied() as f64 / parts.bits() as f64;
        load.powi(parts.count() as i32)
    }
}

/// The geometry of such a filter.
#[derive(Clone, Copy, Debug)]
pub struct InParts<C> {
    parts: Parts,
    clearing: PhantomData<C>,
}

impl<C: Clearing> Filter for InParts<C> {
    const DESCRIPTOR: Descriptor = C::DESCRIPTOR;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(InParts {
            parts: Parts::separate(spec.integer("k"), memory_bits),
            clearing: PhantomData,
        })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        let known = |parts| InParts { parts, ..*self };
        [self.parts.known(2).map(known), None]
    }

    fn region_bytes(&self) -> u64 {
        self.cells().div_ceil(8)
    }

    fn cells(&self) -> u64 {
        self.parts.bits()
    }

    fn recount(&self, region: &[u8]) -> u64 {
        self.parts.recount(region)
    }

    fn drop_chance(&self, registers: &Registers) -> f64 {
        C::drop_chance(&self.parts, registers)
    }

    fn lines_touched(&self) -> u32 {
        self.parts.count() + C::victims(&self.parts) as u32
    }

    fn draws(&self) -> u64 {
        C::victims(&self.parts)
    }

    fn seen_leaves_no_trace(&self) -> bool {
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
        if self.parts.probe(region.bytes(), fingerprint) == Verdict::Seen {
            return Verdict::Seen;
        }
        let mut occupied = registers.occupied();
        let mut change = |registers: &mut Registers, part: u64, change: i64| {
            C::note(registers, part, change);
            occupied = occupied.wrapping_add_signed(change);
        };
        let victims = C::victims(&self.parts);
        for number in 0..victims {
            if let Some(victim) = C::victim(&self.parts, registers, number, generator.draw(number))
            {
                let cleared = i64::from(clear_bit(region, victim));
                change(registers, number, -cleared);
            }
        }
        for (part, position) in (0..).zip(self.parts.positions(fingerprint)) {
            let set = i64::from(set_bit(region, position));
            change(registers, part, set);
        }
        *registers.occupied_mut() = occupied;
        Verdict::New
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        self.parts.probe(region, fingerprint)
    }

    fn anatomy(&self) -> Anatomy {
        self.parts.anatomy("cleared for newer keys")
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        self.parts.cell(region, index)
    }

    fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        self.parts.evidence(region, fingerprint)
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.parts.prefetch(region, fingerprint);
    }

    #[inline(always)]
    fn prefetch_further(
        &self,
        region: &[u8],
        registers: &Registers,
        generator: Generator,
        fingerprint: Fingerprint,
    ) {
        if self.parts.probe(region, fingerprint) == Verdict::Seen {
            return;
        }
        for number in 0..C::victims(&self.parts) {
            let draw = generator.draw(number);
            if let Some(victim) = C::victim(&self.parts, registers, number, draw) {
                prefetch(region, (victim / 8) as usize);
            }
        }
    }
}
