//! The blocked Bloom filter with a load cap: all bits of a key in one line of memory.
//!
//! **Promises** that a new key is dropped with a chance of at most about cap^k, for
//! ever; until a line reaches the cap, also that no repeat is missed. Past the cap a
//! line forgets at random what it needs for the next key. With `cap=100` it never
//! forgets: the plain blocked Bloom filter.
//!
//! **Pick it** with four bits or more for each distinct key: it errs less than the
//! filters of the literature there, and costs one line of memory a key.
//!
//! **How.** With lines of eight bits, k = 2 and cap = 50: key `a` belongs to line 3 and
//! has its bits 1 and 6. One is clear, so `a` is New. The line has five bits set, more
//! than half; so two random bits of it are cleared, whatever they were, say 0 and 4.
//! Then 1 and 6 are set. A line with four bits set or fewer is only added to.
//!
//! **Sources.** Blocking: Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient
//! Bloom Filters", 2007. Clearing k random bits an insertion: Bera et al., 2012, there
//! at every insertion; the cap, which leaves a filter that is not full alone, is ours.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::lines::{LINE_BITS, LINE_BYTES, Lines, all_set, choices, numbers_for, ones};
use super::{
    Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Place, Registers, Verdict,
};
use crate::bytes::{bit, clear_bit, count_ones, set_bit};
use crate::fingerprint::{Fingerprint, Probes};
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a blocked Bloom filter.
#[derive(Clone, Debug)]
pub struct Blocked {
    k: u32,
    /// A line with more bits set than this clears some before it takes more.
    cap_bits: u32,
    lines: Lines,
}

impl Blocked {
    #[inline(always)]
    fn is_seen(&self, line: &[u8], mut probes: Probes) -> bool {
        all_set(line, choices(self.k, || probes.next_bits()))
    }

    /// Makes room if need be, then sets the key's bits; returns how many more are set.
    #[inline(always)]
    fn insert(&self, line: &mut [u8], mut probes: Probes, generator: Generator) -> i64 {
        let mut change = 0;
        if u64::from(self.cap_bits) < LINE_BITS && ones(line) > self.cap_bits {
            let mut draws = (0..).map(|index| generator.draw(index));
            for at in choices(self.k, || draws.next().unwrap_or(0)) {
                change -= i64::from(clear_bit(line, at));
            }
        }
        for at in choices(self.k, || probes.next_bits()) {
            change += i64::from(set_bit(line, at));
        }
        change
    }
}

impl Filter for Blocked {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "blocked",
        title: "Blocked Bloom filter with a load cap",
        summary: "Sets k bits for each key, all in one line of memory; a line filled past its cap \
                  clears random bits first.",
        promise: "No repeat is missed while lines are below the cap; the share of new keys dropped \
                  stays below about cap^k for ever.",
        choose_when: "There are four bits or more for each distinct key, or speed matters most.",
        errs: Errs::Both,
        needs: Needs {
            tick: false,
            importance: false,
        },
        source: Citation {
            authors: "F. Putze, P. Sanders, J. Singler",
            title: "Cache-, Hash- and Space-Efficient Bloom Filters",
            year: 2007,
        },
        drawing: Drawing {
            before: &["#.#..#..", "##.#.##.", ".#......"],
            after: &["#.#..#..", ".###..##", ".#......"],
            caption: "All bits of a key lie in one line. A line that is past its cap first clears \
                      as many random bits as the key needs.",
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
                name: "cap",
                meaning: "percent of a line's bits past which it forgets; 100 for never",
                kind: Kind::Integer {
                    min: 1,
                    max: 100,
                    default: 70,
                },
            },
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(Blocked {
            k: spec.integer("k") as u32,
            cap_bits: (spec.integer("cap") * LINE_BITS / 100) as u32,
            lines: Lines::fitting(spec, memory_bits)?,
        })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        // The registry's default, and what the adviser picks for a stream it does not know.
        [4, 6].map(|k| (self.k == k).then_some(Blocked { k, ..*self }))
    }

    fn region_bytes(&self) -> u64 {
        self.lines.bytes()
    }

    fn cells(&self) -> u64 {
        self.lines.count() * LINE_BITS
    }

    fn recount(&self, region: &[u8]) -> u64 {
        count_ones(region, 0..self.cells())
    }

    /// Some lines get more keys than others, and those drop more. Keys a line are taken
    /// for Poisson-distributed, with the mean that explains the load.
    fn drop_chance(&self, registers: &Registers) -> f64 {
        let load = registers.occupied() as f64 / self.cells() as f64;
        let cap = f64::from(self.cap_bits) / LINE_BITS as f64;
        let kept = libm::pow(1.0 - 1.0 / LINE_BITS as f64, f64::from(self.k));
        let mean = -libm::log(1.0 - load) / (1.0 - kept);
        // Lines at the cap are alike; and so are, nearly, lines with so many keys.
        if load >= cap || mean > 600.0 {
            return libm::pow(load, f64::from(self.k));
        }
        let most = (mean + 12.0 * libm::sqrt(mean) + 12.0) as u32;
        let mut share = libm::exp(-mean);
        let mut clear = 1.0;
        let mut chance = 0.0;
        for keys in 0..=most {
            chance += share * libm::pow((1.0f64 - clear).min(cap), f64::from(self.k));
            share *= mean / f64::from(keys + 1);
            clear *= kept;
        }
        chance.clamp(0.0, 1.0)
    }

    fn comfortable_load(&self) -> Option<f64> {
        Some(0.5)
    }

    fn lines_touched(&self) -> u32 {
        1
    }

    fn draws(&self) -> u64 {
        numbers_for(self.k)
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
        let (at, probes) = self.lines.place(observation.fingerprint);
        let range = at..at + LINE_BYTES;
        if self.is_seen(&region.bytes()[range.clone()], probes.clone()) {
            return Verdict::Seen;
        }
        let change = self.insert(region.bytes_mut(range), probes, generator);
        let occupied = registers.occupied_mut();
        *occupied = occupied.wrapping_add_signed(change);
        Verdict::New
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (at, probes) = self.lines.place(fingerprint);
        match self.is_seen(&region[at..at + LINE_BYTES], probes) {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    fn anatomy(&self) -> Anatomy {
        Anatomy {
            row: "line",
            ..Anatomy::of_bits(LINE_BITS, "cleared for newer keys")
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(bit(region, index))
    }

    fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        let (at, mut probes) = self.lines.place(fingerprint);
        let bits = choices(self.k, || probes.next_bits()).map(|bit| 8 * at as u64 + bit);
        let mut places = bits.map(|bit| Place::read("bit", bit, bit, 1, region));
        Evidence::all_in_use((at / LINE_BYTES) as u64, &mut places)
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.lines.prefetch(region, fingerprint);
    }
}
