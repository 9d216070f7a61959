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
use super::drawing::Drawing;
use super::fields::{Carry, Share};
use super::{
    Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Place, Registers, Verdict,
};
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
    width_bits: u32,
    fields: u32,
    share: Share,
    /// The fields that a new value may push down.
    entrance: u64,
    /// All bits if a value found moves up by one, none if it moves to the front.
    climbs: u64,
}

/// What became of a word.
struct Ranked {
    word: u64,
    /// The value was there.
    found: bool,
    /// It was not, and an empty field took it.
    grew: bool,
}

impl Word {
    /// How many values a field can hold; they are 1 to this.
    #[inline(always)]
    fn values(&self) -> u64 {
        (1 << self.width_bits) - 1
    }

    /// The top bit of each field that holds a value.
    #[inline(always)]
    fn matches(&self, word: u64, value: u64) -> u64 {
        self.share.matches(word, value, &mut Carry::default())
    }

    fn occupied(&self, word: u64) -> u64 {
        u64::from(self.fields - self.matches(word, 0).count_ones())
    }

    /// A field of all there are, to be looked at.
    fn field(&self, region: &[u8], index: u64) -> Place {
        let (word, field) = (
            index / u64::from(self.fields),
            index % u64::from(self.fields),
        );
        let offset_bits = word * u64::from(u64::BITS) + field * u64::from(self.width_bits);
        Place::read("field", index, offset_bits, self.width_bits, region)
    }

    /// Where a key's word starts, and the key's value in it.
    #[inline(always)]
    fn claim(&self, fingerprint: Fingerprint) -> (usize, u64) {
        let mut probes = fingerprint.probes();
        let word = probes.next_below(self.words) as usize;
        (word * WORD_BYTES, 1 + probes.next_below(self.values()))
    }

    /// Moves a value up, or lets it in. Fields from where it goes to where it was, or to
    /// the last, move by one. No branch depends on what the word holds.
    #[inline(always)]
    fn advance(&self, word: u64, value: u64) -> Ranked {
        let width = self.width_bits;
        let matches = self.matches(word, value);
        let empty = self.matches(word, 0);
        // A value found moves the fields up to its own.
        let reach_found = up_to_lowest(matches);
        let reach_found = reach_found & !((reach_found >> width >> width) & self.climbs);
        // Empty fields come last, and a new value enters before the first of them.
        let reach_new = self.entrance | !(up_to_lowest(empty) >> width);
        let found = matches != 0;
        let reach = if found { reach_found } else { reach_new } & self.share.used();
        let all_but_first = reach & (reach << width);
        let first = reach & !all_but_first & self.share.in_each(value);
        Ranked {
            word: (word & !reach) | ((word << width) & all_but_first) | first,
            found,
            grew: !found && empty != 0,
        }
    }
}

/// All bits up to the lowest that is set, or all there are if none is: a number and that
/// number less one differ in these.
#[inline(always)]
fn up_to_lowest(word: u64) -> u64 {
    word ^ word.wrapping_sub(1)
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
        drawing: Drawing {
            before: &["facd", "ghjk"],
            after: &["faxc", "ghjk"],
            caption: "A new key enters in the middle of its word and pushes the last one out. A \
                      key that comes again moves to the front, out of reach.",
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
                meaning: "rank at which a new key enters: 0 is the first, at most the last",
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
        let width_bits = spec.integer("bits") as u32;
        let fields = u64::BITS / width_bits;
        let entrance = (spec.integer("insert") as u32).min(fields - 1);
        Ok(Word {
            words: memory_bits / u64::from(u64::BITS),
            width_bits,
            fields,
            share: Share::of_word(0, width_bits, fields),
            entrance: u64::MAX << (entrance * width_bits),
            climbs: match spec.is_choice("hit", "up") {
                true => u64::MAX,
                false => 0,
            },
        })
    }

    fn region_bytes(&self) -> u64 {
        self.words * WORD_BYTES as u64
    }

    fn cells(&self) -> u64 {
        self.words * u64::from(self.fields)
    }

    fn recount(&self, region: &[u8]) -> u64 {
        let words = region.chunks_exact(WORD_BYTES);
        words.map(|word| self.occupied(read_u64(word, 0))).sum()
    }

    /// The values in a word differ, so each is one more that a new key may equal.
    fn drop_chance(&self, registers: &Registers) -> f64 {
        let held = registers.occupied() as f64 / self.words as f64;
        held / self.values() as f64
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
        let ranked = self.advance(read_u64(bytes, 0), value);
        write_u64(bytes, 0, ranked.word);
        *registers.occupied_mut() += u64::from(ranked.grew);
        match ranked.found {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (at, value) = self.claim(fingerprint);
        match self.matches(read_u64(region, at), value) {
            0 => Verdict::New,
            _ => Verdict::Seen,
        }
    }

    fn anatomy(&self) -> Anatomy {
        Anatomy {
            cell: "field",
            content: "fingerprint",
            row: "word",
            row_cells: u64::from(self.fields),
            most: self.values(),
            loss: "pushed out of its word by newer keys",
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        self.field(region, index).value
    }

    fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        let (at, value) = self.claim(fingerprint);
        let word = (at / WORD_BYTES) as u64;
        let fields = u64::from(self.fields);
        let indices = word * fields..(word + 1) * fields;
        let mut places = indices.map(|index| self.field(region, index));
        Evidence::any_equal(word, value, &mut places)
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        let word = reduce(fingerprint.0, self.words) as usize;
        prefetch(region, word * WORD_BYTES);
    }
}
