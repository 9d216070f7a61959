//! A line of ranked fingerprints: the keys of a line that came last.
//!
//! **Promises** that a new key is dropped with a chance of at most fields ÷ (2^bits − 1),
//! about 1 in 100 with the defaults, whatever the stream; and that a repeat is noticed if
//! fewer other keys of its line than it has fields came in between.
//!
//! **Pick it** for a stream that drifts: keys repeat for a while and then no more. Also
//! where repeats lie close together and few errors of either kind are wanted.
//!
//! **How.** A key has a line and a fingerprint of 12 bits; the line holds 42 of them, the
//! last met first. With room for three and the line `a b c`: `d` is New, and the line is
//! `d a b`; `c` was pushed out. `b` again: Seen, and the line is `b d a`.
//!
//! With `insert` above 0 the first eighths of a line are for keys that came again: a new
//! one enters behind them. That helps where few keys make most of the repeats and harms
//! where the stream drifts.
//!
//! **Source.** Ours. Move-to-front: Sleator, Tarjan, "Amortized efficiency of list update
//! and paging rules", 1985; with fingerprints for keys as in the buffering of Deng and
//! Rafiei, 2006, and one line of memory for a list.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::fields::{Carry, Share};
use super::lines::{LINE_BITS, LINE_BYTES, Lines};
use super::{
    Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Place, Registers, Verdict,
};
use crate::bytes::{read_u64, write_u64};
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;

const LINE_WORDS: usize = LINE_BYTES / 8;

/// The geometry of lines of ranked fingerprints.
#[derive(Clone, Debug)]
pub struct Recent {
    lines: Lines,
    width_bits: u32,
    /// How many fields a line has.
    fields: u32,
    /// What each word of a line holds of them.
    shares: Box<[Share; LINE_WORDS]>,
    /// A number moves up by a field when it is multiplied by this.
    step: u64,
    /// How many fields new values do not enter, once these are taken.
    protected: u32,
}

/// What became of a line.
struct Ranked {
    /// The value was there.
    found: bool,
    /// It was not, and an empty field took it.
    grew: bool,
}

impl Recent {
    /// How many values a field can hold; they are 1 to this.
    #[inline(always)]
    fn values(&self) -> u64 {
        (1 << self.width_bits) - 1
    }

    /// Where a key's line starts, and the key's value in it.
    #[inline(always)]
    fn claim(&self, fingerprint: Fingerprint) -> (usize, u64) {
        let (at, mut probes) = self.lines.place(fingerprint);
        (at, 1 + probes.next_below(self.values()))
    }

    /// How many fields of a line hold a value.
    #[inline(always)]
    fn count_of(&self, line: &[u8], value: u64) -> u32 {
        let mut carry = Carry::default();
        let words = line[..LINE_BYTES].chunks_exact(8).zip(self.shares.iter());
        words
            .map(|(word, share)| share.matches(read_u64(word, 0), value, &mut carry))
            .map(u64::count_ones)
            .sum()
    }

    fn occupied(&self, line: &[u8]) -> u64 {
        u64::from(self.fields - self.count_of(line, 0))
    }

    /// Moves a value to the front, or lets it in there. Word by word, all fields move up
    /// by one, up to the field that held the value, if there is one.
    #[inline(always)]
    fn advance(&self, line: &mut [u8], value: u64) -> Ranked {
        let mut carry = Carry::default();
        let (mut incoming, mut pushed_out) = (value, 0);
        let words = line[..LINE_BYTES].chunks_exact_mut(8);
        for (word_bytes, share) in words.zip(self.shares.iter()) {
            let word = read_u64(word_bytes, 0);
            let matches = share.matches(word, value, &mut carry);
            let (moved, outgoing) = word.carrying_mul(self.step, incoming);
            // A number and that number less one differ in all bits up to its lowest.
            let reach = share.used() & (matches ^ matches.wrapping_sub(1));
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

    /// Lets a new value in behind the protected fields; or behind the last one that is
    /// taken, as empty fields come last.
    fn enter(&self, line: &mut [u8], value: u64) -> Ranked {
        let before_bits =
            self.protected.min(self.fields - self.count_of(line, 0)) * self.width_bits;
        let grew = self.last_field(read_u64(line, LINE_BYTES - 8)) == 0;
        let mut incoming = u128::from(value) << (before_bits % u64::BITS);
        let mut kept = (1u64 << (before_bits % u64::BITS)) - 1;
        let words = line[..LINE_BYTES]
            .chunks_exact_mut(8)
            .zip(self.shares.iter());
        for (word_bytes, share) in words.skip((before_bits / u64::BITS) as usize) {
            let word = read_u64(word_bytes, 0);
            let moved = u128::from(word & !kept) * u128::from(self.step) + incoming;
            write_u64(word_bytes, 0, (word & kept) | (moved as u64 & share.used()));
            incoming = moved >> u64::BITS;
            kept = 0;
        }
        Ranked { found: false, grew }
    }

    /// A field of all there are, to be looked at.
    fn field(&self, region: &[u8], index: u64) -> Place {
        let (line, field) = (
            index / u64::from(self.fields),
            index % u64::from(self.fields),
        );
        let offset_bits = line * LINE_BITS + field * u64::from(self.width_bits);
        Place::read("field", index, offset_bits, self.width_bits, region)
    }

    /// The last field, seen in the last word. It lies there as a whole, as no field is
    /// wider than half a word, and what is left over behind it is less than a field.
    #[inline(always)]
    fn last_field(&self, last_word: u64) -> u64 {
        let start = (self.fields - 1) * self.width_bits;
        last_word >> (start % u64::BITS)
    }
}

impl Filter for Recent {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "recent",
        title: "Lines of recent fingerprints",
        summary: "Keeps the fingerprints of a line of memory in the order in which they were last \
                  met; a new one pushes the oldest out.",
        promise: "The share of new keys dropped has a bound that holds for ever; a repeat is \
                  noticed if it does not lie too far back.",
        choose_when: "The stream drifts: keys repeat for a while and then no more.",
        errs: Errs::Both,
        needs: Needs {
            tick: false,
            importance: false,
        },
        source: Citation {
            authors: "D. D. Sleator, R. E. Tarjan",
            title: "Amortized efficiency of list update and paging rules",
            year: 1985,
        },
        drawing: Drawing {
            before: &["abcde", "fghij"],
            after: &["abcde", "xfghi"],
            caption: "The fingerprints of a line stand in the order in which they came last. A \
                      new one enters in front, and the last is pushed out.",
        },
        parameters: &[
            Parameter {
                name: "bits",
                meaning: "bits of a fingerprint; 512 ÷ bits share a line",
                kind: Kind::Integer {
                    min: 4,
                    max: 32,
                    default: 12,
                },
            },
            Parameter {
                name: "insert",
                meaning: "eighths of a line kept from new keys for repeated ones",
                kind: Kind::Integer {
                    min: 0,
                    max: 7,
                    default: 0,
                },
            },
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let width_bits = spec.integer("bits") as u32;
        let fields = LINE_BITS as u32 / width_bits;
        let share = |index: usize| Share::of_word(index as u32, width_bits, fields);
        Ok(Recent {
            lines: Lines::fitting(spec, memory_bits)?,
            width_bits,
            fields,
            shares: Box::new(std::array::from_fn(share)),
            step: 1 << width_bits,
            protected: spec.integer("insert") as u32 * fields / 8,
        })
    }

    fn region_bytes(&self) -> u64 {
        self.lines.bytes()
    }

    fn cells(&self) -> u64 {
        self.lines.count() * u64::from(self.fields)
    }

    fn recount(&self, region: &[u8]) -> u64 {
        let lines = region.chunks_exact(LINE_BYTES);
        lines.map(|line| self.occupied(line)).sum()
    }

    /// The values in a line differ, so each is one more that a new key may equal.
    fn drop_chance(&self, registers: &Registers) -> f64 {
        let held = registers.occupied() as f64 / self.lines.count() as f64;
        (held / self.values() as f64).min(1.0)
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
        let line = region.bytes_mut(at..at + LINE_BYTES);
        let ranked = match self.protected > 0 && self.count_of(line, value) == 0 {
            true => self.enter(line, value),
            false => self.advance(line, value),
        };
        *registers.occupied_mut() += u64::from(ranked.grew);
        match ranked.found {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (at, value) = self.claim(fingerprint);
        match self.count_of(&region[at..at + LINE_BYTES], value) > 0 {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    fn anatomy(&self) -> Anatomy {
        Anatomy {
            cell: "field",
            content: "fingerprint",
            row: "line",
            row_cells: u64::from(self.fields),
            most: self.values(),
            loss: "pushed out of its line by newer keys",
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        self.field(region, index).value
    }

    fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        let (at, value) = self.claim(fingerprint);
        let line = (at / LINE_BYTES) as u64;
        let fields = u64::from(self.fields);
        let indices = line * fields..(line + 1) * fields;
        let mut places = indices.map(|index| self.field(region, index));
        Evidence::any_equal(line, value, &mut places)
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.lines.prefetch(region, fingerprint);
    }
}
