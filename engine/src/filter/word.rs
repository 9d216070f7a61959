//! A few ranked fingerprints in one word: new keys enter in the middle, repeats move up.
//!
//! **Promises** that a new key is dropped with a chance of at most fields ÷ (2^bits − 1),
//! about 3 in 100 with the defaults, whatever the stream. Keys that come again and again
//! are kept; those that came once make room for one another.
//!
//! **Pick it** with little memory for a stream where few keys make most of the repeats.
//!
//! **How.** A key has a word and a fingerprint of 8 bits; the word holds eight of them in
//! order. With room for four, entrance at 2 and the word `f a c d`: key `b` is not
//! there, so it is New; it enters at rank 2, `f a b c`, and `d` is out. `c` again: Seen,
//! and it moves to the front, `c f a b`, out of reach of the next few new keys.
//!
//! **Source.** Ours; the order is the segmented LRU of caches (Karedla, Love, Wherry,
//! "Caching strategies to improve disk system performance", 1994) with fingerprints for
//! keys.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::ranking::Ranking;
use super::{BuildError, Filter, FilterSpec, Observation, Registers, Verdict};
use crate::bytes::{read_u64, write_u64};
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

const WORD_BYTES: usize = 8;

/// The geometry of words of ranked fingerprints.
#[derive(Clone, Debug)]
pub struct Word {
    words: u64,
    ranking: Ranking<1>,
}

impl Word {
    /// Where a key's word starts, and the key's value in it.
    #[inline(always)]
    fn claim(&self, fingerprint: Fingerprint) -> (usize, u64) {
        let mut probes = fingerprint.probes();
        let word = probes.next_below(self.words) as usize;
        (
            word * WORD_BYTES,
            1 + probes.next_below(self.ranking.values()),
        )
    }
}

impl Filter for Word {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "word",
        title: "Words of ranked fingerprints",
        summary: "Keeps a few small fingerprints in order in one word; new ones enter in the \
                  middle and push the last out, repeated ones move up.",
        promise: "The share of new keys dropped has a bound that holds for ever; keys that repeat \
                  are kept in favour of those that do not.",
        choose_when: "Memory is short and few keys make most of the repeats.",
        errs: Errs::Both,
        needs: Needs {
            tick: false,
            importance: false,
        },
        source: Citation {
            authors: "R. Karedla, J. S. Love, B. G. Wherry",
            title: "Caching strategies to improve disk system performance",
            year: 1994,
        },
        parameters: &[
            Parameter {
                name: "bits",
                meaning: "bits of a fingerprint; 64 ÷ bits share a word",
                kind: Kind::Integer {
                    min: 2,
                    max: 32,
                    default: 8,
                },
            },
            Parameter {
                name: "insert",
                meaning: "rank at which a new key enters, 0 being the first",
                kind: Kind::Integer {
                    min: 0,
                    max: 31,
                    default: 4,
                },
            },
            Parameter {
                name: "hit",
                meaning: "where a repeated key moves: to the front, or one rank up",
                kind: Kind::Choice {
                    options: &["front", "up"],
                },
            },
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(Word {
            words: memory_bits / u64::from(u64::BITS),
            ranking: Ranking::new(
                spec.integer("bits") as u32,
                spec.integer("insert"),
                spec.is_choice("hit", "up"),
            ),
        })
    }

    fn region_bytes(&self) -> u64 {
        self.words * WORD_BYTES as u64
    }

    fn cells(&self) -> u64 {
        self.words * self.ranking.fields()
    }

    fn recount(&self, region: &[u8]) -> u64 {
        let words = region.chunks_exact(WORD_BYTES);
        words
            .map(|word| self.ranking.occupied(&[read_u64(word, 0)]))
            .sum()
    }

    /// The values in a word differ, so each is one more that a new key may equal.
    fn drop_chance(&self, registers: &Registers) -> f64 {
        let held = registers.occupied() as f64 / self.words as f64;
        held / self.ranking.values() as f64
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
        let (at, value) = self.claim(observation.fingerprint);
        let bytes = region.bytes_mut(at..at + WORD_BYTES);
        let mut word = [read_u64(bytes, 0)];
        let ranked = self.ranking.advance(&mut word, value);
        write_u64(bytes, 0, word[0]);
        *registers.occupied_mut() += u64::from(ranked.grew);
        match ranked.found {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (at, value) = self.claim(fingerprint);
        match self.ranking.holds(&[read_u64(region, at)], value) {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        let word = reduce(fingerprint.0, self.words) as usize;
        prefetch(region, word * WORD_BYTES);
    }
}
