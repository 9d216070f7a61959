//! FPBuffering: a buffer that calls an unknown key Seen with a chance of q.
//!
//! **Promises** that a share q of new keys is dropped, by a draw, and that in turn the share
//! of repeats missed is only 1 − q of what the buffer alone would miss.
//!
//! **Pick it** never for work: the keys dropped are picked blindly. It is a yardstick: what
//! a filter gains over it at the same share of new keys dropped, it gains by knowing
//! something.
//!
//! **How.** As [`Buffer`](super::Buffer). A key that is not in the buffer enters it, and is
//! called Seen with a chance of q, New else. To look a key up asks the buffer alone.
//!
//! **Paper.** Deng, Rafiei, "Approximately Detecting Duplicates for Streaming Data using
//! Stable Bloom Filters", 2006, section 5.2. As with `buffer`, index and order are counted.

use super::buffer_table::BufferTable;
use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::{Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Registers, Verdict};
use crate::fingerprint::{Fingerprint, reduce};
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a buffer and its chance.
#[derive(Clone, Debug)]
pub struct FpBuffer {
    table: BufferTable,
    q_millionths: u64,
}

impl Filter for FpBuffer {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "fpbuffer",
        title: "Buffer with false positives (FPBuffering)",
        summary: "A buffer that calls a key it does not hold Seen with a chance of q.",
        promise: "A share q of new keys is dropped; repeats are missed 1 - q times as often as by \
                  the buffer alone.",
        choose_when: "As a yardstick for filters that drop as many new keys; not for work.",
        errs: Errs::Both,
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
            after: &["abxdef"],
            caption: "As in a buffer. A key that it does not hold enters, and by lot it is called \
                      Seen all the same.",
        },
        parameters: &[
            Parameter {
                name: "q",
                meaning: "the chance that a key not in the buffer is called Seen",
                kind: Kind::Decimal {
                    min_millionths: 0,
                    max_millionths: 1_000_000,
                    default_millionths: 50_000,
                },
            },
            Parameter {
                name: "policy",
                meaning: "whom a full buffer gives up: the key not met for the longest time, or \
                          the next one going round that was not met again",
                kind: Kind::Choice {
                    options: &["lru", "clock"],
                },
            },
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(FpBuffer {
            table: BufferTable::build(spec, memory_bits)?,
            q_millionths: spec.millionths("q"),
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

    fn drop_chance(&self, _: &Registers) -> f64 {
        self.q_millionths as f64 / 1e6
    }

    fn lines_touched(&self) -> u32 {
        self.table.lines_touched()
    }

    fn draws(&self) -> u64 {
        1
    }

    fn seen_leaves_no_trace(&self) -> bool {
        false
    }

    fn verdict_is_drawn(&self) -> bool {
        self.q_millionths > 0
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
        observation: Observation,
    ) -> Verdict {
        let found = self
            .table
            .observe(region, registers, observation.fingerprint);
        match reduce(generator.draw(0), 1_000_000) < self.q_millionths {
            true => Verdict::Seen,
            false => found,
        }
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
