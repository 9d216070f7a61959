//! Buffering: the latest distinct keys, whole, and nothing of the others.
//!
//! **Promises** that a new key is never dropped (two keys are one only if their 64-bit
//! fingerprints are equal). A repeat is noticed if fewer other keys came since than there is
//! room for; else it is let through.
//!
//! **Pick it** when no new key may be lost and repeats lie close together. A key takes 192
//! bits with `lru` and 128 with `clock`, index and all.
//!
//! **How.** With room for two keys: `a` New, `b` New, `a` Seen and renewed, `c` New: `b`, not
//! met for the longest time, is given up. `b` again: New, though it came before. With
//! `policy=clock` a hand goes round the slots: it passes one whose key was met again since
//! the last round, taking that mark away, and gives up the first without a mark. A key that
//! comes in has no mark.
//!
//! **Paper.** Deng, Rafiei, "Approximately Detecting Duplicates for Streaming Data using
//! Stable Bloom Filters", 2006, section 5.2; the policies are those of Broder, Najork,
//! Wiener, "Efficient URL caching for World Wide Web crawling", 2003. The papers count 64
//! bits a key and leave the index and the order out; we count all.

use super::buffer_table::BufferTable;
use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::{Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Registers, Verdict};
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    table: BufferTable,
}

impl Filter for Buffer {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "buffer",
        title: "Buffer of fingerprints",
        summary: "Keeps the latest distinct keys as whole fingerprints and gives up the least \
                  recent.",
        promise: "A new key is never dropped; a repeat is missed if too many keys came in between.",
        choose_when: "No new key may be lost and repeats lie close together.",
        errs: Errs::MissesRepeats,
        needs: Needs {
            tick: false,
            importance: false,
        },
        source: Citation {
            authors: "F. Deng, D. Rafiei",
            title: "Approximately Detecting Duplicates for Streaming Data using Stable Bloom \
                    Filters",
            year: 2006,
        },
        drawing: Drawing {
            before: &["abcdef"],
            after: &["abcxef"],
            caption: "Whole fingerprints, a slot each. When all slots are taken, the key not met \
                      for the longest time gives up its own.",
        },
        parameters: &[Parameter {
            name: "policy",
            meaning: "whom a full buffer gives up: the key not met for the longest time, or \
                          the next one going round that was not met again",
            kind: Kind::Choice {
                options: &["lru", "clock"],
            },
        }],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(Buffer {
            table: BufferTable::build(spec, memory_bits)?,
        })
    }

    fn region_bytes(&self) -> u64 {
        self.table.region_bytes()
    }

    fn cells(&self) -> u64 {
        self.table.capacity()
    }

    fn recount(&self, region: &[u8]) -> u64 {
        self.table.recount(region)
    }

    /// But for equal fingerprints, one pair in 2^64.
    fn drop_chance(&self, _: &Registers) -> f64 {
        0.0
    }

    fn lines_touched(&self) -> u32 {
        self.table.lines_touched()
    }

    fn draws(&self) -> u64 {
        0
    }

    fn seen_leaves_no_trace(&self) -> bool {
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

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        self.table.contains(region, fingerprint)
    }

    fn anatomy(&self) -> Anatomy {
        self.table.anatomy()
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        self.table.cell(region, index)
    }

    fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        self.table.evidence(region, fingerprint)
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.table.prefetch(region, fingerprint);
    }

    #[inline(always)]
    fn prefetch_further(
        &self,
        region: &[u8],
        _: &Registers,
        _: Generator,
        fingerprint: Fingerprint,
    ) {
        self.table.prefetch_further(region, fingerprint);
    }
}
