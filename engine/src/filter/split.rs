//! The split-block Bloom filter with a load cap: a key has one bit in each word of its cache line.
//!
//! **Guarantee.** The false positive rate stays below about cap^k, however long the stream is.
//! There are no false negatives until a cache line reaches the cap. Beyond the cap the line
//! clears as many random bits as the next key needs. With `cap=100` it never clears a bit and is
//! the plain split-block Bloom filter.
//!
//! **When to use it.** The filter fits into the processor's caches and each nanosecond counts: all
//! bits of a key come from one vector shift. In main memory [`Blocked`](super::Blocked) takes as
//! long and has the same errors, and more than eight bits per key are possible only there.
//!
//! **How it works.** With cache lines of four words of four bits and k = 4: key `a` belongs to line
//! 3 and has bit 1 of the first word, bit 3 of the second, bit 0 of the third and bit 2 of the last.
//! One of them is clear, so `a` is New, and they are set. If more of the 16 bits than the cap are
//! set, one random bit of each word is cleared first. With k = 2, a key has bits in two words next
//! to each other; the first word follows the last one.
//!
//! **Papers.** Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", 2007;
//! with one bit per word: Apple, "Split block Bloom filters", 2021, the filter of Apache Parquet.
//!
//! **Departure.** Parquet's blocks have 256 bits in words of 32; ours are whole cache lines with
//! words of 64. A line with more keys than the others errs more, and larger lines differ less. The
//! cap is that of `blocked`.

use super::cache_lines::CACHE_LINE_BITS;
use super::capped_lines::{CappedLines, Places};
use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use crate::simd::{LineVectors, word_position};

/// The split-block Bloom filter with a load cap.
pub type Split = CappedLines<OnePerWord>;

/// The bits of a key are in different words of its cache line.
#[derive(Clone, Copy, Debug)]
pub struct OnePerWord;

impl Places for OnePerWord {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "split",
        title: "Split-block Bloom filter with a load cap",
        summary: "Sets one bit in each of k words of a cache line for each key; a cache line that \
                  is fuller than the cap first clears random bits.",
        promise: "There are no false negatives while the cache lines are below the cap; the false \
                  positive rate always stays below about cap^k.",
        choose_when: "The filter fits into the processor's caches, and there are at least eight \
                      bits for each distinct key.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::Ours,
        source: Citation {
            authors: "J. Apple",
            title: "Split block Bloom filters",
            year: 2021,
        },
        advised_because: "a split-block Bloom filter makes about the fewest errors in this memory \
                          and is the fastest in the processor's caches; it forgets some keys where \
                          a cache line is too full",
        drawing: Drawing {
            before: &["#....#..", "##...##.", ".#......"],
            after: &["#....#..", "##.##.#.", ".#......"],
            caption: "A key has one bit in each word of one cache line. A line that is fuller than \
                      the cap first clears one random bit per word.",
        },
        parameters: &[
            Parameter::integer(
                "k",
                "words of the cache line that hold a bit of each key",
                1..=8,
                8,
            ),
            Parameter::integer(
                "cap",
                "percentage of a cache line's bits above which it forgets; 100 means never",
                1..=100,
                85,
            ),
        ],
    };

    const USUAL_K: [u32; 2] = [8, 6];

    fn numbers_needed(_: u32) -> u64 {
        1
    }

    #[inline(always)]
    fn positions(k: u32, mut next_number: impl FnMut() -> u64) -> impl Iterator<Item = u64> {
        let number = next_number();
        (0..k).map(move |index| word_position(number, index))
    }

    #[inline(always)]
    fn bits<V: LineVectors>(vectors: V, k: u32, mut next_number: impl FnMut() -> u64) -> V::Bits {
        vectors.one_per_word(k, next_number())
    }

    /// A word with bits has one.
    #[inline(always)]
    fn count<V: LineVectors>(vectors: V, bits: V::Bits) -> u32 {
        vectors.words_in_use(bits)
    }

    fn leaves_bit(k: u32) -> f64 {
        1.0 - f64::from(k) / CACHE_LINE_BITS as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_bit_in_each_of_k_words() {
        // Fields of six bits 1, 2, … 8 from the top, then the first word.
        let fields = (0..8u64).fold(0, |number, word| number | (word + 1) << (58 - 6 * word));
        for first in 0..8u64 {
            for k in 1..=8 {
                let number = fields | first << 13;
                let found: Vec<u64> = OnePerWord::positions(k, || number).collect();
                let words = (0..u64::from(k)).map(|index| (first + index) % 8);
                let expected: Vec<u64> = words.map(|word| 64 * word + word + 1).collect();
                assert_eq!(found, expected);
            }
        }
    }
}
