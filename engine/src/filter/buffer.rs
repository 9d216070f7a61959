//! Buffering: stores the most recent distinct keys as whole fingerprints.
//!
//! **Guarantee.** No false positives (two keys are confused only if their 64-bit fingerprints are
//! equal). A repeat is reported as Seen if fewer other keys occurred since than the buffer holds;
//! otherwise it is reported as New.
//!
//! **When to use it.** No new key may be lost, and repeats follow soon. A key takes 192 bits with
//! `lru` and 128 with `clock`, including the index.
//!
//! **How it works.** With room for two keys: `a` is New, `b` is New, `a` is Seen and becomes the
//! most recent, `c` is New and evicts `b`, the least recently used. `b` again: New, although it
//! occurred before. With `policy=clock` a hand moves around the slots. It skips a slot whose key
//! occurred again since the last round and clears that mark; it evicts the first key without a
//! mark. A key that is added has no mark.
//!
//! **Papers.** Deng, Rafiei, "Approximately Detecting Duplicates for Streaming Data using Stable
//! Bloom Filters", 2006, section 5.2. The policies are those of Broder, Najork, Wiener, "Efficient
//! URL caching for World Wide Web crawling", 2003.
//!
//! **Departure.** The papers count 64 bits per key, without index and order. We count all of them.

use super::buffer_table::{BufferTable, POLICY};
use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::{
    BuildError, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers, Verdict,
    delegate_reads,
};
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub(super) table: BufferTable,
}

impl Buffer {
    /// Whether the eviction policy is Clock.
    pub(crate) fn is_clock(&self) -> bool {
        self.table.is_clock()
    }
}

impl Filter for Buffer {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "buffer",
        title: "Buffer of fingerprints",
        summary: "Stores the most recent distinct keys as whole fingerprints and evicts the least \
                  recent.",
        promise: "A new key is never reported as Seen; a repeat is reported as New if too many \
                  other keys occurred in between.",
        choose_when: "No new key may be lost, and repeats follow soon.",
        errors: PossibleErrors::FalseNegatives,
        needs: Needs::NONE,
        origin: Origin::Literature,
        source: Citation::DENG_2006,
        advised_because: "the keys that repeat fit into memory as whole fingerprints",
        drawing: Drawing {
            before: &["abcdef"],
            after: &["abcxef"],
            caption: "Each slot holds a whole fingerprint. If all slots are in use, the new key \
                      replaces the least recently used one.",
        },
        parameters: &[POLICY],
    };

    const FORGETS: bool = true;
    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(Buffer {
            table: BufferTable::build(spec, memory_bits)?,
        })
    }

    delegate_reads!(table);

    /// Ignores equal fingerprints: their probability is 2^−64 per pair of keys.
    fn false_positive_rate(&self, _: &Registers) -> f64 {
        0.0
    }

    fn cache_lines_touched(&self) -> u32 {
        self.table.cache_lines_touched()
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        false
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        _: Generator,
        observation: Observation,
    ) -> Verdict {
        self.table
            .observe(region, registers, observation.fingerprint)
    }

    /// Only a full buffer evicts.
    fn may_have_forgotten(&self, _: &[u8], registers: &Registers, _: Fingerprint) -> bool {
        registers.occupied() >= self.cells()
    }

    fn cell_layout(&self) -> CellLayout {
        self.table.cell_layout()
    }

    fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        self.table.forget(region, registers, fingerprint)
    }

    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        self.table.merge(region, registers, other, other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.table.prefetch(region, fingerprint);
    }

    #[inline(always)]
    fn prefetch_dependent(
        &self,
        region: &[u8],
        _: &Registers,
        _: Generator,
        fingerprint: Fingerprint,
    ) {
        self.table.prefetch_dependent(region, fingerprint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_is_that_of_the_spec() {
        for (spec, is_clock) in [("buffer:policy=clock", true), ("buffer:policy=lru", false)] {
            let parsed = spec.parse().expect("a filter");
            let filter = Buffer::build(&parsed, 1 << 16).expect("enough memory");
            assert_eq!(filter.is_clock(), is_clock, "{spec}");
        }
    }
}
