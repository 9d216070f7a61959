//! The counting Bloom filter: keys can be removed.
//!
//! **Guarantee.** The same as a Bloom filter: no false negatives, and a false positive rate that
//! grows as the filter fills. A key that was reported as New can be removed and is New again
//! when it occurs next.
//!
//! **When to use it.** The caller knows when a key is no longer needed. It takes `bits` times the
//! memory of a Bloom filter.
//!
//! **How it works.** A key has k counters instead of k bits. With k = 2, key `a` has the counters 3
//! and 9, key `b` has 9 and 14. After both have arrived, counter 9 is 2. Removing `a` lowers 3 to
//! 0 and 9 to 1; all counters of `b` are still above 0. A counter at its maximum has lost count,
//! so it is never lowered: this wastes some memory but loses no key.
//!
//! Only keys that were reported as New may be removed. A key that was wrongly reported as Seen
//! never raised a counter. Removing it would lower the counters of other keys and cause false
//! negatives.
//!
//! **Paper.** Fan, Cao, Almeida, Broder, "Summary Cache: A Scalable Wide-Area Web Cache Sharing
//! Protocol", 1998. It chooses four bits per counter.

use super::citation::Citation;
use super::counters::Counters;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::{
    BuildError, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers, Verdict,
    delegate_reads,
};
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a counting Bloom filter.
#[derive(Clone, Debug)]
pub struct Counting {
    counters: Counters,
}

impl Counting {
    /// Returns the number of counters per key.
    pub(crate) fn k(&self) -> u32 {
        self.counters.k
    }
}

impl Filter for Counting {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "counting",
        title: "Counting Bloom filter",
        summary: "Raises k counters for each new key; lowering them again removes the key.",
        promise: "A repeat is always reported as Seen unless its key was removed; the false \
                  positive rate grows as the filter fills.",
        choose_when: "Keys must be removed, and there is memory for a counter where a Bloom \
                      filter has a bit.",
        errors: PossibleErrors::FalsePositives,
        needs: Needs::NONE,
        origin: Origin::Literature,
        source: Citation {
            authors: "L. Fan, P. Cao, J. Almeida, A. Z. Broder",
            title: "Summary Cache: A Scalable Wide-Area Web Cache Sharing Protocol",
            year: 1998,
        },
        advised_because: Descriptor::FEWEST_ERRORS,
        drawing: Drawing {
            before: &["1.2..1..3.1."],
            after: &["1.3..11.4.1."],
            caption: "The new key raises its 3 counters by one. Removing it lowers them again.",
        },
        parameters: &[
            Parameter::integer("k", "counters raised for each key", 1..=32, 4),
            Parameter::integer(
                "bits",
                "bits per counter; a counter at its maximum is never lowered",
                2..=16,
                4,
            ),
        ],
    };

    const FORGETS: bool = true;
    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let max = ((1u32 << spec.integer("bits")) - 1) as u16;
        Ok(Counting {
            counters: Counters::new(spec.integer("k"), max, memory_bits),
        })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        let known = |counters| Counting { counters };
        [self.counters.with_constants(4, 15).map(known), None]
    }

    delegate_reads!(counters);

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        self.counters.false_positive_rate(registers.occupied())
    }

    fn comfortable_load(&self) -> Option<f64> {
        Some(0.5)
    }

    fn cache_lines_touched(&self) -> u32 {
        self.counters.k
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
        _: Generator,
        observation: Observation,
    ) -> Verdict {
        let fingerprint = observation.fingerprint;
        if self.counters.contains(region.bytes(), fingerprint) == Verdict::Seen {
            return Verdict::Seen;
        }
        for at in self.counters.positions(fingerprint) {
            let count = self.counters.get(region.bytes(), at);
            self.counters
                .set(region, at, (count + 1).min(self.counters.max));
            *registers.occupied_mut() += u64::from(count == 0);
        }
        Verdict::New
    }

    fn cell_layout(&self) -> CellLayout {
        self.counters.cell_layout("")
    }

    fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        if self.counters.contains(region.bytes(), fingerprint) == Verdict::New {
            return Verdict::New;
        }
        for at in self.counters.positions(fingerprint) {
            let count = self.counters.get(region.bytes(), at);
            // The count is 0 here if two positions are equal and the key was a false positive.
            if count > 0 && count < self.counters.max {
                self.counters.set(region, at, count - 1);
                *registers.occupied_mut() -= u64::from(count == 1);
            }
        }
        Verdict::Seen
    }

    /// Adds the counters. A key that both filters hold must be removed twice to be New again.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        for at in 0..self.counters.cells() {
            let sum = self.counters.get(region, at) + self.counters.get(other, at);
            self.counters.set(region, at, sum.min(self.counters.max));
        }
        *registers.occupied_mut() = self.recount(region);
        registers.count_others(other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.counters.prefetch(region, fingerprint);
    }
}
