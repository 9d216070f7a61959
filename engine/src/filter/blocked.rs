//! The blocked Bloom filter with a load cap: all bits of a key are in one cache line.
//!
//! **Guarantee.** The false positive rate stays below about cap^k, however long the stream is.
//! There are no false negatives until a cache line reaches the cap. Beyond the cap the line
//! clears as many random bits as the next key needs. With `cap=100` it never clears a bit and is
//! the plain blocked Bloom filter.
//!
//! **When to use it.** There are at least four bits for each distinct key. It then has fewer
//! errors than the filters of the papers on streams, and touches one cache line per key.
//!
//! **How it works.** With cache lines of eight bits, k = 2 and cap = 50: key `a` belongs to line 3
//! and has its bits 1 and 6. One of them is clear, so `a` is New. The line has five bits set,
//! more than half, so two random bits are cleared, whether they are set or not, say 0 and 4. Then
//! 1 and 6 are set. A line with four set bits or fewer clears nothing.
//!
//! **Papers.** Blocking: Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom
//! Filters", 2007. Clearing k random bits per insertion: Bera et al., 2012.
//!
//! **Departure.** Bera et al. clear bits at every insertion. The cap is ours; below it nothing is
//! forgotten.

use super::cache_lines::{
    CACHE_LINE_BITS, CACHE_LINE_BYTES, CacheLines, all_set, bit_positions, numbers_needed, ones,
};
use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::union::unite_bits;
use super::{
    BuildError, CellLayout, Evidence, EvidenceCell, Filter, FilterSpec, Observation, Registers,
    Rows, Verdict,
};
use crate::bytes::{bit, clear_bit, count_ones, set_bit};
use crate::fingerprint::{Fingerprint, Probes};
use crate::region::Region;
use crate::rng::Generator;
#[cfg(target_arch = "x86_64")]
use crate::simd::LineVectors;
use crate::simd::Vectors;

/// The geometry of a blocked Bloom filter.
#[derive(Clone, Debug)]
pub struct Blocked {
    k: u32,
    cap_percent: u32,
    /// A cache line with more set bits than this clears some before it takes a key.
    cap_bits: u32,
    lines: CacheLines,
    vectors: Vectors,
}

impl Blocked {
    /// Returns the number of bits per key.
    pub(crate) fn k(&self) -> u32 {
        self.k
    }

    /// Returns the cap, in percent of a cache line's bits.
    pub(crate) fn cap_percent(&self) -> u32 {
        self.cap_percent
    }

    /// Returns the number of cache lines.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.count()
    }

    #[inline(always)]
    fn is_seen(&self, line: &[u8], mut probes: Probes) -> bool {
        all_set(line, bit_positions(self.k, || probes.next_bits()))
    }

    /// Clears bits if the line is beyond the cap, then sets the key's bits. Returns the change of
    /// the number of set bits.
    #[inline(always)]
    fn insert(&self, line: &mut [u8], mut probes: Probes, generator: Generator) -> i64 {
        let mut change = 0;
        if u64::from(self.cap_bits) < CACHE_LINE_BITS && ones(line) > self.cap_bits {
            let mut draws = (0..).map(|index| generator.draw(index));
            for at in bit_positions(self.k, || draws.next().unwrap_or(0)) {
                change -= i64::from(clear_bit(line, at));
            }
        }
        for at in bit_positions(self.k, || probes.next_bits()) {
            change += i64::from(set_bit(line, at));
        }
        change
    }

    /// Observes a key whose cache line is at a byte offset.
    #[inline(always)]
    fn observe_line<R: Region + ?Sized>(
        &self,
        region: &mut R,
        at: usize,
        occupied: &mut u64,
        probes: Probes,
        generator: Generator,
    ) -> Verdict {
        let range = at..at + CACHE_LINE_BYTES;
        if self.is_seen(&region.bytes()[range.clone()], probes.clone()) {
            return Verdict::Seen;
        }
        let change = self.insert(region.bytes_mut(range), probes, generator);
        *occupied = occupied.wrapping_add_signed(change);
        Verdict::New
    }

    /// Does the same as [`observe_line`](Blocked::observe_line), with the whole line in registers.
    /// In plain memory a Seen key writes its line unchanged: no branch depends on the verdict, and
    /// the branch for lines beyond the cap is rarely mispredicted.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn observe_vector<V: LineVectors, R: Region + ?Sized>(
        &self,
        vectors: V,
        region: &mut R,
        at: usize,
        occupied: &mut u64,
        mut probes: Probes,
        generator: Generator,
    ) -> Verdict {
        let range = at..at + CACHE_LINE_BYTES;
        let key = vectors.bits(self.k, || probes.next_bits());
        let Some(line) = region.bytes()[range.clone()].as_array() else {
            return Verdict::New;
        };
        let before = vectors.load(line);
        let added = vectors.count(vectors.without(key, before));
        if added == 0 && region.untracked().is_none() {
            return Verdict::Seen;
        }
        let ones = vectors.count(before);
        let mut after = vectors.or(before, key);
        *occupied += u64::from(added);
        // One comparison for both conditions: the line is beyond the cap, and the key is new.
        let new = u32::from(added != 0) << u16::BITS;
        if new | ones > (1 << u16::BITS) | self.cap_bits {
            let mut draws = (0..).map(|index| generator.draw(index));
            let cleared = vectors.bits(self.k, || draws.next().unwrap_or(0));
            after = vectors.or(vectors.without(before, cleared), key);
            *occupied =
                (*occupied + u64::from(vectors.count(after))).wrapping_sub(u64::from(ones + added));
        }
        if let Some(line) = region.bytes_mut(range).as_mut_array() {
            vectors.store(after, line);
        }
        Verdict::seen_if(added == 0)
    }
}

impl Filter for Blocked {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "blocked",
        title: "Blocked Bloom filter with a load cap",
        summary: "Sets k bits for each key, all in one cache line; a cache line that is fuller \
                  than the cap first clears random bits.",
        promise: "There are no false negatives while the cache lines are below the cap; the false \
                  positive rate always stays below about cap^k.",
        choose_when: "There are at least four bits for each distinct key, or speed matters most.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::Ours,
        source: Citation {
            authors: "F. Putze, P. Sanders, J. Singler",
            title: "Cache-, Hash- and Space-Efficient Bloom Filters",
            year: 2007,
        },
        advised_because: "a blocked Bloom filter makes about the fewest errors in this memory \
                          and is the fastest, with one cache line per key; it forgets some keys where a cache \
                          line is too full",
        drawing: Drawing {
            before: &["#.#..#..", "##.#.##.", ".#......"],
            after: &["#.#..#..", ".###..##", ".#......"],
            caption: "All bits of a key are in one cache line. A line that is fuller than the cap \
                      first clears as many random bits as the key needs.",
        },
        parameters: &[
            Parameter::integer("k", "bits set for each key", 1..=32, 6),
            Parameter::integer(
                "cap",
                "percentage of a cache line's bits above which it forgets; 100 means never",
                1..=100,
                85,
            ),
        ],
    };

    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let cap = spec.integer("cap");
        Ok(Blocked {
            k: spec.integer("k") as u32,
            cap_percent: cap as u32,
            cap_bits: (cap * CACHE_LINE_BITS / 100) as u32,
            lines: CacheLines::fitting(spec, memory_bits)?,
            vectors: Vectors::Portable,
        })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        // The default, and the k of the published benchmarks.
        [6, 4].map(|k| (self.k == k).then_some(Blocked { k, ..*self }))
    }

    #[inline(always)]
    fn uses_vectors(&self) -> bool {
        true
    }

    #[inline(always)]
    fn with_vectors(&self, vectors: Vectors) -> Self {
        Blocked { vectors, ..*self }
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

    /// Some cache lines have more keys than others, and more false positives. The number of keys
    /// per line is taken to be Poisson distributed, with the mean that explains the load.
    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        let load = registers.occupied() as f64 / self.cells() as f64;
        let cap = f64::from(self.cap_bits) / CACHE_LINE_BITS as f64;
        let kept = libm::pow(1.0 - 1.0 / CACHE_LINE_BITS as f64, f64::from(self.k));
        let mean = -libm::log(1.0 - load) / (1.0 - kept);
        // Lines at the cap all have the same load, and so, nearly, do lines with many keys.
        if load >= cap || mean > 600.0 {
            return libm::pow(load, f64::from(self.k));
        }
        let exponent = self.k as i32;
        let most = (mean + 12.0 * libm::sqrt(mean) + 12.0) as u32;
        let mut share = libm::exp(-mean);
        let mut clear = 1.0;
        let mut rate = 0.0;
        for keys in 0..=most {
            rate += share * (1.0f64 - clear).min(cap).powi(exponent);
            share *= mean / f64::from(keys + 1);
            clear *= kept;
        }
        // Near the cap the number of keys no longer explains the load. A mean of powers is at
        // least the power of the mean.
        rate.max(load.powi(exponent)).clamp(0.0, 1.0)
    }

    /// Without a cap, no bit is ever cleared.
    fn possible_errors(&self) -> PossibleErrors {
        match u64::from(self.cap_bits) < CACHE_LINE_BITS {
            true => PossibleErrors::Both,
            false => PossibleErrors::FalsePositives,
        }
    }

    /// A line that ever cleared bits had more than `cap_bits` then, and clears at most k at a time.
    fn may_have_forgotten(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> bool {
        let (at, _) = self.lines.locate(fingerprint);
        ones(&region[at..at + CACHE_LINE_BYTES]) + self.k > self.cap_bits
            && u64::from(self.cap_bits) < CACHE_LINE_BITS
    }

    /// With a lower cap the load settles by itself.
    fn comfortable_load(&self) -> Option<f64> {
        (self.cap_percent > 50).then_some(0.5)
    }

    fn cache_lines_touched(&self) -> u32 {
        1
    }

    fn draws(&self) -> u64 {
        numbers_needed(self.k)
    }

    fn observe_reads_only_evidence(&self) -> bool {
        true
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        true
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
        generator: Generator,
        observation: Observation,
    ) -> Verdict {
        let lines = self.lines.starting_at(first_row);
        let (at, probes) = lines.locate(observation.fingerprint);
        let occupied = registers.occupied_mut();
        match self.vectors {
            Vectors::Portable => self.observe_line(region, at, occupied, probes, generator),
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx2(vectors) => {
                self.observe_vector(vectors, region, at, occupied, probes, generator)
            }
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx512(vectors) => {
                self.observe_vector(vectors, region, at, occupied, probes, generator)
            }
        }
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (at, probes) = self.lines.locate(fingerprint);
        Verdict::seen_if(self.is_seen(&region[at..at + CACHE_LINE_BYTES], probes))
    }

    fn cell_layout(&self) -> CellLayout {
        CellLayout {
            row: "cache line",
            ..CellLayout::of_bits(CACHE_LINE_BITS, "cleared for newer keys")
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(bit(region, index))
    }

    fn evidence(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Evidence {
        let (at, mut probes) = self.lines.locate(fingerprint);
        let bits = bit_positions(self.k, || probes.next_bits()).map(|bit| 8 * at as u64 + bit);
        let mut cells = bits.map(|bit| EvidenceCell::read("bit", bit, bit, 1, region));
        Evidence::all_in_use((at / CACHE_LINE_BYTES) as u64, &mut cells)
    }

    /// Takes the union of the bits, so that every key of either filter is reported as Seen. A
    /// cache line may be fuller than the cap afterwards: the next keys clear bits of it.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        unite_bits(self, region, registers, other, other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.lines.prefetch(region, fingerprint);
    }
}

#[cfg(test)]
mod tests {
    use super::super::DEFAULT_FILTER;
    use super::super::batch::observe_one;
    use super::*;
    use crate::fingerprint::KeyHasher;

    #[test]
    fn the_default_filter_is_blocked_with_its_default_parameters() {
        let named: FilterSpec = "blocked".parse().expect("a filter");
        assert_eq!(DEFAULT_FILTER.parse(), Ok(named));
        assert_eq!(DEFAULT_FILTER, "blocked:k=6,cap=85");
    }

    /// All forms give the same bytes, verdicts and registers, below the cap and beyond it.
    #[test]
    fn all_vectors_compute_the_same() {
        let hasher = KeyHasher::new(8);
        let keys: Vec<Observation> = (0..20_000u64)
            .map(|i| hasher.fingerprint(&(i * i % 7919).to_le_bytes()).into())
            .collect();
        for text in [
            "k=1,cap=1",
            "k=4,cap=70",
            "k=6,cap=85",
            "k=7,cap=100",
            "k=15",
            "k=32,cap=50",
        ] {
            let spec: FilterSpec = format!("blocked:{text}").parse().expect("a filter");
            let filter = Blocked::build(&spec, 40 * 512).expect("enough memory");
            let run = |vectors: Vectors| {
                let filter = filter.with_vectors(vectors);
                let mut region = vec![0; filter.region_bytes() as usize];
                let mut registers = Registers::new(1);
                let verdicts: Vec<Verdict> = keys
                    .iter()
                    .map(|&key| observe_one(&filter, &mut region[..], &mut registers, key))
                    .collect();
                assert_eq!(registers.occupied(), filter.recount(&region), "{text}");
                (verdicts, region, registers)
            };
            let expected = run(Vectors::Portable);
            for vectors in Vectors::all_detected() {
                assert!(run(vectors) == expected, "{text}, {vectors:?}");
            }
        }
    }
}
