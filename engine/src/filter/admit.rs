//! The blocked Bloom filter with admission: a key is remembered only if that is worth its errors.
//!
//! **Guarantee.** A key that was admitted is never forgotten, so false negatives are repeats of
//! keys that were not worth remembering: unimportant ones first, and only where the memory is
//! scarce. Cache lines stop filling before they report every key as Seen.
//!
//! **When to use it.** Errors about some keys matter more than about others, and there are fewer
//! than about four bits for each distinct key. With more memory it is the plain blocked Bloom
//! filter. Not if the stream drifts: it never forgets.
//!
//! **How it works.** A key has k bits in one cache line and is Seen if all are set. A key that is
//! New would set b bits, and raise the false positive rate φ^k of its line, in which a share φ of
//! the bits is set, by about k·φ^(k−1)·b/512. As many new keys as so far may still come; those
//! together weigh as much as those so far, W over all lines. So remembering the key costs
//! W/lines · k·φ^(k−1)·b/512. It gains the importance of the key times the number of repeats per
//! new key so far. The key is admitted if the gain is at least `cost` percent of the cost.
//!
//! Example: k = 2, half of a line is set, and the new keys so far weigh 2000 per line. A key that
//! would set 2 bits costs 2000·2·0.5·2/512 = 7.8, of which 25 % is 2.0. With one repeat per new
//! key, a key of importance 2 is admitted and one of importance 1 is not.
//!
//! **Source.** Ours. Blocking: Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom
//! Filters", 2007. Weighing the importance of keys: Boraskar, 2010, whose filters spend the memory
//! on an index; docs/IMPORTANCE.md compares them.

use super::cache_lines::{
    CACHE_LINE_BITS, CACHE_LINE_BYTES, CacheLines, all_set, bit_positions, ones,
};
use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::union::unite_bits;
use super::{
    BuildError, CellLayout, Evidence, EvidenceCell, Filter, FilterSpec, Observation, Registers,
    Verdict,
};
use crate::bytes::{bit, count_ones, set_bit};
use crate::fingerprint::{Fingerprint, Probes};
use crate::region::Region;
use crate::rng::Generator;

/// The own register with the importance of all New keys.
const NEW_WEIGHT: usize = 0;
/// The own register with the number of New keys.
const NEW: usize = 1;
/// The own register with the sum of the false positive rates of all cache lines, in units of
/// 2^−30. Admission evens out the loads of lines, so the rate does not follow from the mean load.
const RATES: usize = 2;
/// Powers of a load are in units of 2^−16.
const ONE: u64 = 1 << 16;
/// Rates are in units of 2^−30: the sum over a tebibyte of cache lines fits into a register.
const CERTAIN: u64 = 1 << 30;

/// The geometry of a blocked Bloom filter with admission.
#[derive(Clone, Debug)]
pub struct Admit {
    k: u32,
    cost_percent: u64,
    lines: CacheLines,
}

impl Admit {
    #[inline(always)]
    fn bits(&self, mut probes: Probes) -> impl Iterator<Item = u64> {
        bit_positions(self.k, move || probes.next_bits())
    }

    /// Returns the false positive rate of a cache line, in units of 2^−30.
    #[inline(always)]
    fn line_rate(&self, line: &[u8]) -> u64 {
        let load = u64::from(ones(line));
        (0..self.k).fold(CERTAIN, |rate, _| rate * load / CACHE_LINE_BITS)
    }

    /// Whether a new key of this importance is worth remembering in a cache line.
    #[inline(always)]
    fn is_admitted(
        &self,
        line: &[u8],
        probes: Probes,
        registers: &Registers,
        importance: u64,
    ) -> bool {
        let load = u64::from(ones(line));
        let power = (1..self.k).fold(ONE, |power, _| power * load / CACHE_LINE_BITS);
        let fresh = self.bits(probes).filter(|&at| !bit(line, at)).count() as u64;
        let (weight, new) = (registers.own()[NEW_WEIGHT], registers.own()[NEW]);
        let seen = registers.observations().saturating_sub(new);
        let product = |factors: [u64; 6]| {
            let factors = factors.iter().copied().map(u128::from);
            factors.fold(1, u128::saturating_mul)
        };
        let lines_bits = self.lines.count() * CACHE_LINE_BITS;
        let gain = product([importance, seen + 1, lines_bits, 100, ONE, 1]);
        let cost = product([
            self.cost_percent,
            weight,
            self.k.into(),
            fresh,
            power,
            new + 1,
        ]);
        gain >= cost
    }
}

impl Filter for Admit {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "admit",
        title: "Blocked Bloom filter with admission",
        summary: "Sets k bits for each key, all in one cache line, unless the false positives \
                  that they would cause weigh more than the key.",
        promise: "A key that was admitted is never forgotten; keys that were not admitted are the \
                  least important ones, and the false positive rate stays bounded.",
        choose_when: "Some keys matter more than others, and there are fewer than four bits for \
                      each distinct key.",
        errors: PossibleErrors::Both,
        needs: Needs {
            tick: false,
            importance: true,
        },
        origin: Origin::Ours,
        source: Citation::BORASKAR_2010,
        advised_because: "the memory is scarce, and it remembers only keys that are worth it",
        drawing: Drawing {
            before: &["#.x..#.x", "##x#.##x"],
            after: &["#.#..#.#", "##.#.##."],
            caption: "All bits of a key are in one cache line. An unimportant key sets them in a \
                      line that is nearly empty, and leaves a fuller one unchanged.",
        },
        parameters: &[
            Parameter::integer("k", "bits set for each key", 1..=32, 3),
            Parameter::integer(
                "cost",
                "percentage of its expected false positives that a key must be worth; 0 admits all",
                0..=1000,
                25,
            ),
        ],
    };

    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(Admit {
            k: spec.integer("k") as u32,
            cost_percent: spec.integer("cost"),
            lines: CacheLines::fitting(spec, memory_bits)?,
        })
    }

    fn region_bytes(&self) -> u64 {
        self.lines.bytes()
    }

    fn cells(&self) -> u64 {
        self.lines.count() * CACHE_LINE_BITS
    }

    fn recount(&self, region: &[u8]) -> u64 {
        count_ones(region, 0..self.cells())
    }

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        let certain = CERTAIN as f64 * self.lines.count() as f64;
        (registers.own()[RATES] as f64 / certain).min(1.0)
    }

    /// If every key is admitted, none is missed.
    fn possible_errors(&self) -> PossibleErrors {
        match self.cost_percent {
            0 => PossibleErrors::FalsePositives,
            _ => PossibleErrors::Both,
        }
    }

    fn cache_lines_touched(&self) -> u32 {
        1
    }

    fn observe_reads_only_evidence(&self) -> bool {
        true
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
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
        let (at, probes) = self.lines.locate(observation.fingerprint);
        let range = at..at + CACHE_LINE_BYTES;
        if all_set(&region.bytes()[range.clone()], self.bits(probes.clone())) {
            return Verdict::Seen;
        }
        let importance = u64::from(observation.importance.max(1));
        // Declared before the whole line is read.
        let line = region.bytes_mut(range);
        if self.is_admitted(line, probes.clone(), registers, importance) {
            let before = self.line_rate(line);
            let set = self.bits(probes).filter(|&at| set_bit(line, at)).count();
            *registers.occupied_mut() += set as u64;
            let rates = &mut registers.own_mut()[RATES];
            *rates = rates
                .wrapping_add(self.line_rate(line))
                .wrapping_sub(before);
        }
        let own = registers.own_mut();
        own[NEW_WEIGHT] = own[NEW_WEIGHT].saturating_add(importance);
        own[NEW] += 1;
        Verdict::New
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (at, probes) = self.lines.locate(fingerprint);
        let line = &region[at..at + CACHE_LINE_BYTES];
        Verdict::seen_if(all_set(line, self.bits(probes)))
    }

    /// Takes the union of the bits, so that every key of either filter is reported as Seen. What new
    /// keys weigh is what they weighed in both.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        unite_bits(self, region, registers, other, other_registers);
        let lines = region.chunks_exact(CACHE_LINE_BYTES);
        let rates = lines.map(|line| self.line_rate(line)).sum();
        let (own, others) = (registers.own_mut(), other_registers.own());
        own[NEW_WEIGHT] = own[NEW_WEIGHT].saturating_add(others[NEW_WEIGHT]);
        own[NEW] += others[NEW];
        own[RATES] = rates;
        Ok(())
    }

    fn cell_layout(&self) -> CellLayout {
        CellLayout {
            row: "cache line",
            ..CellLayout::of_bits(CACHE_LINE_BITS, "not set, because it was not worth it")
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(bit(region, index))
    }

    fn evidence(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Evidence {
        let (at, probes) = self.lines.locate(fingerprint);
        let bits = self.bits(probes).map(|bit| 8 * at as u64 + bit);
        let mut cells = bits.map(|bit| EvidenceCell::read("bit", bit, bit, 1, region));
        Evidence::all_in_use((at / CACHE_LINE_BYTES) as u64, &mut cells)
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.lines.prefetch(region, fingerprint);
    }
}
