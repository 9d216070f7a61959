//! TODO: the name of the filter, and in one phrase what it does.
//!
//! **Guarantee.** TODO: which errors it can make, and what bounds them.
//!
//! **When to use it.** TODO.
//!
//! **How it works.** TODO: one tiny example.
//!
//! **Paper.** TODO: authors, title, year.
//!
//! **Departures.** TODO: where the code differs from the paper and why.

// This file is the template of `cargo xtask new-filter NAME`, and is compiled only for tests. It
// is a working filter with one bit per key.

use super::bit_partitions::BitPartitions;
use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::{
    BuildError, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers, Verdict,
    delegate_reads,
};
use crate::bytes::set_bit;
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of the filter.
#[derive(Clone, Debug)]
pub struct Skeleton {
    bits: BitPartitions,
}

impl Filter for Skeleton {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "skeleton",
        title: "TODO",
        summary: "TODO.",
        promise: "TODO.",
        choose_when: "TODO.",
        errors: PossibleErrors::FalsePositives,
        needs: Needs::NONE,
        origin: Origin::Ours,
        source: Citation {
            authors: "TODO",
            title: "TODO",
            year: 2026,
        },
        advised_because: Descriptor::FEWEST_ERRORS,
        drawing: Drawing {
            before: &["#..#...."],
            after: &["#..#..#."],
            caption: "TODO.",
        },
        parameters: &[Parameter::integer("k", "TODO", 1..=32, 1)],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(Skeleton {
            bits: BitPartitions::shared(spec.integer("k"), memory_bits),
        })
    }

    // region_bytes, cells, recount, contains, cell and evidence. Remove the line and write them
    // out if the cells are not bit partitions, counters or a buffer table.
    delegate_reads!(bits);

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        self.bits.false_positive_rate(registers.occupied())
    }

    fn cache_lines_touched(&self) -> u32 {
        self.bits.count()
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        true
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        _: Generator,
        observation: Observation,
    ) -> Verdict {
        let fingerprint = observation.fingerprint;
        if self.bits.contains(region.bytes(), fingerprint) == Verdict::Seen {
            return Verdict::Seen;
        }
        for position in self.bits.positions(fingerprint) {
            *registers.occupied_mut() += u64::from(set_bit(region, position));
        }
        Verdict::New
    }

    fn cell_layout(&self) -> CellLayout {
        self.bits.cell_layout("")
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.bits.prefetch(region, fingerprint);
    }
}
