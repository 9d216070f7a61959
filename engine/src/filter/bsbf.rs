//! BSBF: a partitioned Bloom filter that clears a bit in each part for every key it adds.
//!
//! **Promises** neither rate. Both errors happen; the load creeps up towards full, but ever
//! more slowly: as a part fills, more keys are taken for Seen and change nothing.
//!
//! **Pick it** to compare with the literature. Where the number of distinct keys is
//! bounded, a plain Bloom filter with the best k beats this family on *both* rates in 15 of
//! the 24 settings that its paper publishes.
//!
//! **How.** k parts of s bits. With k = 2 and s = 8: key `a` has the position 5 in the
//! first part and 1 in the second. One of them is clear, so `a` is New. First a random bit
//! of each part is cleared, say 2 and 7, whether it was set or not; then 5 and 1 are set.
//! A Seen key changes nothing.
//!
//! **Paper.** Bera, Dutta, Narang, Bhattacherjee, "Advanced Bloom Filter Based
//! Algorithms for Efficient Approximate Data De-Duplication in Streams", 2012,
//! Algorithm 2. It prints DISTINCT and DUPLICATE swapped (taken literally it never
//! inserts); we read it the other way round, which reproduces its tables.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::parts::Parts;
use super::{Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Registers, Verdict};
use crate::bytes::{clear_bit, set_bit};
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a BSBF.
#[derive(Clone, Debug)]
pub struct Bsbf {
    parts: Parts,
}

impl Bsbf {
    /// The bit that a draw clears in a part.
    #[inline(always)]
    fn victim(&self, part: u64, draw: u64) -> u64 {
        self.parts.start(part) + reduce(draw, self.parts.span_bits)
    }
}

impl Filter for Bsbf {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "bsbf",
        title: "Biased sampling based Bloom filter",
        summary: "Clears a random bit in each of k parts for a new key, then sets one in each.",
        promise: "Neither error rate is bounded; the load grows ever more slowly.",
        choose_when: "To compare with its paper: a plain Bloom filter with the best k beats this \
                      family on both rates in 15 of the paper's 24 settings.",
        errs: Errs::Both,
        needs: Needs {
            tick: false,
            importance: false,
        },
        source: Citation {
            authors: "S. K. Bera, S. Dutta, A. Narang, S. Bhattacherjee",
            title: "Advanced Bloom Filter Based Algorithms for Efficient Approximate Data \
                    De-Duplication in Streams",
            year: 2012,
        },
        drawing: Drawing {
            before: &["#..#..|.#..#."],
            after: &["...##.|.##..."],
            caption: "A new key clears a random bit in each part, then sets its own.",
        },
        parameters: &[Parameter {
            name: "k",
            meaning: "parts, and bits set for each key",
            kind: Kind::Integer {
                min: 1,
                max: 32,
                default: 2,
            },
        }],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(Bsbf {
            parts: Parts::separate(spec.integer("k"), memory_bits),
        })
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
        // The parts are filled and emptied alike, so they have about the same load.
        let load = registers.occupied() as f64 / self.cells() as f64;
        load.powi(self.parts.count() as i32)
    }

    fn lines_touched(&self) -> u32 {
        2 * self.parts.count()
    }

    fn draws(&self) -> u64 {
        u64::from(self.parts.count())
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
        for (part, position) in (0..).zip(self.parts.positions(fingerprint)) {
            let victim = self.victim(part, generator.draw(part));
            occupied -= u64::from(clear_bit(region, victim));
            occupied += u64::from(set_bit(region, position));
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
    fn prefetch(&self, region: &[u8], generator: Generator, fingerprint: Fingerprint) {
        self.parts.prefetch(region, fingerprint);
        for part in 0..self.draws() {
            let victim = self.victim(part, generator.draw(part));
            prefetch(region, (victim / 8) as usize);
        }
    }
}
