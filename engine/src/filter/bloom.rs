//! The Bloom filter: k bits a key, set and never cleared.
//!
//! **Promises** that a repeat is always noticed. A new key is dropped with a chance
//! that starts at nothing and grows with every key kept: about (1 − e^(−k·n/m))^k after
//! n distinct keys in m bits. It never forgets, so past its size it drops nearly all.
//!
//! **Pick it** when the number of distinct keys is known and there are four bits or
//! more for each.
//!
//! **How.** With m = 16 and k = 2, key `a` has the positions 3 and 9, key `b` 9 and 14.
//! `a` comes: bits 3 and 9 are clear, so it is New; set them. `b` comes: 9 is set but 14
//! is clear, New; set 14. `a` again: both set, Seen. A key with the positions 3 and 14
//! would be taken for Seen though it never came.
//!
//! **Paper.** B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors",
//! 1970. `layout=partitioned` gives each of the k positions m/k bits of its own, as the
//! filters of Bera et al. do; its error is a little higher and its parts can be split.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::parts::Parts;
use super::{Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Registers, Verdict};
use crate::bytes::set_bit;
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a Bloom filter.
#[derive(Clone, Debug)]
pub struct Bloom {
    parts: Parts,
}

impl Filter for Bloom {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "bloom",
        title: "Bloom filter",
        summary: "Sets k bits for each key and never clears one.",
        promise: "A repeat is always noticed; new keys are dropped more often as it fills.",
        choose_when: "The number of distinct keys is known and each can have four bits or more.",
        errs: Errs::DropsNew,
        needs: Needs {
            tick: false,
            importance: false,
        },
        source: Citation {
            authors: "B. H. Bloom",
            title: "Space/time trade-offs in hash coding with allowable errors",
            year: 1970,
        },
        drawing: Drawing {
            before: &["#..#....#...#..."],
            after: &["#.##...##...#..."],
            caption: "A new key sets its 3 bits; one of them was set already. Nothing is ever \
                      cleared.",
        },
        parameters: &[
            Parameter {
                name: "k",
                meaning: "bits set for each key",
                kind: Kind::Integer {
                    min: 1,
                    max: 32,
                    default: 4,
                },
            },
            Parameter {
                name: "layout",
                meaning: "whether the k positions share all bits or have a part each",
                kind: Kind::Choice {
                    options: &["shared", "partitioned"],
                },
            },
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let k = spec.integer("k");
        let parts = match spec.is_choice("layout", "partitioned") {
            true => Parts::separate(k, memory_bits),
            false => Parts::shared(k, memory_bits),
        };
        Ok(Bloom { parts })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        let known = |parts| Bloom { parts };
        [self.parts.known(4).map(known), None]
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
        // In parts, too: equal parts that are filled alike have the same load.
        let load = registers.occupied() as f64 / self.cells() as f64;
        load.powi(self.parts.count() as i32)
    }

    fn comfortable_load(&self) -> Option<f64> {
        Some(0.5)
    }

    fn lines_touched(&self) -> u32 {
        self.parts.count()
    }

    fn draws(&self) -> u64 {
        0
    }

    fn seen_leaves_no_trace(&self) -> bool {
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
        if self.parts.probe(region.bytes(), fingerprint) == Verdict::Seen {
            return Verdict::Seen;
        }
        for position in self.parts.positions(fingerprint) {
            *registers.occupied_mut() += u64::from(set_bit(region, position));
        }
        Verdict::New
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        self.parts.probe(region, fingerprint)
    }

    fn anatomy(&self) -> Anatomy {
        self.parts.anatomy("")
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        self.parts.cell(region, index)
    }

    fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        self.parts.evidence(region, fingerprint)
    }

    /// A bit is set if either set it; the keys of both may count twice as New.
    fn unite(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        for (byte, other) in region.iter_mut().zip(other) {
            *byte |= other;
        }
        *registers.occupied_mut() = self.recount(region);
        registers.count_others(other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.parts.prefetch(region, fingerprint);
    }
}
