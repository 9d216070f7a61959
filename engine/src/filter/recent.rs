//! Cache lines of ranked fingerprints: each line remembers the keys that occurred last in it.
//!
//! **Guarantee.** The false positive rate is at most fields ÷ (2^bits − 1), about 1 in 100 with the
//! defaults, on any stream. A repeat is reported as Seen if fewer other keys of its cache line
//! occurred in between than the line has fields.
//!
//! **When to use it.** The stream drifts: keys repeat for a while and then no longer. Also if
//! repeats follow soon and few errors of either kind are acceptable.
//!
//! **How it works.** A key has a cache line and a fingerprint of 12 bits; the line holds 42 of
//! them, the most recent first. With room for three and the line `a b c`: `d` is New, and the line
//! becomes `d a b`; `c` is lost. `b` again: Seen, and the line becomes `b d a`.
//!
//! With `insert` above 0 the first eighths of a line are reserved for keys that occurred again; a
//! new key enters behind them. This helps if few keys cause most of the repeats, and harms if
//! the stream drifts.
//!
//! **Source.** Ours. Move-to-front: Sleator, Tarjan, "Amortized efficiency of list update and
//! paging rules", 1985. Fingerprints instead of keys, as in the buffering of Deng and Rafiei,
//! 2006, with one cache line per list.

use super::cache_lines::{CACHE_LINE_BITS, CACHE_LINE_BYTES};
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

const CACHE_LINE_WORDS: usize = CACHE_LINE_BYTES / 8;

/// The geometry of cache lines of ranked fingerprints.
#[derive(Clone, Debug)]
pub struct Recent {
    lines: FieldGroups<CACHE_LINE_BYTES>,
    /// The fields of each word of a cache line.
    masks: Box<[FieldMasks; CACHE_LINE_WORDS]>,
    /// The factor that moves a number up by one field.
    step: u64,
    /// The number of fields that new values do not enter once they are in use.
    protected: u32,
}

/// The result of observing a value in a cache line.
struct Ranked {
    /// Whether the value was found.
    found: bool,
    /// Whether the value was added to an empty field.
    grew: bool,
}

impl Recent {
    /// Returns the number of cache lines.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.count()
    }

    /// Returns the number of fields in a cache line.
    pub(crate) fn fields(&self) -> u32 {
        self.lines.fields
    }

    /// Returns the number of values that a field in use can have.
    pub(crate) fn values(&self) -> u64 {
        self.lines.values()
    }

    /// Whether new keys enter behind the first field.
    pub(crate) fn inserts_behind_front(&self) -> bool {
        self.protected > 0
    }

    /// Counts the fields of a cache line that hold a value.
    #[inline(always)]
    fn count_of(&self, line: &[u8], value: u64) -> u32 {
        let mut carry = Carry::default();
        let words = line[..CACHE_LINE_BYTES]
            .chunks_exact(8)
            .zip(self.masks.iter());
        words
            .map(|(word, masks)| masks.matches(read_u64(word, 0), value, &mut carry))
            .map(u64::count_ones)
            .sum()
    }

    /// Moves a value to the front, or adds it there. Word by word, all fields move up by one, up
    /// to the field that held the value, if there is one.
    #[inline(always)]
    fn move_to_front(&self, line: &mut [u8], value: u64) -> Ranked {
        let mut carry = Carry::default();
        let (mut incoming, mut pushed_out) = (value, 0);
        let words = line[..CACHE_LINE_BYTES].chunks_exact_mut(8);
        for (word_bytes, masks) in words.zip(self.masks.iter()) {
            let word = read_u64(word_bytes, 0);
            let matches = masks.matches(word, value, &mut carry);
            let (moved, outgoing) = word.carrying_mul(self.step, incoming);
            // A number and its predecessor differ in all bits up to the lowest set one.
            let reach = masks.used() & (matches ^ matches.wrapping_sub(1));
            write_u64(word_bytes, 0, word ^ ((word ^ moved) & reach));
            if matches != 0 {
                return Ranked {
                    found: true,
                    grew: false,
                };
            }
            incoming = outgoing;
            pushed_out = self.last_field(word);
        }
        Ranked {
            found: false,
            grew: pushed_out == 0,
        }
    }

    /// Adds a new value behind the protected fields, or behind the last field in use: empty
    /// fields come last.
    fn insert_behind_protected(&self, line: &mut [u8], value: u64) -> Ranked {
        let in_use = self.lines.fields - self.count_of(line, 0);
        let before_bits = self.protected.min(in_use) * self.lines.width_bits;
        let grew = self.last_field(read_u64(line, CACHE_LINE_BYTES - 8)) == 0;
        let mut incoming = u128::from(value) << (before_bits % u64::BITS);
        let mut kept = (1u64 << (before_bits % u64::BITS)) - 1;
        let words = line[..CACHE_LINE_BYTES]
            .chunks_exact_mut(8)
            .zip(self.masks.iter());
        for (word_bytes, masks) in words.skip((before_bits / u64::BITS) as usize) {
            let word = read_u64(word_bytes, 0);
            let moved = u128::from(word & !kept) * u128::from(self.step) + incoming;
            write_u64(word_bytes, 0, (word & kept) | (moved as u64 & masks.used()));
            incoming = moved >> u64::BITS;
            kept = 0;
        }
        Ranked { found: false, grew }
    }

    /// Returns the last field, given the last word. The field is entirely in that word: no field
    /// is wider than half a word, and fewer bits than a field are left over behind it.
    #[inline(always)]
    fn last_field(&self, last_word: u64) -> u64 {
        let start = (self.lines.fields - 1) * self.lines.width_bits;
        last_word >> (start % u64::BITS)
    }
}

impl Filter for Recent {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "recent",
        title: "Cache lines of recent fingerprints",
        summary: "Stores the fingerprints of a cache line in the order of their last occurrence; \
                  a new one pushes the oldest out.",
        promise: "The false positive rate has an upper bound on any stream; a repeat is reported \
                  as Seen if its last occurrence is not too long ago.",
        choose_when: "The stream drifts: keys repeat for a while and then no longer.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::Ours,
        source: Citation {
            authors: "D. D. Sleator, R. E. Tarjan",
            title: "Amortized efficiency of list update and paging rules",
            year: 1985,
        },
        advised_because: "repeats follow soon, and it keeps the keys that occurred recently",
        drawing: Drawing {
            before: &["abcde", "fghij"],
            after: &["abcde", "xfghi"],
            caption: "The fingerprints of a cache line are in the order of their last occurrence. \
                      The new one enters at the front, and the last one is pushed out.",
        },
        parameters: &[
            Parameter::integer(
                "bits",
                "bits per fingerprint; a cache line holds 512 ÷ bits of them",
                4..=32,
                12,
            ),
            Parameter::integer(
                "insert",
                "eighths of a cache line reserved for repeated keys",
                0..=7,
                0,
            ),
        ],
    };

    const FORGETS: bool = true;
    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let width_bits = spec.integer("bits") as u32;
        let fields = CACHE_LINE_BITS as u32 / width_bits;
        let masks = |index: usize| FieldMasks::of_word(index as u32, width_bits, fields);
        Ok(Recent {
            lines: FieldGroups::fitting(spec, memory_bits, width_bits)?,
            masks: Box::new(std::array::from_fn(masks)),
            step: 1 << width_bits,
            protected: spec.integer("insert") as u32 * fields / 8,
        })
    }

    fn region_bytes(&self) -> u64 {
        self.lines.region_bytes()
    }

    fn cells(&self) -> u64 {
        self.lines.cells()
    }

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        self.lines.false_positive_rate(registers.occupied())
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
        let (at, value) = (self.lines).locate_from(first_row, observation.fingerprint);
        let line = region.bytes_mut(at..at + CACHE_LINE_BYTES);
        let ranked = match self.protected > 0 && self.count_of(line, value) == 0 {
            true => self.insert_behind_protected(line, value),
            false => self.move_to_front(line, value),
        };
        *registers.occupied_mut() += u64::from(ranked.grew);
        Verdict::seen_if(ranked.found)
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (at, value) = self.lines.locate(fingerprint);
        Verdict::seen_if(self.count_of(&region[at..at + CACHE_LINE_BYTES], value) > 0)
    }

    /// Empty fields come last, and a key is pushed out only if there is none.
    fn may_have_forgotten(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> bool {
        let (at, _) = self.lines.locate(fingerprint);
        self.last_field(read_u64(region, at + CACHE_LINE_BYTES - 8)) != 0
    }

    fn cell_layout(&self) -> CellLayout {
        self.lines
            .cell_layout("cache line", "pushed out of its cache line by newer keys")
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        self.lines.field(region, index).value
    }

    fn evidence(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Evidence {
        self.lines.evidence(region, fingerprint)
    }

    /// Removes the fingerprint; those behind it move up. Every key with the same fingerprint goes
    /// with it.
    fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        self.lines.forget(region, registers, fingerprint)
    }

    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        self.lines.merge(region, registers, other, other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.lines.prefetch(region, fingerprint);
    }
}
