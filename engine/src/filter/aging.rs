//! Two generations of bits per cache line: when the younger one is full, the older one is
//! cleared.
//!
//! **Guarantee.** The false positive rate is at most 1 − (1 − fill^k)², on any stream and in every
//! cache line. A key is remembered at least until its line has filled one more generation. A
//! repeat renews the key.
//!
//! **When to use it.** The stream is endless, the false positive rate must have an upper bound, and
//! the last occurrence of a repeat is not too long ago.
//!
//! **How it works.** The bits of a cache line are two small Bloom filters, an active half and a
//! warm half. With halves of eight bits, k = 2 and fill = 50: key `a` has the bits 1 and 6. They
//! are set in neither half, so `a` is New, and they are set in the active half. If they were set
//! only in the warm half, `a` would be Seen and would also be set in the active half, so that it
//! is remembered longer. If the active half has more than four bits set before a key is added, the
//! warm half is cleared and the two halves change roles.
//!
//! **Paper.** Yoon, "Aging Bloom Filter with Two Active Buffers for Dynamic Sets", 2010.
//!
//! **Departure.** In the paper the two buffers are the two halves of the whole memory, and clearing
//! one takes as long as writing half the memory. Here each cache line has its own generations: no
//! operation takes longer than one cache line, the bound holds in every line and not only on
//! average, and an observation touches one line.

use super::cache_lines::{CACHE_LINE_BYTES, CacheLines, ones};
use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::{
    BuildError, CellLayout, Evidence, EvidenceCell, Filter, FilterSpec, Observation, Registers,
    Requirement, Rows, Verdict,
};
use crate::bytes::{bit, set_bit};
use crate::fingerprint::{Fingerprint, Probes};
use crate::region::Region;
use crate::rng::Generator;

const HALF_BYTES: usize = CACHE_LINE_BYTES / 2;
/// The number of bits of a half that keys use. The last bit of each half is not used by keys; in
/// the second half it says which half is active.
const HALF_BITS: u64 = 8 * HALF_BYTES as u64 - 1;
/// The bit that says which half is active, in the last byte of a cache line.
const ACTIVE_FLAG: u8 = 0x80;
/// The number of positions that one 64-bit number yields.
const POSITIONS_PER_NUMBER: u32 = 4;

/// The geometry of an aging filter.
#[derive(Clone, Debug)]
pub struct Aging {
    k: u32,
    fill_percent: u32,
    /// An active half with more set bits than this is full.
    full_bits: u32,
    lines: CacheLines,
}

impl Aging {
    /// Returns the number of bits per key.
    pub(crate) fn k(&self) -> u32 {
        self.k
    }

    /// Returns the percentage of set bits above which a half is full.
    pub(crate) fn fill_percent(&self) -> u32 {
        self.fill_percent
    }

    /// Sets the key's bits in the active half, after exchanging the halves if it was full.
    /// Returns the change of the number of set bits.
    #[inline(always)]
    fn insert(&self, line: &mut [u8], probes: Probes) -> i64 {
        let mut active = active_half(line);
        let mut change = 0;
        line[CACHE_LINE_BYTES - 1] &= !ACTIVE_FLAG;
        if ones(&line[bytes_of(active)]) > self.full_bits {
            active = 1 - active;
            change -= i64::from(ones(&line[bytes_of(active)]));
            line[bytes_of(active)].fill(0);
        }
        let half = &mut line[bytes_of(active)];
        for at in positions(self.k, probes) {
            change += i64::from(set_bit(half, at));
        }
        line[CACHE_LINE_BYTES - 1] |= ACTIVE_FLAG * active as u8;
        change
    }
}

/// The cache lines of an aging filter, by the number of keys that were added to them.
struct Generations {
    k: i32,
    /// The probability that a key leaves a clear bit of its half clear.
    kept: f64,
    /// The number of keys that fill a half.
    length: f64,
}

impl Generations {
    fn of(filter: &Aging) -> Self {
        let half = HALF_BITS as f64;
        let kept = libm::pow(1.0 - 1.0 / half, f64::from(filter.k));
        let full = (f64::from(filter.full_bits) / half).min(1.0 - 0.5 / half);
        Generations {
            k: filter.k as i32,
            kept,
            length: libm::ceil(libm::log1p(-full) / libm::log(kept)).max(1.0),
        }
    }

    /// Returns the load and the false positive rate of a line with so many keys.
    fn line(&self, keys: f64) -> (f64, f64) {
        let exchanges = (libm::ceil(keys / self.length) - 1.0).max(0.0);
        let load_of = |keys: f64| 1.0 - libm::pow(self.kept, keys);
        let active = load_of(keys - exchanges * self.length);
        let warm = match exchanges < 1.0 {
            true => 0.0,
            false => load_of(self.length),
        };
        let found = |load: f64| load.powi(self.k);
        let rate = 1.0 - (1.0 - found(active)) * (1.0 - found(warm));
        ((active + warm) / 2.0, rate)
    }

    /// Returns the mean load and rate of lines with so many keys on average.
    fn lines(&self, mean: f64) -> (f64, f64) {
        // Lines with many keys differ little, and e^−mean would be 0.
        if mean > 600.0 {
            return self.line(mean);
        }
        let most = (mean + 12.0 * libm::sqrt(mean) + 12.0) as u32;
        let mut share = libm::exp(-mean);
        let (mut load, mut rate) = (0.0, 0.0);
        for keys in 0..=most {
            let line = self.line(f64::from(keys));
            load += share * line.0;
            rate += share * line.1;
            share *= mean / f64::from(keys + 1);
        }
        (load, rate)
    }

    fn false_positive_rate(&self, load: f64) -> f64 {
        // Up to here the load grows. Then lines are in all stages of a generation.
        let (mut low, mut high) = (0.0, 1.5 * self.length);
        if load >= self.lines(high).0 {
            let stages = 1..=self.length as u32;
            let rate = |stage: u32| self.line(self.length + f64::from(stage)).1;
            return stages.map(rate).sum::<f64>() / self.length;
        }
        for _ in 0..20 {
            let middle = (low + high) / 2.0;
            match self.lines(middle).0 < load {
                true => low = middle,
                false => high = middle,
            }
        }
        self.lines(high).1.clamp(0.0, 1.0)
    }
}

#[inline(always)]
fn active_half(line: &[u8]) -> usize {
    usize::from(line[CACHE_LINE_BYTES - 1] & ACTIVE_FLAG != 0)
}

#[inline(always)]
fn bytes_of(half: usize) -> std::ops::Range<usize> {
    half * HALF_BYTES..(half + 1) * HALF_BYTES
}

/// Returns the bit of the region where a cell is. The last bit of each half is not a cell.
fn region_bit(index: u64) -> u64 {
    index / HALF_BITS * 8 * HALF_BYTES as u64 + index % HALF_BITS
}

/// Returns the key's positions in a half, cut from its probes 16 bits at a time.
#[inline(always)]
fn positions(k: u32, mut probes: Probes) -> impl Iterator<Item = u64> {
    let mut number = 0u64;
    (0..k).map(move |i| {
        if i % POSITIONS_PER_NUMBER == 0 {
            number = probes.next_bits();
        }
        number = number.rotate_left(16);
        ((number & 0xffff) * HALF_BITS) >> 16
    })
}

/// Returns whether the key is in the active half, and whether it is in the warm half.
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
        title: "Aging Bloom filter per cache line",
        summary: "Keeps two small Bloom filters in each cache line; when the active one is full, \
                  the other is cleared and becomes the active one.",
        promise: "The false positive rate has an upper bound on any stream and in every cache \
                  line; a repeat is reported as Seen if its last occurrence is not too long ago.",
        choose_when: "The stream is endless, and the false positive rate must have an upper bound.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::Ours,
        source: Citation {
            authors: "M. Yoon",
            title: "Aging Bloom Filter with Two Active Buffers for Dynamic Sets",
            year: 2010,
        },
        advised_because: "old keys may be forgotten, and two generations per cache line forget \
                          them evenly",
        drawing: Drawing {
            before: &["##.#.#.#|#..#.#.."],
            after: &["##.#.#.#|..#....#"],
            caption: "A cache line has two halves. When the active one is full, the other is \
                      cleared and becomes the active one; the key is set there.",
        },
        parameters: &[
            Parameter::integer("k", "bits set for each key", 1..=32, 6),
            Parameter::integer(
                "fill",
                "percentage of set bits above which the active half is full",
                1..=99,
                50,
            ),
        ],
    };

    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let fill = spec.integer("fill");
        Ok(Aging {
            k: spec.integer("k") as u32,
            fill_percent: fill as u32,
            full_bits: (fill * HALF_BITS / 100) as u32,
            lines: CacheLines::fitting(spec, memory_bits)?,
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

    /// The warm half of a cache line is full, and the active one is not: the rate is not that of
    /// two halves with the mean load. The number of keys per line is taken to be Poisson
    /// distributed, with the mean that explains the load.
    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        let load = registers.occupied() as f64 / self.cells() as f64;
        Generations::of(self).false_positive_rate(load)
    }

    fn cache_lines_touched(&self) -> u32 {
        1
    }

    fn observe_reads_only_evidence(&self) -> bool {
        true
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        false
    }

    fn row_layout(&self) -> Option<Rows> {
        Some(self.lines.rows())
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
        observation: Observation,
    ) -> Verdict {
        self.observe_in_rows(region, 0, registers, generator, observation)
    }

    #[inline(always)]
    fn observe_in_rows<R: Region + ?Sized>(
        &self,
        region: &mut R,
        first_row: u64,
        registers: &mut Registers,
        _: Generator,
        observation: Observation,
    ) -> Verdict {
        let lines = self.lines.starting_at(first_row);
        let (at, probes) = lines.locate(observation.fingerprint);
        let range = at..at + CACHE_LINE_BYTES;
        let (in_active, in_warm) = probe(self.k, &region.bytes()[range.clone()], probes.clone());
        if in_active {
            return Verdict::Seen;
        }
        let change = self.insert(region.bytes_mut(range), probes);
        let occupied = registers.occupied_mut();
        *occupied = occupied.wrapping_add_signed(change);
        Verdict::seen_if(in_warm)
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (at, probes) = self.lines.locate(fingerprint);
        let (in_active, in_warm) = probe(self.k, &region[at..at + CACHE_LINE_BYTES], probes);
        Verdict::seen_if(in_active | in_warm)
    }

    /// The second half is used from the first exchange on.
    fn may_have_forgotten(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> bool {
        let (at, _) = self.lines.locate(fingerprint);
        let line = &region[at..at + CACHE_LINE_BYTES];
        active_half(line) != 0 || ones(&line[bytes_of(1)]) > 0
    }

    fn cell_layout(&self) -> CellLayout {
        CellLayout {
            row: "half of a cache line",
            ..CellLayout::of_bits(HALF_BITS, "cleared with their half of the cache line")
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(bit(region, region_bit(index)))
    }

    /// Which half is active does not influence whether the key is found.
    fn evidence(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Evidence {
        let (at, probes) = self.lines.locate(fingerprint);
        let line = (at / CACHE_LINE_BYTES) as u64;
        let in_half = |half: u64| {
            let bits = positions(self.k, probes.clone());
            let indices = bits.map(|bit| (2 * line + half) * HALF_BITS + bit);
            let cells =
                indices.map(|index| EvidenceCell::read("bit", index, region_bit(index), 1, region));
            cells.collect()
        };
        Evidence {
            row: line,
            required: Requirement::NonZero,
            equal: 1,
            links: Vec::new(),
            alternatives: vec![in_half(0), in_half(1)],
        }
    }

    /// Takes the union of the active halves and that of the warm halves. An active half may be
    /// fuller than `fill` afterwards: the next key exchanges the halves.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        let lines = region.chunks_exact_mut(CACHE_LINE_BYTES);
        for (line, other) in lines.zip(other.chunks_exact(CACHE_LINE_BYTES)) {
            let (active, other_active) = (active_half(line), active_half(other));
            line[CACHE_LINE_BYTES - 1] &= !ACTIVE_FLAG;
            for half in [0, 1] {
                let same_role = half ^ active ^ other_active;
                let bits = line[bytes_of(half)].iter_mut();
                for (at, (byte, other)) in bits.zip(&other[bytes_of(same_role)]).enumerate() {
                    // The last bit of a half is no bit of a key.
                    let used = if at + 1 == HALF_BYTES {
                        !ACTIVE_FLAG
                    } else {
                        u8::MAX
                    };
                    *byte |= other & used;
                }
            }
            line[CACHE_LINE_BYTES - 1] |= ACTIVE_FLAG * active as u8;
        }
        *registers.occupied_mut() = self.recount(region);
        registers.count_others(other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.lines.prefetch(region, fingerprint);
    }
}
