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

use super::cache_lines::{CACHE_LINE_BITS, bit_positions, numbers_needed};
use super::capped_lines::{CappedLines, Places};
use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use crate::simd::LineVectors;

/// The blocked Bloom filter with a load cap.
pub type Blocked = CappedLines<Anywhere>;

/// The bits of a key are anywhere in its cache line.
#[derive(Clone, Copy, Debug)]
pub struct Anywhere;

impl Places for Anywhere {
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

    /// The default, and the k of the published benchmarks.
    const USUAL_K: [u32; 2] = [6, 4];

    fn numbers_needed(k: u32) -> u64 {
        numbers_needed(k)
    }

    #[inline(always)]
    fn positions(k: u32, next_number: impl FnMut() -> u64) -> impl Iterator<Item = u64> {
        bit_positions(k, next_number)
    }

    #[inline(always)]
    fn bits<V: LineVectors>(vectors: V, k: u32, next_number: impl FnMut() -> u64) -> V::Bits {
        vectors.bits(k, next_number)
    }

    #[inline(always)]
    fn count<V: LineVectors>(vectors: V, bits: V::Bits) -> u32 {
        vectors.count(bits)
    }

    fn leaves_bit(k: u32) -> f64 {
        libm::pow(1.0 - 1.0 / CACHE_LINE_BITS as f64, f64::from(k))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DEFAULT_FILTER, FilterSpec};

    #[test]
    fn the_default_filter_is_blocked_with_its_default_parameters() {
        let named: FilterSpec = "blocked".parse().expect("a filter");
        assert_eq!(DEFAULT_FILTER.parse(), Ok(named));
        assert_eq!(DEFAULT_FILTER, "blocked:k=6,cap=85");
    }
}
