//! A table of slots with one small fingerprint each: a new key overwrites its slot.
//!
//! **Guarantee.** The false positive rate is at most 1 in `values`, on any stream and however
//! long it is. A repeat is reported as New if another new key overwrote its slot in between.
//!
//! **When to use it.** There are at most two bits for each distinct key, or the number of distinct
//! keys has no bound: where a Bloom filter would be full, this filter keeps working.
//!
//! **How it works.** A key has a slot and a value from 1 to V; 0 is an empty slot. With V = 7, key
//! `a` has slot 4 and value 3. Slot 4 holds 6, so `a` is New, and the slot now holds 3. One in
//! seven of the other keys with slot 4 also has the value 3 and would be reported as Seen. A Seen
//! key changes nothing.
//!
//! Slots are digits to the base V + 1 in words of 64 bits: 21 digits for V = 7, where they are
//! plain fields of three bits, and 18 digits for V = 10. So V can be any number, not only one
//! less than a power of two.
//!
//! **Paper.** The quotient hash table with one bucket per row: Geraud, Lombard-Platet, Naccache,
//! "Quotient Hash Tables: Efficiently Detecting Duplicates in Streaming Data", 2019.
//!
//! **Departure.** In the paper a bucket takes a whole number of bits. The digits are ours.

use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::{
    BuildError, CellLayout, Evidence, EvidenceCell, Filter, FilterSpec, Observation, Registers,
    Rows, Verdict,
};
use crate::bytes::{read_u64, write_u64};
use crate::fingerprint::{Fingerprint, reduce_to_multiple};
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

/// A word as digits to a base that is known only at run time.
#[derive(Clone, Debug)]
struct Digits {
    base: u64,
    /// The powers of the base, one per digit.
    powers: Box<[u64]>,
    /// The number of bits per digit, if the base is a power of two.
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

    fn per_word(&self) -> u64 {
        self.powers.len() as u64
    }

    #[inline(always)]
    fn get(&self, word: u64, digit: u64) -> u64 {
        match self.width_bits {
            Some(width) => (word >> (digit as u32 * width)) & (self.base - 1),
            None => word / self.powers[digit as usize] % self.base,
        }
    }

    /// Returns the word with one digit changed from `old` to `new`.
    #[inline(always)]
    fn replace(&self, word: u64, digit: u64, old: u64, new: u64) -> u64 {
        let step = new.wrapping_sub(old);
        word.wrapping_add(match self.width_bits {
            Some(width) => step << (digit as u32 * width),
            None => step.wrapping_mul(self.powers[digit as usize]),
        })
    }
}

/// The slot of a key, and the key's value.
struct SlotAddress {
    /// The byte offset of the word.
    at: usize,
    digit: u64,
    value: u64,
}

impl Slot {
    /// Returns the number of values that a slot in use can have.
    pub(crate) fn values(&self) -> u64 {
        self.values
    }

    /// Returns the byte offset of the word that a number chooses.
    #[inline(always)]
    fn offset_of(&self, number: u64) -> usize {
        reduce_to_multiple(number, self.words, WORD_BYTES as u64) as usize
    }

    #[inline(always)]
    fn locate(&self, fingerprint: Fingerprint) -> SlotAddress {
        let mut probes = fingerprint.probes();
        SlotAddress {
            at: self.offset_of(probes.next_bits()),
            digit: probes.next_below(self.digits.per_word()),
            value: 1 + probes.next_below(self.values),
        }
    }
}

impl Filter for Slot {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "slot",
        title: "Table of single slots",
        summary: "Stores one small fingerprint per slot; a new key overwrites its slot.",
        promise: "The false positive rate is always at most 1 in `values`; a repeat is reported \
                  as New if another new key overwrote its slot.",
        choose_when: "There are at most two bits for each distinct key, or the number of distinct \
                      keys has no bound.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::Ours,
        source: Citation {
            authors: "R. Geraud, M. Lombard-Platet, D. Naccache",
            title: "Quotient Hash Tables: Efficiently Detecting Duplicates in Streaming Data",
            year: 2019,
        },
        advised_because: "the memory is too small to remember every key, and each slot remembers \
                          the latest",
        drawing: Drawing {
            before: &["c.f.a.b."],
            after: &["c.x.a.b."],
            caption: "Each key has one slot. A new key overwrites its slot.",
        },
        parameters: &[Parameter::integer(
            "values",
            "different fingerprints in a slot; 7 take three bits, 15 take four",
            1..=65_535,
            7,
        )],
    };

    const FORGETS: bool = true;
    const MERGES: bool = true;

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
        self.words * self.digits.per_word()
    }

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        registers.occupied() as f64 / self.cells() as f64 / self.values as f64
    }

    fn cache_lines_touched(&self) -> u32 {
        1
    }

    fn observe_reads_only_evidence(&self) -> bool {
        true
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        true
    }

    fn row_layout(&self) -> Option<Rows> {
        Some(Rows {
            count: self.words,
            bits: 8 * WORD_BYTES as u64,
        })
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
        let SlotAddress { at, digit, value } = self.locate(observation.fingerprint);
        let at = at - first_row as usize * WORD_BYTES;
        let word = read_u64(region.bytes(), at);
        let found = self.digits.get(word, digit);
        if found == value && region.untracked().is_none() {
            return Verdict::Seen;
        }
        // In plain memory, a Seen key writes the same word again: no branch depends on the key, so
        // none is mispredicted.
        let word = self.digits.replace(word, digit, found, value);
        write_u64(region.bytes_mut(at..at + WORD_BYTES), 0, word);
        *registers.occupied_mut() += u64::from(found == 0);
        Verdict::seen_if(found == value)
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let SlotAddress { at, digit, value } = self.locate(fingerprint);
        Verdict::seen_if(self.digits.get(read_u64(region, at), digit) == value)
    }

    /// A slot that was used is never empty again.
    fn may_have_forgotten(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> bool {
        let SlotAddress { at, digit, .. } = self.locate(fingerprint);
        self.digits.get(read_u64(region, at), digit) != 0
    }

    /// Each slot is a group of its own for its keys, but all of them are displayed as one group.
    fn cell_layout(&self) -> CellLayout {
        CellLayout {
            cell: "slot",
            content: "fingerprint",
            row: "slot",
            row_cells: self.cells(),
            max_value: self.values,
            loss: "overwritten in its slot by a newer key",
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        let (word, digit) = (
            index / self.digits.per_word(),
            index % self.digits.per_word(),
        );
        self.digits
            .get(read_u64(region, word as usize * WORD_BYTES), digit)
    }

    fn evidence(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Evidence {
        let SlotAddress { at, digit, value } = self.locate(fingerprint);
        let index = (at / WORD_BYTES) as u64 * self.digits.per_word() + digit;
        // A digit whose base is not a power of two is read from the whole word.
        let (first_bit, width_bits) = match self.digits.width_bits {
            Some(width) => (digit * u64::from(width), width),
            None => (0, u64::BITS),
        };
        let slot = EvidenceCell {
            index,
            offset_bits: 8 * at as u64 + first_bit,
            width_bits,
            meaning: "slot",
            value: self.cell(region, index),
        };
        Evidence::any_equal(index, value, &mut std::iter::once(slot))
    }

    /// Empties the slot. Every key with the same slot and value goes with it.
    fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        let SlotAddress { at, digit, value } = self.locate(fingerprint);
        let word = read_u64(region.bytes(), at);
        if self.digits.get(word, digit) != value {
            return Verdict::New;
        }
        let word = self.digits.replace(word, digit, value, 0);
        write_u64(region.bytes_mut(at..at + WORD_BYTES), 0, word);
        *registers.occupied_mut() -= 1;
        Verdict::Seen
    }

    /// Takes the other filter's slot if it is in use, as if its keys had come later.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        let words = region.chunks_exact_mut(WORD_BYTES);
        for (bytes, other) in words.zip(other.chunks_exact(WORD_BYTES)) {
            let (mut word, other) = (read_u64(bytes, 0), read_u64(other, 0));
            for digit in 0..self.digits.per_word() {
                let (old, new) = (self.digits.get(word, digit), self.digits.get(other, digit));
                if new != 0 {
                    word = self.digits.replace(word, digit, old, new);
                }
            }
            write_u64(bytes, 0, word);
        }
        *registers.occupied_mut() = self.recount(region);
        registers.count_others(other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        prefetch(region, self.offset_of(fingerprint.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_any_base_fill_a_word_and_round_trip() {
        for base in (2..100).chain([4095, 4096, 4097, 65_535, 65_536]) {
            let digits = Digits::of_base(base);
            let full = u128::from(base).pow(digits.powers.len() as u32);
            assert!(
                full <= 1 << 64 && full * u128::from(base) > 1 << 64,
                "{base}"
            );
            let mut word = 0;
            for digit in 0..digits.per_word() {
                word = digits.replace(word, digit, 0, base - 1);
            }
            for digit in 0..digits.per_word() {
                assert_eq!(digits.get(word, digit), base - 1, "{base}");
                word = digits.replace(word, digit, base - 1, digit % base);
            }
            for digit in 0..digits.per_word() {
                assert_eq!(digits.get(word, digit), digit % base, "{base}");
            }
        }
    }
}
