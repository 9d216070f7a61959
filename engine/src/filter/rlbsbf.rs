//! RLBSBF: a partitioned Bloom filter that forgets faster the fuller it is.
//!
//! **Promises** neither rate. Both errors happen; the load settles where bits are
//! cleared as fast as they are set, so it goes on working on an endless stream.
//!
//! **Pick it** to compare with the literature. Where the number of distinct keys is
//! bounded, a plain Bloom filter with the best k beats it on *both* rates in 15 of the
//! 24 settings that its paper publishes.
//!
//! **How.** k parts of s bits. With k = 1 and s = 8: key `a` has the position 5. It is
//! clear, so `a` is New. First a random bit is picked, say 2, and cleared with a chance
//! of load/s, here 0/8; then bit 5 is set and the load is 1. A Seen key changes nothing.
//!
//! **Paper.** Bera, Dutta, Narang, Bhattacherjee, "Advanced Bloom Filter Based
//! Algorithms for Efficient Approximate Data De-Duplication in Streams", 2012,
//! Algorithm 4. It prints DISTINCT and DUPLICATE swapped (taken literally it never
//! inserts); we read it the other way round, which reproduces its tables. One 64-bit
//! draw a part serves both the position and the chance: the high bits of draw × s are
//! the position, what remains is uniform and independent of it.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::parts::Parts;
use super::{Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Registers, Verdict};
use crate::bytes::{clear_bit, set_bit};
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of an RLBSBF.
#[derive(Clone, Copy, Debug)]
pub struct Rlbsbf {
    parts: Parts,
}

impl Rlbsbf {
    /// The bit that a draw would clear in a part, and the load past which it does.
    #[inline(always)]
    fn victim(&self, part: u64, draw: u64) -> (u64, u64) {
        let span_bits = self.parts.span_bits;
        let remainder = draw.wrapping_mul(span_bits);
        let position = self.parts.start(part) + reduce(draw, span_bits);
        (position, reduce(remainder, span_bits))
    }

    /// The default number of parts, if it is that, known to the compiler.
    #[inline(always)]
    fn of_two(&self) -> Option<Self> {
        (self.parts.count() == 2).then_some(Rlbsbf {
            parts: self.parts.known(2),
        })
    }

    #[inline(always)]
    fn observe_in_parts<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
        fingerprint: Fingerprint,
    ) -> Verdict {
        if self.parts.probe(region.bytes(), fingerprint) == Verdict::Seen {
            return Verdict::Seen;
        }
        for (part, position) in (0..).zip(self.parts.positions(fingerprint)) {
            let (victim, threshold) = self.victim(part, generator.draw(part));
            let load = registers.own()[part as usize];
            let cleared = threshold < load && clear_bit(region, victim);
            let set = set_bit(region, position);
            let change = |count: u64| count + u64::from(set) - u64::from(cleared);
            registers.own_mut()[part as usize] = change(load);
            *registers.occupied_mut() = change(registers.occupied());
        }
        Verdict::New
    }

    #[inline(always)]
    fn prefetch_victims(&self, region: &[u8], generator: Generator, fingerprint: Fingerprint) {
        let seen = self.parts.probe(region, fingerprint) == Verdict::Seen;
        for part in 0..self.draws() {
            let (victim, _) = self.victim(part, generator.draw(part));
            // Past the end nothing is fetched; no branch to guess wrong.
            let byte = if seen {
                usize::MAX
            } else {
                (victim / 8) as usize
            };
            prefetch(region, byte);
        }
    }
}

impl Filter for Rlbsbf {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "rlbsbf",
        title: "Randomly load-balanced biased sampling Bloom filter",
        summary: "Sets a bit in each of k parts for a new key, clearing a random one with a \
                  chance equal to the part's load.",
        promise: "The load settles; neither error rate is bounded.",
        choose_when: "To compare with its paper: a plain Bloom filter with the best k is better on \
                      both rates in 15 of the paper's 24 settings.",
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
            after: &["##....|.#.##."],
            caption: "A new key sets a bit in each part. The fuller a part is, the likelier it \
                      first clears a random one: here the left part did.",
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
        Ok(Rlbsbf {
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
        let loads = &registers.own()[..self.parts.count() as usize];
        let share = |&load: &u64| load as f64 / self.parts.span_bits as f64;
        loads.iter().map(share).product()
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
        match self.of_two() {
            Some(two) => two.observe_in_parts(region, registers, generator, fingerprint),
            None => self.observe_in_parts(region, registers, generator, fingerprint),
        }
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
        match self.of_two() {
            Some(two) => two.parts.prefetch(region, fingerprint),
            None => self.parts.prefetch(region, fingerprint),
        }
    }

    #[inline(always)]
    fn prefetch_if_new(&self, region: &[u8], generator: Generator, fingerprint: Fingerprint) {
        match self.of_two() {
            Some(two) => two.prefetch_victims(region, generator, fingerprint),
            None => self.prefetch_victims(region, generator, fingerprint),
        }
    }
}
