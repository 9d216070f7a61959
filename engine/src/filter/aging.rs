//! Two generations a line: when the younger one is full, the older one is dropped.
//!
//! **Promises** that a new key is dropped with a chance of at most 1 − (1 − fill^k)²,
//! for ever and in every line; and that a key is remembered until its line has filled one
//! generation since, at the least. A repeat renews it.
//!
//! **Pick it** for an endless stream when the share of new keys dropped must be bounded
//! and repeats do not lie too far back.
//!
//! **How.** The bits of a line are two small Bloom filters, an active one and a warm one.
//! With halves of eight bits, k = 2 and fill = 50: key `a` has the bits 1 and 6. They are
//! set in neither half: New; they are set in the active half. Were they set in the warm
//! half alone, `a` would be Seen, and set in the active half too, so that it stays. If
//! the active half had more than four bits set before that, the warm half is cleared
//! first and the two change places.
//!
//! **Paper.** Yoon, "Aging Bloom Filter with Two Active Buffers for Dynamic Sets", 2010.
//! There the two buffers are the two halves of memory, and clearing one is a pause of its
//! length. Here each line ages on its own: nothing takes longer than a line, the bound
//! holds in every line instead of on average, and an observation touches one line.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::lines::{LINE_BYTES, Lines, ones};
use super::{
    Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Place, Registers, Verdict,
    Wanted,
};
use crate::bytes::{bit, set_bit};
use crate::fingerprint::{Fingerprint, Probes};
use crate::region::Region;
use crate::rng::Generator;

const HALF_BYTES: usize = LINE_BYTES / 2;
/// The last bit of either half is no key's; in the second half it says which is active.
const HALF_BITS: u64 = 8 * HALF_BYTES as u64 - 1;
/// That bit, in the last byte of a line.
const FLAG: u8 = 0x80;
/// How many positions in a half one number yields.
const PIECES: u32 = 4;

/// The geometry of an aging filter.
#[derive(Clone, Debug)]
pub struct Aging {
    k: u32,
    /// An active half with more bits set than this is full.
    full_bits: u32,
    lines: Lines,
}

impl Aging {
    /// Sets the key's bits in the active half, after a change of places if that was full;
    /// returns how many more bits are set.
    #[inline(always)]
    fn insert(&self, line: &mut [u8], probes: Probes) -> i64 {
        let mut active = active_half(line);
        let mut change = 0;
        line[LINE_BYTES - 1] &= !FLAG;
        if ones(&line[bytes_of(active)]) > self.full_bits {
            active = 1 - active;
            change -= i64::from(ones(&line[bytes_of(active)]));
            line[bytes_of(active)].fill(0);
        }
        let half = &mut line[bytes_of(active)];
        for at in positions(self.k, probes) {
            change += i64::from(set_bit(half, at));
        }
        line[LINE_BYTES - 1] |= FLAG * active as u8;
        change
    }
}

#[inline(always)]
fn active_half(line: &[u8]) -> usize {
    usize::from(line[LINE_BYTES - 1] & FLAG != 0)
}

#[inline(always)]
fn bytes_of(half: usize) -> std::ops::Range<usize> {
    half * HALF_BYTES..(half + 1) * HALF_BYTES
}

/// Where in the region a cell lies: the last bit of each half is left out.
fn region_bit(index: u64) -> u64 {
    index / HALF_BITS * 8 * HALF_BYTES as u64 + index % HALF_BITS
}

/// The key's positions in a half, cut from its probes 16 bits at a time.
#[inline(always)]
fn positions(k: u32, mut probes: Probes) -> impl Iterator<Item = u64> {
    let mut number = 0u64;
    (0..k).map(move |i| {
        if i % PIECES == 0 {
            number = probes.next_bits();
        }
        number = number.rotate_left(16);
        ((number & 0xffff) * HALF_BITS) >> 16
    })
}

/// Whether the key is in the active half, and whether it is in the warm one.
#[inline(always)]
fn probe(k: u32, line: &[u8], probes: Probes) -> (bool, bool) {
    let (first, second) = line.split_at(HALF_BYTES);
    let (in_first, in_second) = positions(k, probes).fold((true, true), |(a, b), at| {
        (a & bit(first, at), b & bit(second, at))
    });
    match active_half(line) {
        0 => (in_first, in_second),
        _ => (in_second, in_first),
    }
}

impl Filter for Aging {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "aging",
        title: "Aging Bloom filter, line by line",
        summary: "Keeps two small Bloom filters in each line of memory; when the active one is \
                  full, the other is cleared and takes its place.",
        promise: "The share of new keys dropped has a bound that holds for ever, in every line; a \
                  repeat is noticed if it does not lie too far back.",
        choose_when: "The stream has no end and the share of new keys dropped must be bounded.",
        errs: Errs::Both,
        needs: Needs {
            tick: false,
            importance: false,
        },
        source: Citation {
            authors: "M. Yoon",
            title: "Aging Bloom Filter with Two Active Buffers for Dynamic Sets",
            year: 2010,
        },
        drawing: Drawing {
            before: &["##.#.#.#|#..#.#.."],
            after: &["##.#.#.#|..#....#"],
            caption: "A line has two halves. When the active one is full, the other is cleared \
                      and becomes the active one; there the key is set.",
        },
        parameters: &[
            Parameter {
                name: "k",
                meaning: "bits set for each key",
                kind: Kind::Integer {
                    min: 1,
                    max: 32,
                    default: 6,
                },
            },
            Parameter {
                name: "fill",
                meaning: "percent of the active bits past which they are full",
                kind: Kind::Integer {
                    min: 1,
                    max: 99,
                    default: 50,
                },
            },
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(Aging {
            k: spec.integer("k") as u32,
            full_bits: (spec.integer("fill") * HALF_BITS / 100) as u32,
            lines: Lines::fitting(spec, memory_bits)?,
        })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        [(self.k == 6).then_some(Aging { k: 6, ..*self }), None]
    }

    fn region_bytes(&self) -> u64 {
        self.lines.bytes()
    }

    fn cells(&self) -> u64 {
        self.lines.count() * 2 * HALF_BITS
    }

    fn recount(&self, region: &[u8]) -> u64 {
        let lines = region.chunks_exact(LINE_BYTES);
        lines
            .map(|line| u64::from(ones(line)) - active_half(line) as u64)
            .sum()
    }

    fn drop_chance(&self, registers: &Registers) -> f64 {
        let load = registers.occupied() as f64 / self.cells() as f64;
        let in_a_half = libm::pow(load, f64::from(self.k));
        1.0 - (1.0 - in_a_half) * (1.0 - in_a_half)
    }

    fn lines_touched(&self) -> u32 {
        1
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
        let (at, probes) = self.lines.place(observation.fingerprint);
        let range = at..at + LINE_BYTES;
        let (in_active, in_warm) = probe(self.k, &region.bytes()[range.clone()], probes.clone());
        if in_active {
            return Verdict::Seen;
        }
        let change = self.insert(region.bytes_mut(range), probes);
        let occupied = registers.occupied_mut();
        *occupied = occupied.wrapping_add_signed(change);
        match in_warm {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (at, probes) = self.lines.place(fingerprint);
        let (in_active, in_warm) = probe(self.k, &region[at..at + LINE_BYTES], probes);
        match in_active | in_warm {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    fn anatomy(&self) -> Anatomy {
        Anatomy {
            row: "half of a line",
            ..Anatomy::of_bits(HALF_BITS, "cleared with their half of the line")
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(bit(region, region_bit(index)))
    }

    /// Which half is active does not matter for what is held.
    fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        let (at, probes) = self.lines.place(fingerprint);
        let line = (at / LINE_BYTES) as u64;
        let in_half = |half: u64| {
            let bits = positions(self.k, probes.clone());
            let indices = bits.map(|bit| (2 * line + half) * HALF_BITS + bit);
            let places =
                indices.map(|index| Place::read("bit", index, region_bit(index), 1, region));
            places.collect()
        };
        Evidence {
            row: line,
            wanted: Wanted::InUse,
            links: Vec::new(),
            ways: vec![in_half(0), in_half(1)],
        }
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.lines.prefetch(region, fingerprint);
    }
}
