//! One fingerprint a slot: each new key overwrites the last one that fell there.
//!
//! **Promises** that a new key is dropped with a chance of at most 1 in `values`,
//! whatever the stream and however long it is. A repeat is missed if another new key
//! fell into the slot in between.
//!
//! **Pick it** with two bits or less for each distinct key, or when there is no bound on
//! their number: where a Bloom filter would be full, this one goes on.
//!
//! **How.** A key has a slot and a value of 1 to V; 0 is an empty slot. With V = 7: key
//! `a` has slot 4 and value 3. Slot 4 holds 6, so `a` is New, and the slot now holds 3.
//! Key `b` with slot 4 and value 3 would be taken for Seen, one in seven of those that
//! fall there. A Seen key changes nothing.
//!
//! Slots are digits to the base V + 1 in words of 64 bits: 21 of them for V = 7, where
//! they are plain fields of three bits, and 18 for V = 10. So V can be any number, not
//! only one below a power of two.
//!
//! **Source.** The quotient hash table with one bucket a row: Geraud, Lombard-Platet,
//! Naccache, "Quotient Hash Tables: Efficiently Detecting Duplicates in Streaming
//! Data", 2019. There a bucket takes a whole number of bits; the digits are ours.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::{
    Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Place, Registers, Verdict,
};
use crate::bytes::{read_u64, write_u64};
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

const WORD_BYTES: usize = 8;

/// The geometry of a table of slots.
#[derive(Clone, Debug)]
pub struct Slot {
    values: u64,
    words: u64,
    digits: Digits,
}

/// A word as digits to a base that is not known beforehand.
#[derive(Clone, Debug)]
struct Digits {
    base: u64,
    /// The value of a one in each place.
    powers: Box<[u64]>,
    /// The bits of a digit, where it has a whole number of them.
    width_bits: Option<u32>,
}

impl Digits {
    fn of_base(base: u64) -> Self {
        let mut powers = Vec::new();
        let mut power = 1u128;
        while power * u128::from(base) <= 1 << u64::BITS {
            powers.push(power as u64);
            power *= u128::from(base);
        }
        Digits {
            base,
            powers: powers.into(),
            width_bits: base.is_power_of_two().then(|| base.trailing_zeros()),
        }
    }

    fn a_word(&self) -> u64 {
        self.powers.len() as u64
    }

    #[inline(always)]
    fn get(&self, word: u64, place: u64) -> u64 {
        match self.width_bits {
            Some(width) => (word >> (place as u32 * width)) & (self.base - 1),
            None => word / self.powers[place as usize] % self.base,
        }
    }

    /// The word with a digit changed from one value to another.
    #[inline(always)]
    fn replace(&self, word: u64, place: u64, old: u64, new: u64) -> u64 {
        let step = new.wrapping_sub(old);
        word.wrapping_add(match self.width_bits {
            Some(width) => step << (place as u32 * width),
            None => step.wrapping_mul(self.powers[place as usize]),
        })
    }
}

/// Where a key belongs and what it would leave there.
struct Claim {
    at: usize,
    place: u64,
    value: u64,
}

impl Slot {
    #[inline(always)]
    fn claim(&self, fingerprint: Fingerprint) -> Claim {
        let mut probes = fingerprint.probes();
        Claim {
            at: probes.next_below(self.words) as usize * WORD_BYTES,
            place: probes.next_below(self.digits.a_word()),
            value: 1 + probes.next_below(self.values),
        }
    }
}

impl Filter for Slot {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "slot",
        title: "Table of single slots",
        summary: "Keeps one small fingerprint a slot, that of the last new key which fell there.",
        promise: "At most one new key in `values` is dropped, for ever; a repeat is missed if \
                  another new key took its slot.",
        choose_when: "There are two bits or less for each distinct key, or no bound on their \
                      number.",
        errs: Errs::Both,
        needs: Needs {
            tick: false,
            importance: false,
        },
        source: Citation {
            authors: "R. Geraud, M. Lombard-Platet, D. Naccache",
            title: "Quotient Hash Tables: Efficiently Detecting Duplicates in Streaming Data",
            year: 2019,
        },
        drawing: Drawing {
            before: &["c.f.a.b."],
            after: &["c.x.a.b."],
            caption: "A key has one slot. A new key overwrites what the slot held.",
        },
        parameters: &[Parameter {
            name: "values",
            meaning: "fingerprints told apart in a slot; 7 take three bits, 15 four",
            kind: Kind::Integer {
                min: 1,
                max: 65_535,
                default: 7,
            },
        }],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let values = spec.integer("values");
        Ok(Slot {
            values,
            words: memory_bits / u64::from(u64::BITS),
            digits: Digits::of_base(values + 1),
        })
    }

    fn region_bytes(&self) -> u64 {
        self.words * WORD_BYTES as u64
    }

    fn cells(&self) -> u64 {
        self.words * self.digits.a_word()
    }

    fn recount(&self, region: &[u8]) -> u64 {
        let words = region
            .chunks_exact(WORD_BYTES)
            .map(|word| read_u64(word, 0));
        let in_use = |word: u64| {
            let places = 0..self.digits.a_word();
            places
                .filter(|&place| self.digits.get(word, place) != 0)
                .count() as u64
        };
        words.map(in_use).sum()
    }

    fn drop_chance(&self, registers: &Registers) -> f64 {
        registers.occupied() as f64 / self.cells() as f64 / self.values as f64
    }

    fn lines_touched(&self) -> u32 {
        1
    }

    fn draws(&self) -> u64 {
        0
    }

    fn seen_leaves_no_trace(&self) -> bool {
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
        let Claim { at, place, value } = self.claim(observation.fingerprint);
        let word = read_u64(region.bytes(), at);
        let found = self.digits.get(word, place);
        if found == value {
            return Verdict::Seen;
        }
        let word = self.digits.replace(word, place, found, value);
        write_u64(region.bytes_mut(at..at + WORD_BYTES), 0, word);
        *registers.occupied_mut() += u64::from(found == 0);
        Verdict::New
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let Claim { at, place, value } = self.claim(fingerprint);
        match self.digits.get(read_u64(region, at), place) == value {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    /// Slots do not belong together: each is a row of its own to its keys, and all are drawn
    /// as one.
    fn anatomy(&self) -> Anatomy {
        Anatomy {
            cell: "slot",
            content: "fingerprint",
            row: "slot",
            row_cells: self.cells(),
            most: self.values,
            loss: "overwritten in its slot by a newer key",
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        let (word, place) = (index / self.digits.a_word(), index % self.digits.a_word());
        self.digits
            .get(read_u64(region, word as usize * WORD_BYTES), place)
    }

    fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        let Claim { at, place, value } = self.claim(fingerprint);
        let index = (at / WORD_BYTES) as u64 * self.digits.a_word() + place;
        // A digit to an odd base is read from the whole word.
        let (first_bit, width_bits) = match self.digits.width_bits {
            Some(width) => (place * u64::from(width), width),
            None => (0, u64::BITS),
        };
        let slot = Place {
            index,
            offset_bits: 8 * at as u64 + first_bit,
            width_bits,
            meaning: "slot",
            value: self.cell(region, index),
        };
        Evidence::any_equal(index, value, &mut std::iter::once(slot))
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        let word = reduce(fingerprint.0, self.words) as usize;
        prefetch(region, word * WORD_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_fill_a_word_whatever_the_base() {
        for base in (2..100).chain([4095, 4096, 4097, 65_535, 65_536]) {
            let digits = Digits::of_base(base);
            let full = u128::from(base).pow(digits.powers.len() as u32);
            assert!(
                full <= 1 << 64 && full * u128::from(base) > 1 << 64,
                "{base}"
            );
            let mut word = 0;
            for place in 0..digits.a_word() {
                word = digits.replace(word, place, 0, base - 1);
            }
            for place in 0..digits.a_word() {
                assert_eq!(digits.get(word, place), base - 1, "{base}");
                word = digits.replace(word, place, base - 1, place % base);
            }
            for place in 0..digits.a_word() {
                assert_eq!(digits.get(word, place), place % base, "{base}");
            }
        }
    }
}
