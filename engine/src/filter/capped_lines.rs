//! Cache lines of bits with a cap on their load. All bits of a key are in one cache line; which
//! they are is a [`Places`].
//!
//! A line that has more set bits than the cap clears as many random bits as the next new key has,
//! before it takes the key. [`Blocked`](super::Blocked) describes it with an example.

use std::fmt::Debug;
use std::marker::PhantomData;

use super::cache_lines::{CACHE_LINE_BITS, CACHE_LINE_BYTES, CacheLines, all_set, ones};
use super::descriptor::{Descriptor, PossibleErrors};
use super::union::unite_bits;
use super::{
    BuildError, CellLayout, Evidence, EvidenceCell, Filter, FilterSpec, Observation, Registers,
    Rows, Verdict,
};
use crate::bytes::{bit, clear_bit, count_ones, set_bit};
use crate::fingerprint::{Fingerprint, Probes};
use crate::region::Region;
use crate::rng::Generator;
use crate::simd::{LineVectors, Vectors, match_vectors};

/// Which bits of a cache line belong to a key, and what the filter is called.
pub trait Places: Copy + Debug + 'static {
    /// The description of the filter.
    const DESCRIPTOR: Descriptor;

    /// The numbers of bits per key for which the loop over a batch is compiled once more.
    const USUAL_K: [u32; 2];

    /// Returns how many 64-bit numbers `k` positions are cut from.
    fn numbers_needed(k: u32) -> u64;

    /// Returns `k` positions in a cache line.
    fn positions(k: u32, next_number: impl FnMut() -> u64) -> impl Iterator<Item = u64>;

    /// Returns the bits at these positions.
    fn bits<V: LineVectors>(vectors: V, k: u32, next_number: impl FnMut() -> u64) -> V::Bits;

    /// Counts bits of one key.
    fn count<V: LineVectors>(vectors: V, bits: V::Bits) -> u32;

    /// Returns the probability that a key has not a given bit of its cache line.
    fn leaves_bit(k: u32) -> f64;
}

/// The geometry of a Bloom filter with the bits of a key in one cache line.
#[derive(Clone, Debug)]
pub struct CappedLines<P> {
    k: u32,
    cap_percent: u32,
    /// A cache line with more set bits than this clears some before it takes a key.
    cap_bits: u32,
    lines: CacheLines,
    vectors: Vectors,
    places: PhantomData<P>,
}

impl<P: Places> CappedLines<P> {
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
        all_set(line, P::positions(self.k, || probes.next_bits()))
    }

    /// Clears bits if the line is beyond the cap, then sets the key's bits. Returns the change of
    /// the number of set bits.
    #[inline(always)]
    fn insert(&self, line: &mut [u8], mut probes: Probes, generator: Generator) -> i64 {
        let mut change = 0;
        if u64::from(self.cap_bits) < CACHE_LINE_BITS && ones(line) > self.cap_bits {
            let mut draws = (0..).map(|index| generator.draw(index));
            for at in P::positions(self.k, || draws.next().unwrap_or(0)) {
                change -= i64::from(clear_bit(line, at));
            }
        }
        for at in P::positions(self.k, || probes.next_bits()) {
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

    /// Does the same as [`observe_line`](CappedLines::observe_line), with the whole line in registers.
    /// In plain memory a Seen key writes its line unchanged: no branch depends on the verdict, and
    /// the branch for lines beyond the cap is rarely mispredicted.
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
        let key = P::bits(vectors, self.k, || probes.next_bits());
        let Some(line) = region.bytes()[range.clone()].as_array() else {
            return Verdict::New;
        };
        let before = vectors.load(line);
        let added = P::count(vectors, vectors.without(key, before));
        if added == 0 && region.untracked().is_none() {
            return Verdict::Seen;
        }
        let mut after = vectors.or(before, key);
        *occupied += u64::from(added);
        // A line beyond the cap has a word with more than an eighth of it.
        if vectors.has_word_above(before, self.cap_bits / 8) {
            std::hint::cold_path();
            let ones = vectors.count(before);
            // One comparison for both conditions: the line is beyond the cap, and the key is new.
            let new = u32::from(added != 0) << u16::BITS;
            if new | ones > (1 << u16::BITS) | self.cap_bits {
                let mut draws = (0..).map(|index| generator.draw(index));
                let cleared = P::bits(vectors, self.k, || draws.next().unwrap_or(0));
                after = vectors.or(vectors.without(before, cleared), key);
                *occupied = (*occupied + u64::from(vectors.count(after)))
                    .wrapping_sub(u64::from(ones + added));
            }
        }
        if let Some(line) = region.bytes_mut(range).as_mut_array() {
            vectors.store(after, line);
        }
        Verdict::seen_if(added == 0)
    }
}

impl<P: Places> Filter for CappedLines<P> {
    const DESCRIPTOR: Descriptor = P::DESCRIPTOR;

    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let cap = spec.integer("cap");
        Ok(CappedLines {
            k: spec.integer("k") as u32,
            cap_percent: cap as u32,
            cap_bits: (cap * CACHE_LINE_BITS / 100) as u32,
            lines: CacheLines::fitting(spec, memory_bits)?,
            vectors: Vectors::Portable,
            places: PhantomData,
        })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        P::USUAL_K.map(|k| (self.k == k).then_some(CappedLines { k, ..*self }))
    }

    #[inline(always)]
    fn uses_vectors(&self) -> bool {
        true
    }

    #[inline(always)]
    fn with_vectors(&self, vectors: Vectors) -> Self {
        CappedLines { vectors, ..*self }
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
        let kept = P::leaves_bit(self.k);
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
        P::numbers_needed(self.k)
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
        match_vectors!(
            self.vectors,
            Portable => self.observe_line(region, at, occupied, probes, generator),
            vectors => self.observe_vector(vectors, region, at, occupied, probes, generator),
        )
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
        let bits = P::positions(self.k, || probes.next_bits()).map(|bit| 8 * at as u64 + bit);
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
    use super::super::batch::observe_one;
    use super::super::blocked::Anywhere;
    use super::*;
    use crate::fingerprint::KeyHasher;

    /// All forms give the same bytes, verdicts and registers, below the cap and beyond it.
    fn all_vectors_agree<P: Places>(texts: &[&str]) {
        let hasher = KeyHasher::new(8);
        let keys: Vec<Observation> = (0..20_000u64)
            .map(|i| hasher.fingerprint(&(i * i % 7919).to_le_bytes()).into())
            .collect();
        for text in texts {
            let spec: FilterSpec = text.parse().expect("a filter");
            let filter = CappedLines::<P>::build(&spec, 40 * 512).expect("enough memory");
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

    #[test]
    fn all_vectors_compute_the_same() {
        all_vectors_agree::<Anywhere>(&[
            "blocked:k=1,cap=1",
            "blocked:k=4,cap=70",
            "blocked:k=6,cap=85",
            "blocked:k=7,cap=100",
            "blocked:k=15",
            "blocked:k=32,cap=50",
        ]);
        #[cfg(feature = "all-filters")]
        all_vectors_agree::<super::super::split::OnePerWord>(&[
            "split:k=1,cap=1",
            "split:k=3,cap=70",
            "split:k=8,cap=85",
            "split:k=8,cap=100",
            "split:k=7,cap=50",
        ]);
    }
}
