//! RSBF: a partitioned Bloom filter that adds keys ever more rarely, as a reservoir does.
//!
//! **Promises** neither rate. Both errors happen: a key that was not added is missed the
//! next time, and bits cleared for one key forget others.
//!
//! **Pick it** to compare with the literature. Where the number of distinct keys is
//! bounded, a plain Bloom filter with the best k beats this family on *both* rates in 15 of
//! the 24 settings that its paper publishes.
//!
//! **How.** k parts of s bits. With k = 1 and s = 8, the twentieth key of the stream has the
//! position 5, which is clear, so it is New. With a chance of s/20 it is added: a random bit,
//! say 2, is cleared, and 5 is set. A Seen key is added with the same chance. The first s
//! keys are always added.
//!
//! **Paper.** Bera, Dutta, Narang, Bhattacherjee, "Advanced Bloom Filter Based
//! Algorithms for Efficient Approximate Data De-Duplication in Streams", 2012. Its tables
//! do not come from its Algorithm 1. `reading=published` is what they come from: every key
//! is added with the chance min(1, s/i), and every addition clears bits, the first s
//! included. `reading=printed` is Algorithm 1: the first s keys clear nothing, and once s/i
//! is below `threshold` (the paper's p*, 0.03) only clear bits are set, each at the price of
//! one that is set. That stage needs streams of more than 33·s keys and no published table
//! has one. "Find a bit which is set" is read as the first one from a random place on.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::parts::Parts;
use super::{Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Registers, Verdict};
use crate::bytes::{bit, clear_bit, first_set_bit, set_bit};
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of an RSBF.
#[derive(Clone, Debug)]
pub struct Rsbf {
    parts: Parts,
    reading: Reading,
}

#[derive(Clone, Copy, Debug)]
enum Reading {
    Published,
    Printed { threshold_millionths: u64 },
}

/// What an arrival does to the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Nothing,
    Set,
    ClearAndSet,
    /// Set what is clear, and clear a set bit for each.
    Exchange,
}

const MILLION: u128 = 1_000_000;

impl Rsbf {
    /// The bit that a draw clears in a part.
    #[inline(always)]
    fn victim(&self, part: u64, draw: u64) -> u64 {
        self.parts.start(part) + reduce(draw, self.parts.span_bits)
    }

    /// What the `arrival`-th key, counted from 1, does. A draw is below s/i of its range
    /// exactly if draw · i < s · 2^64; no division, no rounding.
    #[inline(always)]
    fn stage(&self, arrival: u64, draw: u64) -> Stage {
        let span_bits = u128::from(self.parts.span_bits);
        let arrival = u128::from(arrival);
        if let Reading::Printed {
            threshold_millionths,
        } = self.reading
        {
            if arrival < span_bits {
                return Stage::Set;
            }
            if span_bits * MILLION < u128::from(threshold_millionths) * arrival {
                return Stage::Exchange;
            }
        }
        match u128::from(draw) * arrival < span_bits << 64 {
            true => Stage::ClearAndSet,
            false => Stage::Nothing,
        }
    }

    /// Clears the first set bit of a part from a random place on, and sets a clear one.
    /// Returns how many more are set then: none, or one if the part was empty.
    fn exchange<R: Region + ?Sized>(
        &self,
        region: &mut R,
        part: u64,
        position: u64,
        draw: u64,
    ) -> u64 {
        let (start, span_bits) = (self.parts.start(part), self.parts.span_bits);
        let from = self.victim(part, draw);
        let end = start + span_bits;
        let found = first_set_bit(region.bytes(), from..end)
            .or_else(|| first_set_bit(region.bytes(), start..from));
        let cleared = found.is_some_and(|victim| clear_bit(region, victim));
        u64::from(set_bit(region, position)) - u64::from(cleared)
    }
}

impl Filter for Rsbf {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "rsbf",
        title: "Reservoir sampling based Bloom filter",
        summary: "Adds the i-th key with a chance of s/i: clears a random bit in each of k parts \
                  of s bits, then sets one in each.",
        promise: "Neither error rate is bounded; it changes ever more rarely.",
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
            after: &["#....#|##..#."],
            caption: "A key that is added clears a random bit in each part, set or not, then sets \
                      its own. Keys are added ever more rarely.",
        },
        parameters: &[
            Parameter {
                name: "k",
                meaning: "parts, and bits set for each key",
                kind: Kind::Integer {
                    min: 1,
                    max: 32,
                    default: 2,
                },
            },
            Parameter {
                name: "reading",
                meaning: "what the paper's tables come from, or its algorithm as printed",
                kind: Kind::Choice {
                    options: &["published", "printed"],
                },
            },
            Parameter {
                name: "threshold",
                meaning: "as printed: the chance s/i below which every new key is added",
                kind: Kind::Decimal {
                    min_millionths: 0,
                    max_millionths: 1_000_000,
                    default_millionths: 30_000,
                },
            },
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(Rsbf {
            parts: Parts::separate(spec.integer("k"), memory_bits),
            reading: match spec.is_choice("reading", "printed") {
                true => Reading::Printed {
                    threshold_millionths: spec.millionths("threshold"),
                },
                false => Reading::Published,
            },
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

    /// One a part, and one for whether the key is added.
    fn draws(&self) -> u64 {
        u64::from(self.parts.count()) + 1
    }

    fn seen_leaves_no_trace(&self) -> bool {
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
        let verdict = self.parts.probe(region.bytes(), fingerprint);
        let coin = generator.draw(u64::from(self.parts.count()));
        let stage = self.stage(registers.observations() + 1, coin);
        if stage == Stage::Nothing {
            return verdict;
        }
        let mut occupied = registers.occupied();
        for (part, position) in (0..).zip(self.parts.positions(fingerprint)) {
            let draw = generator.draw(part);
            match stage {
                Stage::Exchange if bit(region.bytes(), position) => {}
                Stage::Exchange => occupied += self.exchange(region, part, position, draw),
                _ => {
                    let clears = stage == Stage::ClearAndSet;
                    let cleared = clears && clear_bit(region, self.victim(part, draw));
                    occupied -= u64::from(cleared);
                    occupied += u64::from(set_bit(region, position));
                }
            }
        }
        *registers.occupied_mut() = occupied;
        verdict
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
        for part in 0..u64::from(self.parts.count()) {
            let victim = self.victim(part, generator.draw(part));
            prefetch(region, (victim / 8) as usize);
        }
    }
}
