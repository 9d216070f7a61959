//! The stable Bloom filter (SBF): every observation lowers some counters at random.
//!
//! **Guarantee.** The false positive rate has an upper bound on any stream, however long:
//! (1 − (1 / (1 + 1/(P(1/K − 1/m))))^Max)^K. In exchange there are false negatives. The longer
//! ago a key last occurred, the more likely it is forgotten.
//!
//! **When to use it.** The stream is endless, repeats follow soon, and the false positive rate
//! must be known in advance.
//!
//! **How it works.** There are m cells with values from 0 to Max. A key is Seen if its K cells are
//! all above 0. With K = 2, P = 2, Max = 1 and eight cells: key `a` has the cells 1 and 6, both 0,
//! so it is New. P cells from a random start, say 3 and 4, are lowered by one unless they are 0.
//! Then 1 and 6 are set to Max. A Seen key does the same, which renews it.
//!
//! **Paper.** Deng, Rafiei, "Approximately Detecting Duplicates for Streaming Data using Stable
//! Bloom Filters", 2006.
//!
//! **Departures.** Algorithm 1 prints `DuplicateFlag = Yes` inside the loop that lowers cells;
//! read literally it reports 63 % of new keys as Seen where the paper's theory says 5.7 %. We
//! first decide, then lower, then set. As in the paper's section 5.2, P consecutive cells from one
//! random start replace P random cells; no difference can be measured.

use super::citation::Citation;
use super::counters::Counters;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::{
    BuildError, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers, Verdict,
    delegate_reads,
};
use crate::bytes::{read_u64, window, write_u64};
use crate::fingerprint::{Fingerprint, reduce};
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a stable Bloom filter.
#[derive(Clone, Debug)]
pub struct Stable {
    counters: Counters,
    p: u64,
}

impl Stable {
    /// Returns K, the number of counters per key.
    pub(crate) fn k(&self) -> u32 {
        self.counters.k
    }

    /// Returns P, the number of counters lowered by each observation.
    pub(crate) fn p(&self) -> u64 {
        self.p
    }

    /// Returns Max, the value that counters are raised to.
    pub(crate) fn max(&self) -> u32 {
        self.counters.max
    }

    /// Lowers P counters from a random start by one. Returns how many became 0.
    #[inline(always)]
    fn decrement<R: Region + ?Sized>(&self, region: &mut R, draw: u64) -> u64 {
        let count = self.counters.cells();
        let mut at = reduce(draw, count);
        if self.counters.max == 1 && self.p <= MAX_RUN_BITS && at + self.p <= count {
            return clear_bits(region, at, self.p);
        }
        let mut emptied = 0;
        for _ in 0..self.p {
            let value = self.counters.get(region.bytes(), at);
            if value > 0 {
                self.counters.set(region, at, value - 1);
                emptied += u64::from(value == 1);
            }
            at += 1;
            if at == count {
                at = 0;
            }
        }
        emptied
    }
}

/// A run of this many bits lies within eight bytes, wherever it starts.
const MAX_RUN_BITS: u64 = 57;

/// Clears a short run of bits at once. Returns how many were set.
#[inline(always)]
fn clear_bits<R: Region + ?Sized>(region: &mut R, start: u64, count: u64) -> u64 {
    let (at, shift) = window(region.bytes().len(), start, count);
    let run = ((1u64 << count) - 1) << shift;
    let window = region.bytes_mut(at..at + 8);
    let word = read_u64(window, 0);
    write_u64(window, 0, word & !run);
    u64::from((word & run).count_ones())
}

impl Filter for Stable {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "stable",
        title: "Stable Bloom filter",
        summary: "For each key, raises k counters to max and lowers p others by one, so that old \
                  keys are forgotten gradually.",
        promise: "The false positive rate has an upper bound on any stream; keys that last \
                  occurred long ago are forgotten.",
        choose_when: "The stream is endless, repeats follow soon, and the false positive rate \
                      must be known in advance.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::StreamPaper,
        source: Citation::DENG_2006,
        advised_because: Descriptor::FEWEST_ERRORS,
        drawing: Drawing {
            before: &["3.12.3..1.2."],
            after: &["3..1.33.1.23"],
            caption: "The new key raises its 2 counters to 3. Before that, 2 neighbouring counters \
                      at a random position are lowered by one.",
        },
        parameters: &[
            Parameter::integer("k", "counters raised for each key", 1..=32, 2),
            Parameter::integer("p", "counters lowered by each observation", 0..=4096, 4),
            Parameter::integer(
                "max",
                "the value that counters are raised to",
                1..=65_535,
                1,
            ),
        ],
    };

    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let (k, p, max) = (spec.integer("k"), spec.integer("p"), spec.integer("max"));
        let counters = Counters::new(k, max as u16, memory_bits);
        // A run of P counters must not overlap itself.
        let minimum_bits = p * u64::from(counters.width_bits());
        if memory_bits < minimum_bits {
            return Err(BuildError::TooSmall {
                filter: spec.to_string(),
                memory_bits,
                minimum_bits,
            });
        }
        Ok(Stable { counters, p })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        let known = |counters| Stable { counters, ..*self };
        [self.counters.with_constants(2, 1).map(known), None]
    }

    delegate_reads!(counters);

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        self.counters.false_positive_rate(registers.occupied())
    }

    fn cache_lines_touched(&self) -> u32 {
        let lowered_bits = self.p * u64::from(self.counters.width_bits());
        self.counters.k + lowered_bits.div_ceil(512) as u32
    }

    fn draws(&self) -> u64 {
        1
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
        let verdict = self.counters.contains(region.bytes(), fingerprint);
        let emptied = self.decrement(region, generator.draw(0));
        // If one counter must be raised, all are written: a branch per counter would be
        // mispredicted.
        let mut filled = 0;
        let is_full = |value| value == self.counters.max;
        if !self.counters.all(region.bytes(), fingerprint, is_full) {
            for at in self.counters.positions(fingerprint) {
                filled += u64::from(self.counters.get(region.bytes(), at) == 0);
                self.counters.set(region, at, self.counters.max);
            }
        }
        let occupied = registers.occupied_mut();
        *occupied = *occupied + filled - emptied;
        verdict
    }

    fn cell_layout(&self) -> CellLayout {
        self.counters.cell_layout("lowered to 0")
    }

    /// Takes the larger of two counters. The load may be above the one that the filter settles at.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        for at in 0..self.counters.cells() {
            let larger = self
                .counters
                .get(region, at)
                .max(self.counters.get(other, at));
            self.counters.set(region, at, larger);
        }
        *registers.occupied_mut() = self.recount(region);
        registers.count_others(other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], generator: Generator, fingerprint: Fingerprint) {
        self.counters.prefetch(region, fingerprint);
        let start = reduce(generator.draw(0), self.counters.cells());
        self.counters.prefetch_cell(region, start);
    }
}
