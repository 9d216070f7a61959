//! Cache lines of fingerprints with the step in which each was stored.
//!
//! **Guarantee.** The false positive rate is at most entries ÷ 2^bits, below 1 in 100 with the
//! defaults, on any stream. A key is reported as Seen until its span has passed, unless its cache
//! line has received as many newer keys as it has entries. It is forgotten at most one step after
//! its span.
//!
//! **When to use it.** Keys must come again after some time, memory is scarce, and a few repeats
//! within the window are acceptable. It takes about half the memory of `window`, and an
//! observation touches one cache line.
//!
//! **How it works.** A key has a cache line and a fingerprint. With three entries per line, a window
//! of three steps and the line `a5 b7 c6`: in step 7, `d` finds no entry with its fingerprint, so it
//! is New. No entry is empty or expired, so it replaces the oldest one: `d7 b7 c6`. Now `a` has
//! been forgotten too early. In step 9, `c` is three steps old, so it has expired, and `c` is New
//! again. A key that is Seen changes nothing.
//!
//! **Source.** Ours. Fingerprints in buckets of one cache line, as in the cuckoo filter of Fan,
//! Andersen, Kaminsky and Mitzenmacher, 2014, without moving them; the oldest is replaced, as in
//! the buffering of Deng and Rafiei, 2006.

use super::cache_lines::{CACHE_LINE_BYTES, CacheLines};
use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::evidence::Requirement;
use super::parameter::Parameter;
use super::stamp_sweep::{self, ExpiredStamps, sweep_lines};
use super::stamps::{StampWindow, Stamps};
use super::window_clock::WindowClock;
use super::window_registers::WindowRegisters;
use super::window_union::{Alignment, StampRanks};
use super::{
    BuildError, CellLayout, Evidence, EvidenceCell, Filter, FilterSpec, Observation, Registers,
    Verdict,
};
use crate::bytes::{read_u64, write_u64};
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;

const WORDS: usize = CACHE_LINE_BYTES / 8;

/// The geometry of the filter.
#[derive(Clone, Copy, Debug)]
pub struct Stamped {
    clock: WindowClock,
    lines: CacheLines,
    stamps: Stamps,
    /// The number of bits of a fingerprint.
    bits: u32,
    /// The number of entries in a word. An entry is a stamp, and above it a fingerprint.
    per_word: u32,
    /// The lowest bit of each entry of a word.
    lowest: u64,
}

impl Stamped {
    /// Returns the number of cache lines.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.count()
    }

    /// Returns the number of entries in a cache line.
    pub(crate) fn entries(&self) -> u64 {
        WORDS as u64 * u64::from(self.per_word)
    }

    /// Returns the number of values of a fingerprint.
    pub(crate) fn values(&self) -> u64 {
        1 << self.bits
    }

    fn entry_bits(&self) -> u32 {
        self.bits + self.stamps.width_bits()
    }

    /// Returns the offset of a key's cache line, and the key's fingerprint.
    #[inline(always)]
    fn locate(&self, fingerprint: Fingerprint) -> (usize, u64) {
        let (at, mut probes) = self.lines.locate(fingerprint);
        (at, probes.next_bits() >> (u64::BITS - self.bits))
    }

    /// Whether a cache line holds a fingerprint with a stamp in the window.
    #[inline(always)]
    fn holds(&self, line: &[u8], value: u64, window: StampWindow) -> bool {
        let stamp_bits = self.stamps.width_bits();
        let pattern = self.lowest.wrapping_mul(value << stamp_bits);
        let top = self.lowest << (self.entry_bits() - 1);
        // The bits of each fingerprint but the top one.
        let low = top - (self.lowest << stamp_bits);
        let mut matches = [0; WORDS];
        for (matches, word) in matches.iter_mut().zip(line.chunks_exact(8)) {
            let differing = read_u64(word, 0) ^ pattern;
            *matches = top & !(((differing & low) + low) | differing);
        }
        matches.iter().fold(0, |any, one| any | one) != 0
            && self.is_match_in_window(line, matches, window)
    }

    /// Whether one of the matching entries, given by their top bits, has a stamp in the window.
    fn is_match_in_window(&self, line: &[u8], matches: [u64; WORDS], window: StampWindow) -> bool {
        let lowest_bit = self.entry_bits() - 1;
        let words = line.chunks_exact(8).zip(matches);
        words.into_iter().any(|(word, mut matches)| {
            let word = read_u64(word, 0);
            let mut is_held = false;
            while matches != 0 {
                let entry = word >> (matches.trailing_zeros() - lowest_bit);
                is_held |= window.contains(entry & self.stamps.max_value());
                matches &= matches - 1;
            }
            is_held
        })
    }

    /// Returns the word and the first bit in it of the entry that a new key takes: an empty one,
    /// or else the oldest; among those of the same age, the one with the largest fingerprint.
    #[inline(always)]
    fn entry_to_take(&self, line: &[u8], window: StampWindow) -> (usize, u32) {
        let top = self.lowest << (self.stamps.width_bits() - 1);
        let low = top - self.lowest;
        for (index, word) in line.chunks_exact(8).enumerate() {
            let stamps = read_u64(word, 0) & (low | top);
            let empty = top & !(((stamps & low) + low) | stamps);
            if empty != 0 {
                let bit = empty.trailing_zeros() + 1 - self.stamps.width_bits();
                return (8 * index, bit);
            }
        }
        self.oldest_entry(line, window)
    }

    #[cold]
    fn oldest_entry(&self, line: &[u8], window: StampWindow) -> (usize, u32) {
        let stamp_bits = self.stamps.width_bits();
        let entries = (0..WORDS).flat_map(|word| (0..self.per_word).map(move |i| (8 * word, i)));
        let places = entries.map(|(word, i)| (word, i * self.entry_bits()));
        let rank = |&(word, shift): &(usize, u32)| {
            let entry = read_u64(line, word) >> shift;
            let age = window.age(entry & self.stamps.max_value());
            (age, entry >> stamp_bits & (self.values() - 1))
        };
        places.max_by_key(rank).unwrap_or((0, 0))
    }

    /// Returns where the entries of a cache line are: the offset of a word, and the first bit in it.
    fn places(&self) -> impl Iterator<Item = (usize, u32)> + use<> {
        let (per_word, entry_bits) = (self.per_word, self.entry_bits());
        (0..WORDS).flat_map(move |word| (0..per_word).map(move |i| (8 * word, i * entry_bits)))
    }

    fn entry_at(&self, line: &[u8], (word, shift): (usize, u32)) -> u64 {
        read_u64(line, word) >> shift & (u64::MAX >> (u64::BITS - self.entry_bits()))
    }

    fn set_entry(&self, line: &mut [u8], (word, shift): (usize, u32), entry: u64) {
        let before = self.entry_at(line, (word, shift));
        let changed = read_u64(line, word) ^ ((before ^ entry) << shift);
        write_u64(line, word, changed);
    }

    fn window_at(&self, registers: &Registers) -> StampWindow {
        self.stamps.window_at(registers, self.clock.now(registers))
    }

    fn entry(&self, region: &[u8], index: u64) -> EvidenceCell {
        let (word, field) = (
            index / u64::from(self.per_word),
            index % u64::from(self.per_word),
        );
        let offset_bits = 64 * word + field * u64::from(self.entry_bits());
        EvidenceCell::read("entry", index, offset_bits, self.entry_bits(), region)
    }

    /// Returns the number of live entries in a cache line if so many keys are in the window. The
    /// number of keys per line is taken to be Poisson distributed.
    pub(crate) fn live_entries(&self, keys: f64) -> f64 {
        let mean = keys / self.lines.count() as f64;
        let entries = self.entries();
        // Far above the number of entries, all lines are full.
        if mean > 4.0 * entries as f64 {
            return entries as f64;
        }
        let (mut share, mut live, mut rest) = (libm::exp(-mean), 0.0, 1.0);
        for count in 0..entries {
            live += share * count as f64;
            rest -= share;
            share *= mean / (count + 1) as f64;
        }
        live + rest.max(0.0) * entries as f64
    }
}

impl Filter for Stamped {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "stamped",
        title: "Cache lines of stamped fingerprints",
        summary: "Stores for each key a fingerprint and the step in which the key was New, in one \
                  cache line, and forgets it after a span of time.",
        promise: "The false positive rate has an upper bound on any stream; a key is reported as \
                  Seen until its span has passed since it was last New, unless its cache line is \
                  full of newer keys, and is forgotten within one step after that.",
        choose_when: "Keys must come again after a time, memory is scarce, and a few repeats \
                      within the window are acceptable.",
        errors: PossibleErrors::Both,
        needs: Needs {
            tick: true,
            importance: false,
        },
        origin: Origin::Ours,
        source: Citation {
            authors: "B. Fan, D. G. Andersen, M. Kaminsky, M. D. Mitzenmacher",
            title: "Cuckoo Filter: Practically Better Than Bloom",
            year: 2014,
        },
        advised_because: "a fingerprint with a step takes less memory than k timers",
        drawing: Drawing {
            before: &["abcd", "efgh"],
            after: &["abcd", "exgh"],
            caption: "Each entry is a fingerprint with the step in which it was stored. The new \
                      one takes an empty or expired entry of its cache line or, if there is none, \
                      the oldest one, here f.",
        },
        parameters: &[
            Parameter::integer("bits", "bits per fingerprint", 4..=32, 12),
            WindowClock::SPAN,
            WindowClock::STEP,
            WindowClock::CLOCK,
        ],
    };

    const FORGETS: bool = true;
    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let clock = WindowClock::of(spec)?;
        let stamps = Stamps::new(spec, &clock)?;
        let bits = spec.integer("bits") as u32;
        let entry_bits = bits + stamps.width_bits();
        let per_word = u64::BITS / entry_bits;
        Ok(Stamped {
            clock,
            lines: CacheLines::fitting(spec, memory_bits)?,
            stamps,
            bits,
            per_word,
            lowest: (0..per_word).map(|i| 1 << (i * entry_bits)).sum(),
        })
    }

    fn accepts(&self, registers: &Registers) -> bool {
        let now = self.clock.now(registers);
        let values = self.stamps.max_value();
        WindowRegisters::are_possible(registers, now, values, self.lines.count())
    }

    fn region_bytes(&self) -> u64 {
        self.lines.bytes()
    }

    fn cells(&self) -> u64 {
        self.lines.count() * self.entries()
    }

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        let now = self.clock.now(registers);
        let keys = WindowRegisters::in_window(registers, self.clock.age_limit(), now);
        (self.live_entries(keys) / self.values() as f64).min(1.0)
    }

    fn window(&self) -> Option<&WindowClock> {
        Some(&self.clock)
    }

    fn cache_lines_touched(&self) -> u32 {
        1
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
        let (at, value) = self.locate(observation.fingerprint);
        let now = self.clock.now(registers);
        let window = self.stamps.window_at(registers, now);
        if self.holds(&region.bytes()[at..at + CACHE_LINE_BYTES], value, window) {
            return Verdict::Seen;
        }
        let sweep = |registers: &mut Registers, due, window| {
            let entry_bits = self.entry_bits();
            let expired = ExpiredStamps::of(window, self.stamps.width_bits(), entry_bits);
            *registers.occupied_mut() -= sweep_lines(region, due, expired);
        };
        stamp_sweep::advance(&self.stamps, registers, self.lines.count(), now, sweep);
        let window = self.stamps.window_at(registers, now);
        let line = region.bytes_mut(at..at + CACHE_LINE_BYTES);
        let (word, shift) = self.entry_to_take(line, window);
        let entries = read_u64(line, word);
        let all = u64::MAX >> (u64::BITS - self.entry_bits());
        let before = entries >> shift & all;
        let after = value << self.stamps.width_bits() | self.stamps.base_value(registers);
        write_u64(line, word, entries ^ ((before ^ after) << shift));
        *registers.occupied_mut() += u64::from(before == 0);
        WindowRegisters::count_delivery(registers);
        Verdict::New
    }

    fn contains(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (at, value) = self.locate(fingerprint);
        let line = &region[at..at + CACHE_LINE_BYTES];
        Verdict::seen_if(self.holds(line, value, self.window_at(registers)))
    }

    fn cell_layout(&self) -> CellLayout {
        CellLayout {
            cell: "entry",
            content: "fingerprint",
            row: "cache line",
            row_cells: self.entries(),
            max_value: u64::MAX >> (u64::BITS - self.entry_bits()),
            loss: "pushed out of its cache line by newer keys",
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        self.entry(region, index).value
    }

    fn evidence(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Evidence {
        let (at, value) = self.locate(fingerprint);
        let row = (at / CACHE_LINE_BYTES) as u64;
        let entries = row * self.entries()..(row + 1) * self.entries();
        Evidence {
            row,
            required: Requirement::Stamped {
                fingerprint: value,
                stamp_bits: self.stamps.width_bits(),
                window: self.window_at(registers),
            },
            equal: 1,
            links: Vec::new(),
            alternatives: entries
                .map(|index| vec![self.entry(region, index)])
                .collect(),
        }
    }

    /// Empties every entry with the key's fingerprint. Every key with the same fingerprint goes with
    /// it.
    fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        let (at, value) = self.locate(fingerprint);
        let window = self.window_at(registers);
        if !self.holds(&region.bytes()[at..at + CACHE_LINE_BYTES], value, window) {
            return Verdict::New;
        }
        let line = region.bytes_mut(at..at + CACHE_LINE_BYTES);
        for place in self.places() {
            let entry = self.entry_at(line, place);
            if entry & self.stamps.max_value() != 0 && entry >> self.stamps.width_bits() == value {
                self.set_entry(line, place, 0);
                *registers.occupied_mut() -= 1;
            }
        }
        Verdict::Seen
    }

    /// Unites the entries of each cache line, moved to one clock; of equal fingerprints the later
    /// one. If there are more than places, the oldest ones are lost.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        let alignment = Alignment::of(&self.clock, registers, other_registers);
        let both = [&*registers, other_registers];
        let ranks = StampRanks::new(&self.stamps, alignment, both);
        let (stamp_bits, max) = (self.stamps.width_bits(), self.stamps.max_value());
        let (mut entries, mut occupied) = (Vec::new(), 0);
        let lines = region.chunks_exact_mut(CACHE_LINE_BYTES);
        for (line, other) in lines.zip(other.chunks_exact(CACHE_LINE_BYTES)) {
            entries.clear();
            for (filter, line) in [&*line, other].into_iter().enumerate() {
                let held = self.places().map(|place| self.entry_at(line, place));
                entries.extend(
                    held.map(|entry| (ranks.rank(filter, entry & max), entry >> stamp_bits)),
                );
            }
            // The latest first; among those of the same age the smallest fingerprint, as when an
            // entry is replaced.
            entries.retain(|&(rank, _)| rank > 0);
            entries.sort_unstable_by_key(|&(rank, value)| (std::cmp::Reverse(rank), value));
            let mut known = std::collections::BTreeSet::new();
            entries.retain(|&(_, value)| known.insert(value));
            entries.truncate(self.entries() as usize);
            occupied += entries.len() as u64;
            line.fill(0);
            for (place, &(rank, value)) in self.places().zip(&entries) {
                self.set_entry(line, place, value << stamp_bits | ranks.stamp(rank));
            }
        }
        *registers.occupied_mut() = occupied;
        self.stamps.unite(registers, other_registers, alignment);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.lines.prefetch(region, fingerprint);
    }
}

#[cfg(test)]
mod tests {
    use crate::SeenSet;

    #[test]
    fn the_estimated_rate_is_the_measured_one() {
        for filter in [
            "stamped:bits=8,span=3000,clock=count",
            "stamped:bits=6,span=9000,clock=deliveries",
        ] {
            let builder = SeenSet::builder(filter).expect("a filter");
            let mut set = builder.memory_bits(80_000).build().expect("enough memory");
            let (mut estimated, mut seen) = (0.0, 0.0);
            for key in 0..60_000u64 {
                estimated += set.false_positive_rate();
                seen += f64::from(u8::from(set.observe(key.to_le_bytes()).is_seen()));
            }
            assert!(
                (seen - estimated).abs() < 4.0 * f64::sqrt(seen) + 0.01 * seen,
                "{filter}: {seen}, {estimated}"
            );
        }
    }

    /// The keys of a cache line are forgotten in the order in which they came.
    #[test]
    fn a_full_cache_line_forgets_its_oldest_keys() {
        let builder = SeenSet::builder("stamped:bits=28,span=1000,step=1,clock=deliveries");
        let mut set = builder
            .expect("a filter")
            .memory_bits(512)
            .build()
            .expect("a line");
        assert_eq!(set.filter().cells(), 8);
        for key in 0..8u64 {
            assert!(set.observe(key.to_le_bytes()).is_new());
        }
        assert!((0..8u64).all(|key| set.contains(key.to_le_bytes()).is_seen()));
        for key in 8..11u64 {
            assert!(set.observe(key.to_le_bytes()).is_new());
        }
        let seen = (0..11u64).filter(|key| set.contains(key.to_le_bytes()).is_seen());
        assert_eq!(seen.collect::<Vec<_>>(), (3..11).collect::<Vec<_>>());
    }
}
