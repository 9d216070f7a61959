//! The stable Bloom filter (SBF): counters that every arrival wears down.
//!
//! **Promises** a bound on the share of new keys dropped that holds for ever, whatever
//! the stream: (1 − (1 / (1 + 1/(P(1/K − 1/m))))^Max)^K. It pays with repeats missed,
//! and the farther back a repeat lies the surer it is missed.
//!
//! **Pick it** for an endless stream whose repeats lie close together, when the share
//! of new keys dropped must be known beforehand.
//!
//! **How.** m cells that hold 0 to Max; a key is Seen if its K cells are all above 0.
//! With K = 2, P = 2, Max = 1 and eight cells: key `a` has the cells 1 and 6, both 0,
//! so it is New. P cells from a random start, say 3 and 4, are lowered by one if they
//! can be; then 1 and 6 become Max. This happens for Seen keys too: they are renewed.
//!
//! **Paper.** Deng, Rafiei, "Approximately Detecting Duplicates for Streaming Data using
//! Stable Bloom Filters", 2006. Algorithm 1 prints `DuplicateFlag = Yes` inside the loop
//! that lowers cells; read literally it drops 63 % of new keys where its theory says
//! 5.7 %. We probe first, then lower, then set. As in its section 5.2, one random start
//! and P neighbouring cells stand for P random cells; no difference can be measured.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::{Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Registers, Verdict};
use crate::bytes::{Cells, read_u64, window, write_u64};
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a stable Bloom filter.
#[derive(Clone, Debug)]
pub struct Stable {
    k: u32,
    p: u64,
    max: u32,
    cells: Cells,
    cell_count: u64,
}

impl Stable {
    #[inline(always)]
    fn positions(&self, fingerprint: Fingerprint) -> impl Iterator<Item = u64> + use<> {
        let Stable { k, cell_count, .. } = *self;
        let mut probes = fingerprint.probes();
        (0..k).map(move |_| probes.next_below(cell_count))
    }

    /// Whether all counters of a key are as wanted. Each is looked at: its line is on the way
    /// already, and one branch an observation is guessed wrong less often than k.
    #[inline(always)]
    fn all(&self, region: &[u8], fingerprint: Fingerprint, wanted: impl Fn(u32) -> bool) -> bool {
        let positions = self.positions(fingerprint);
        positions.fold(true, |all, at| all & wanted(self.cells.get(region, at)))
    }

    #[inline(always)]
    fn is_seen(&self, region: &[u8], fingerprint: Fingerprint) -> bool {
        self.all(region, fingerprint, |value| value > 0)
    }

    /// Lowers P cells from a random start by one; returns how many became empty.
    #[inline(always)]
    fn wear<R: Region + ?Sized>(&self, region: &mut R, draw: u64) -> u64 {
        let mut at = reduce(draw, self.cell_count);
        if self.max == 1 && self.p <= MOST_AT_ONCE && at + self.p <= self.cell_count {
            return clear_bits(region, at, self.p);
        }
        let mut emptied = 0;
        for _ in 0..self.p {
            let value = self.cells.get(region.bytes(), at);
            if value > 0 {
                self.cells.set(region, at, value - 1);
                emptied += u64::from(value == 1);
            }
            at += 1;
            if at == self.cell_count {
                at = 0;
            }
        }
        emptied
    }
}

/// A run of this many bits lies within eight bytes, wherever it starts.
const MOST_AT_ONCE: u64 = 57;

/// Clears a short run of bits at once; returns how many were set.
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
        summary: "Raises k counters to max for each key and lowers p others by one, so that old \
                  keys fade.",
        promise: "The share of new keys dropped has a bound that holds for ever; repeats that lie \
                  far back are missed.",
        choose_when: "The stream has no end, its repeats lie close together, and the share of new \
                      keys dropped must be known beforehand.",
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
            before: &["3.12.3..1.2."],
            after: &["3..1.33.1.23"],
            caption: "A key raises its 2 counters to 3. For that, 2 counters side by side at a \
                      random place lose one each.",
        },
        parameters: &[
            Parameter {
                name: "k",
                meaning: "counters raised for each key",
                kind: Kind::Integer {
                    min: 1,
                    max: 32,
                    default: 2,
                },
            },
            Parameter {
                name: "p",
                meaning: "counters lowered at each arrival",
                kind: Kind::Integer {
                    min: 0,
                    max: 4096,
                    default: 4,
                },
            },
            Parameter {
                name: "max",
                meaning: "the value a counter is raised to",
                kind: Kind::Integer {
                    min: 1,
                    max: 65_535,
                    default: 1,
                },
            },
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let (k, p, max) = (spec.integer("k"), spec.integer("p"), spec.integer("max"));
        let cells = Cells::holding(max as u16);
        let width_bits = u64::from(cells.width_bits());
        // A run of P cells must not lap itself.
        let minimum_bits = p * width_bits;
        if memory_bits < minimum_bits {
            return Err(BuildError::TooSmall {
                filter: spec.to_string(),
                memory_bits,
                minimum_bits,
            });
        }
        Ok(Stable {
            k: k as u32,
            p,
            max: max as u32,
            cells,
            cell_count: memory_bits / width_bits,
        })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        let known = Stable {
            k: 2,
            max: 1,
            cells: Cells::holding(1),
            ..*self
        };
        [(self.k == 2 && self.max == 1).then_some(known), None]
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

    fn lines_touched(&self) -> u32 {
        let worn_bits = self.p * u64::from(self.cells.width_bits());
        self.k + worn_bits.div_ceil(512) as u32
    }

    fn draws(&self) -> u64 {
        1
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
        let seen = self.is_seen(region.bytes(), observation.fingerprint);
        let emptied = self.wear(region, generator.draw(0));
        // If one must be raised all are written: a branch for each would be guessed wrong.
        let mut filled = 0;
        let is_full = |value| value == self.max;
        if !self.all(region.bytes(), observation.fingerprint, is_full) {
            for at in self.positions(observation.fingerprint) {
                filled += u64::from(self.cells.get(region.bytes(), at) == 0);
                self.cells.set(region, at, self.max);
            }
        }
        let occupied = registers.occupied_mut();
        *occupied = *occupied + filled - emptied;
        match seen {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        match self.is_seen(region, fingerprint) {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    fn anatomy(&self) -> Anatomy {
        Anatomy::of_counters(self.cell_count, self.max, "worn down to 0")
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(self.cells.get(region, index))
    }

    fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        Evidence::of_counters(&self.cells, region, &mut self.positions(fingerprint))
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], generator: Generator, fingerprint: Fingerprint) {
        for position in self.positions(fingerprint) {
            prefetch(region, self.cells.byte_of(position));
        }
        let start = reduce(generator.draw(0), self.cell_count);
        prefetch(region, self.cells.byte_of(start));
    }
}
