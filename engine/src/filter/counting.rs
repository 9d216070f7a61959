//! The counting Bloom filter: keys can be taken out again.
//!
//! **Promises** what a Bloom filter promises: a repeat is always noticed, and new keys
//! are dropped more often as it fills. A key that was reported New can be forgotten, and
//! is New again when it next comes.
//!
//! **Pick it** when the caller knows when a key is no longer wanted. It takes `bits` times
//! the memory of a Bloom filter.
//!
//! **How.** k counters a key instead of k bits. With k = 2 key `a` has the counters 3 and
//! 9, key `b` 9 and 14. After both came, counter 9 is at 2. Forgetting `a` lowers 3 to 0
//! and 9 to 1; `b` is still all there. A counter at its most no longer knows how many it
//! counts, so it is never lowered: some memory is lost, and no key.
//!
//! Only keys that were reported New may be forgotten. One that was dropped as Seen never
//! raised a counter; to forget it would lower those of others, and their repeats could
//! then be missed.
//!
//! **Paper.** Fan, Cao, Almeida, Broder, "Summary Cache: A Scalable Wide-Area Web Cache
//! Sharing Protocol", 1998. Four bits a counter are its choice.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::{Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Registers, Verdict};
use crate::bytes::Cells;
use crate::fingerprint::Fingerprint;
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a counting Bloom filter.
#[derive(Clone, Debug)]
pub struct Counting {
    k: u32,
    most: u32,
    cells: Cells,
    cell_count: u64,
}

impl Counting {
    #[inline(always)]
    fn positions(&self, fingerprint: Fingerprint) -> impl Iterator<Item = u64> + use<> {
        let Counting { k, cell_count, .. } = *self;
        let mut probes = fingerprint.probes();
        (0..k).map(move |_| probes.next_below(cell_count))
    }

    #[inline(always)]
    fn probe(&self, region: &[u8], fingerprint: Fingerprint) -> Verdict {
        let positions = self.positions(fingerprint);
        match positions.fold(true, |all, at| all & (self.cells.get(region, at) > 0)) {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }
}

impl Filter for Counting {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "counting",
        title: "Counting Bloom filter",
        summary: "Raises k counters for each new key, so that a key can be forgotten by lowering \
                  them.",
        promise: "A repeat is always noticed, unless it was forgotten; new keys are dropped more \
                  often as it fills.",
        choose_when: "Keys must be taken out again, and there is memory for a counter where a \
                      Bloom filter has a bit.",
        errs: Errs::DropsNew,
        needs: Needs {
            tick: false,
            importance: false,
        },
        source: Citation {
            authors: "L. Fan, P. Cao, J. Almeida, A. Z. Broder",
            title: "Summary Cache: A Scalable Wide-Area Web Cache Sharing Protocol",
            year: 1998,
        },
        drawing: Drawing {
            before: &["1.2..1..3.1."],
            after: &["1.3..11.4.1."],
            caption: "A new key raises its 3 counters by one. To forget it lowers them again.",
        },
        parameters: &[
            Parameter {
                name: "k",
                meaning: "counters raised for each key",
                kind: Kind::Integer {
                    min: 1,
                    max: 32,
                    default: 4,
                },
            },
            Parameter {
                name: "bits",
                meaning: "bits of a counter; one that is full is never lowered",
                kind: Kind::Integer {
                    min: 2,
                    max: 16,
                    default: 4,
                },
            },
        ],
    };

    const FORGETS: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let width_bits = spec.integer("bits");
        let most = ((1u32 << width_bits) - 1) as u16;
        Ok(Counting {
            k: spec.integer("k") as u32,
            most: u32::from(most),
            cells: Cells::holding(most),
            cell_count: memory_bits / width_bits,
        })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        let known = Counting {
            k: 4,
            most: 15,
            cells: Cells::holding(15),
            ..*self
        };
        [(self.k == 4 && self.most == 15).then_some(known), None]
    }

    fn region_bytes(&self) -> u64 {
        self.cells.bytes(self.cell_count)
    }

    fn cells(&self) -> u64 {
        self.cell_count
    }

    fn recount(&self, region: &[u8]) -> u64 {
        let in_use = (0..self.cell_count).filter(|&at| self.cells.get(region, at) > 0);
        in_use.count() as u64
    }

    fn drop_chance(&self, registers: &Registers) -> f64 {
        let load = registers.occupied() as f64 / self.cell_count as f64;
        load.powi(self.k as i32)
    }

    fn comfortable_load(&self) -> Option<f64> {
        Some(0.5)
    }

    fn lines_touched(&self) -> u32 {
        self.k
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
        if self.probe(region.bytes(), fingerprint) == Verdict::Seen {
            return Verdict::Seen;
        }
        for at in self.positions(fingerprint) {
            let count = self.cells.get(region.bytes(), at);
            self.cells.set(region, at, (count + 1).min(self.most));
            *registers.occupied_mut() += u64::from(count == 0);
        }
        Verdict::New
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        self.probe(region, fingerprint)
    }

    fn anatomy(&self) -> Anatomy {
        Anatomy::of_counters(self.cell_count, self.most, "")
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(self.cells.get(region, index))
    }

    fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        Evidence::of_counters(&self.cells, region, &mut self.positions(fingerprint))
    }

    fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        if self.probe(region.bytes(), fingerprint) == Verdict::New {
            return Verdict::New;
        }
        for at in self.positions(fingerprint) {
            let count = self.cells.get(region.bytes(), at);
            // Zero where two positions are one and the key was not really there.
            if count > 0 && count < self.most {
                self.cells.set(region, at, count - 1);
                *registers.occupied_mut() -= u64::from(count == 1);
            }
        }
        Verdict::Seen
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        for position in self.positions(fingerprint) {
            prefetch(region, self.cells.byte_of(position));
        }
    }
}
