//! A few ranked fingerprints in one word: new keys enter in the middle, repeats move up.
//!
//! **Guarantee.** The false positive rate is at most fields ÷ (2^bits − 1), about 3 in 100 with the
//! defaults, on any stream. Keys that occur again and again are kept; keys that occurred once
//! replace one another.
//!
//! **When to use it.** Memory is small, and few keys cause most of the repeats.
//!
//! **How it works.** A key has a word and a fingerprint of 8 bits; the word holds eight of them,
//! ordered by rank. With room for four, insertion at rank 2 and the word `f a c d`: key `b` is not
//! there, so it is New; it enters at rank 2, which gives `f a b c`, and `d` is lost. `c` again:
//! Seen, and it moves to the front, `c f a b`, where the next few new keys cannot push it out.
//!
//! **Source.** Ours. The order is the segmented LRU of caches (Karedla, Love, Wherry, "Caching
//! strategies to improve disk system performance", 1994), with fingerprints instead of keys.

use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::packed_fields::{Carry, FieldGroups, FieldMasks};
use super::parameter::Parameter;
use super::{
    BuildError, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers, Rows, Verdict,
};
use crate::bytes::{read_u64, write_u64};
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;

const WORD_BYTES: usize = 8;

/// The geometry of words of ranked fingerprints.
#[derive(Clone, Debug)]
pub struct Word {
    words: FieldGroups<WORD_BYTES>,
    masks: FieldMasks,
    /// The bits of the fields that a new value may push down.
    entrance: u64,
    /// All bits if a value that is found moves up by one rank, none if it moves to the front.
    climbs: u64,
}

/// The result of observing a value in a word.
struct Ranked {
    word: u64,
    /// Whether the value was found.
    found: bool,
    /// Whether the value was added to an empty field.
    grew: bool,
}

impl Word {
    /// Returns the number of words.
    pub(crate) fn words(&self) -> u64 {
        self.words.count()
    }

    /// Returns the number of fields in a word.
    pub(crate) fn fields(&self) -> u32 {
        self.words.fields
    }

    /// Returns the number of values that a field in use can have.
    pub(crate) fn values(&self) -> u64 {
        self.words.values()
    }

    /// Whether new keys enter behind the first rank.
    pub(crate) fn inserts_behind_front(&self) -> bool {
        self.entrance != u64::MAX
    }

    /// Returns the top bit of each field that holds a value.
    #[inline(always)]
    fn matches(&self, word: u64, value: u64) -> u64 {
        self.masks.matches(word, value, &mut Carry::default())
    }

    /// Moves a value up, or adds it. The fields between its new rank and its old rank, or the
    /// last rank, move by one. No branch depends on the content of the word.
    #[inline(always)]
    fn advance(&self, word: u64, value: u64) -> Ranked {
        let width = self.words.width_bits;
        let matches = self.matches(word, value);
        let empty = self.matches(word, 0);
        // If the value is found, the fields up to its own move.
        let reach_found = up_to_lowest(matches);
        let reach_found = reach_found & !((reach_found >> width >> width) & self.climbs);
        // Empty fields come last, and a new value enters before the first of them.
        let reach_new = self.entrance | !(up_to_lowest(empty) >> width);
        let found = matches != 0;
        let reach = if found { reach_found } else { reach_new } & self.masks.used();
        let all_but_first = reach & (reach << width);
        let first = reach & !all_but_first & self.masks.broadcast(value);
        Ranked {
            word: (word & !reach) | ((word << width) & all_but_first) | first,
            found,
            grew: !found && empty != 0,
        }
    }
}

/// Returns all bits up to the lowest set bit, or all bits if none is set: those in which a
/// number and its predecessor differ.
#[inline(always)]
fn up_to_lowest(word: u64) -> u64 {
    word ^ word.wrapping_sub(1)
}

impl Filter for Word {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "word",
        title: "Words of ranked fingerprints",
        summary: "Stores a few small fingerprints in one word, ordered by rank; new ones enter in \
                  the middle and push the last one out, repeated ones move up.",
        promise: "The false positive rate has an upper bound on any stream; keys that repeat are \
                  kept longer than keys that do not.",
        choose_when: "Memory is small, and few keys cause most of the repeats.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::Ours,
        source: Citation {
            authors: "R. Karedla, J. S. Love, B. G. Wherry",
            title: "Caching strategies to improve disk system performance",
            year: 1994,
        },
        advised_because: "repeats follow soon, and it keeps the keys that occurred recently",
        drawing: Drawing {
            before: &["facd", "ghjk"],
            after: &["faxc", "ghjk"],
            caption: "The new key enters in the middle of its word and pushes the last one out. A \
                      key that occurs again moves to the front.",
        },
        parameters: &[
            Parameter::integer(
                "bits",
                "bits per fingerprint; a word holds 64 ÷ bits of them",
                2..=32,
                8,
            ),
            Parameter::integer(
                "insert",
                "rank at which a new key enters; 0 is the first rank, values beyond the last \
                 rank mean the last",
                0..=31,
                4,
            ),
            Parameter::choice(
                "hit",
                "where a repeated key moves: to the front, or one rank up",
                &["front", "up"],
            ),
        ],
    };

    const FORGETS: bool = true;
    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let width_bits = spec.integer("bits") as u32;
        let words = FieldGroups::fitting(spec, memory_bits, width_bits)?;
        let entrance = (spec.integer("insert") as u32).min(words.fields - 1);
        Ok(Word {
            words,
            masks: FieldMasks::of_word(0, width_bits, words.fields),
            entrance: u64::MAX << (entrance * width_bits),
            climbs: match spec.is_choice("hit", "up") {
                true => u64::MAX,
                false => 0,
            },
        })
    }

    fn region_bytes(&self) -> u64 {
        self.words.region_bytes()
    }

    fn cells(&self) -> u64 {
        self.words.cells()
    }

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        self.words.false_positive_rate(registers.occupied())
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
        Some(self.words.rows())
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
        let (at, value) = (self.words).locate_from(first_row, observation.fingerprint);
        let bytes = region.bytes_mut(at..at + WORD_BYTES);
        let ranked = self.advance(read_u64(bytes, 0), value);
        write_u64(bytes, 0, ranked.word);
        *registers.occupied_mut() += u64::from(ranked.grew);
        Verdict::seen_if(ranked.found)
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (at, value) = self.words.locate(fingerprint);
        Verdict::seen_if(self.matches(read_u64(region, at), value) != 0)
    }

    /// A key is pushed out only if there is no empty field.
    fn may_have_forgotten(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> bool {
        let (at, _) = self.words.locate(fingerprint);
        self.matches(read_u64(region, at), 0) == 0
    }

    fn cell_layout(&self) -> CellLayout {
        self.words
            .cell_layout("word", "pushed out of its word by newer keys")
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        self.words.field(region, index).value
    }

    fn evidence(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Evidence {
        self.words.evidence(region, fingerprint)
    }

    /// Removes the fingerprint; those behind it move up. Every key with the same fingerprint goes
    /// with it.
    fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        self.words.forget(region, registers, fingerprint)
    }

    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        self.words.merge(region, registers, other, other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.words.prefetch(region, fingerprint);
    }
}
