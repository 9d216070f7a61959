//! Small values packed into one or more words, compared all at once.
//!
//! The words form one long number, and the fields follow one another from its lowest bit. A
//! field with the value 0 is empty. Bits left over at the top stay 0. Suppose that four fields
//! of eight bits hold `a b c d`: which one is `c`? XOR with `c c c c` makes only the third field
//! 0. Adding 7f to the lower seven bits of each field sets the top bit of every field that is
//! not 0, so only the third top bit stays clear.
//!
//! A field may begin in one word and end in the next. Products and sums then carry over, and a
//! match is reported in the word that contains the field's top bit.

use super::union::in_turns;
use super::{BuildError, CellLayout, Evidence, EvidenceCell, FilterSpec, Registers, Rows, Verdict};
use crate::bytes::{read_u64, write_u64};
use crate::fingerprint::{Fingerprint, reduce_to_multiple};
use crate::prefetch::prefetch;
use crate::region::Region;

/// The bits of one word that belong to fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldMasks {
    /// The lowest bit of each field.
    lowest: u64,
    /// The top bit of each field.
    top: u64,
    /// All bits but the top ones.
    low: u64,
}

/// What carries over from one word to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carry {
    product: u64,
    sum: bool,
}

impl FieldMasks {
    /// Returns the masks of word number `index` among words with `count` fields of 2 to 32 bits.
    pub fn of_word(index: u32, width_bits: u32, count: u32) -> Self {
        let bits_where = |chosen: &dyn Fn(u32) -> bool| {
            let bits = (0..u64::BITS).filter(|bit| {
                let (field, bit) = field_of(index, *bit, width_bits);
                field < count && chosen(bit)
            });
            bits.map(|bit| 1 << bit).sum()
        };
        FieldMasks {
            lowest: bits_where(&|bit| bit == 0),
            top: bits_where(&|bit| bit + 1 == width_bits),
            low: bits_where(&|bit| bit + 1 < width_bits),
        }
    }

    /// Returns all bits that belong to fields.
    #[inline(always)]
    pub fn used(&self) -> u64 {
        self.low | self.top
    }

    /// Returns a word with the value in each field. No field may extend into another word.
    #[inline(always)]
    pub fn broadcast(&self, value: u64) -> u64 {
        self.lowest.wrapping_mul(value)
    }

    /// Returns the top bit of each field that holds the value. Words are passed in order, the
    /// lowest first.
    #[inline(always)]
    pub fn matches(&self, word: u64, value: u64, carry: &mut Carry) -> u64 {
        let (pattern, product) = self.lowest.carrying_mul(value, carry.product);
        let differing = word ^ pattern;
        let (sum, overflow) = (differing & self.low).carrying_add(self.low, carry.sum);
        *carry = Carry {
            product,
            sum: overflow,
        };
        self.top & !(sum | differing)
    }
}

/// Returns the field that a bit of a word belongs to, and the bit's number in the field.
fn field_of(index: u32, bit: u32, width_bits: u32) -> (u32, u32) {
    let at = index * u64::BITS + bit;
    (at / width_bits, at % width_bits)
}

/// Groups of `BYTES` bytes with as many fields as fit; each key has one group. The field values
/// are fingerprints from 1 to 2^width − 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldGroups<const BYTES: usize> {
    count: u64,
    /// The number of bits of a field.
    pub width_bits: u32,
    /// The number of fields in a group.
    pub fields: u32,
}

impl<const BYTES: usize> FieldGroups<BYTES> {
    const BITS: u64 = 8 * BYTES as u64;

    /// Returns as many groups as the memory holds, at least one.
    pub fn fitting(
        spec: &FilterSpec,
        memory_bits: u64,
        width_bits: u32,
    ) -> Result<Self, BuildError> {
        match memory_bits / Self::BITS {
            0 => Err(BuildError::TooSmall {
                filter: spec.to_string(),
                memory_bits,
                minimum_bits: Self::BITS,
            }),
            count => Ok(FieldGroups {
                count,
                width_bits,
                fields: Self::BITS as u32 / width_bits,
            }),
        }
    }

    /// Returns the number of groups.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of values that a field in use can have.
    #[inline(always)]
    pub fn values(&self) -> u64 {
        (1 << self.width_bits) - 1
    }

    pub fn region_bytes(&self) -> u64 {
        self.count * BYTES as u64
    }

    pub fn cells(&self) -> u64 {
        self.count * u64::from(self.fields)
    }

    /// Returns the byte offset of the group that a number chooses.
    #[inline(always)]
    fn offset_of(&self, number: u64) -> usize {
        const { assert!(BYTES.is_power_of_two()) };
        reduce_to_multiple(number, self.count, BYTES as u64) as usize
    }

    /// Returns the byte offset of a key's group, and the key's value.
    #[inline(always)]
    pub fn locate(&self, fingerprint: Fingerprint) -> (usize, u64) {
        let mut probes = fingerprint.probes();
        let at = self.offset_of(probes.next_bits());
        (at, 1 + probes.next_below(self.values()))
    }

    /// Returns the groups as rows of a row-local filter.
    pub fn rows(&self) -> Rows {
        Rows {
            count: self.count,
            bits: 8 * BYTES as u64,
        }
    }

    /// Does what [`locate`](FieldGroups::locate) does, in a part of the region that begins with
    /// the group `first`.
    #[inline(always)]
    pub fn locate_from(&self, first: u64, fingerprint: Fingerprint) -> (usize, u64) {
        let (at, value) = self.locate(fingerprint);
        (at - first as usize * BYTES, value)
    }

    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], fingerprint: Fingerprint) {
        prefetch(region, self.offset_of(fingerprint.0));
    }

    /// Returns the false positive rate. The values of a group differ, so each of them is one
    /// more value that a new key may have.
    pub fn false_positive_rate(&self, occupied: u64) -> f64 {
        let held = occupied as f64 / self.count as f64;
        (held / self.values() as f64).min(1.0)
    }

    pub fn cell_layout(&self, row: &'static str, loss: &'static str) -> CellLayout {
        CellLayout {
            cell: "field",
            content: "fingerprint",
            row,
            row_cells: u64::from(self.fields),
            max_value: self.values(),
            loss,
        }
    }

    /// Appends the values of a group that are in use, in the order of its fields.
    fn read_values(&self, group: &[u8], values: &mut Vec<u64>) {
        for field in 0..self.fields {
            let start = field * self.width_bits;
            let (word, shift) = ((start / u64::BITS) as usize, start % u64::BITS);
            let mut value = read_u64(group, 8 * word) >> shift;
            if shift + self.width_bits > u64::BITS {
                value |= read_u64(group, 8 * word + 8) << (u64::BITS - shift);
            }
            match value & self.values() {
                0 => {}
                value => values.push(value),
            }
        }
    }

    /// Replaces the values of a group by others, of which there are at most as many as fields.
    fn write_values(&self, group: &mut [u8], values: &[u64]) {
        group.fill(0);
        for (field, &value) in (0..).zip(values) {
            let start = field * self.width_bits;
            let (word, shift) = ((start / u64::BITS) as usize, start % u64::BITS);
            let low = read_u64(group, 8 * word) | value << shift;
            write_u64(group, 8 * word, low);
            if shift + self.width_bits > u64::BITS {
                write_u64(group, 8 * word + 8, value >> (u64::BITS - shift));
            }
        }
    }

    /// Removes the value of a key from its group; the values behind it move up. Returns Seen if it
    /// was there.
    pub fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        let (at, value) = self.locate(fingerprint);
        let mut values = Vec::new();
        self.read_values(&region.bytes()[at..at + BYTES], &mut values);
        let before = values.len();
        values.retain(|&held| held != value);
        if values.len() == before {
            return Verdict::New;
        }
        self.write_values(region.bytes_mut(at..at + BYTES), &values);
        *registers.occupied_mut() -= (before - values.len()) as u64;
        Verdict::Seen
    }

    /// Unites the values of each group: those of the two filters in turns, the first ones first, as
    /// many as there are fields. Nothing is known about which filter's keys came later.
    pub fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) {
        let (mut one, mut more, mut united) = (Vec::new(), Vec::new(), Vec::new());
        let mut occupied = 0;
        let groups = region.chunks_exact_mut(BYTES);
        for (group, other) in groups.zip(other.chunks_exact(BYTES)) {
            one.clear();
            more.clear();
            self.read_values(group, &mut one);
            self.read_values(other, &mut more);
            in_turns(&one, &more, |value| value, &mut united);
            united.truncate(self.fields as usize);
            self.write_values(group, &united);
            occupied += united.len() as u64;
        }
        *registers.occupied_mut() = occupied;
        registers.count_others(other_registers);
    }

    /// Reads field number `index` of all fields.
    pub fn field(&self, region: &[u8], index: u64) -> EvidenceCell {
        let fields = u64::from(self.fields);
        let (group, field) = (index / fields, index % fields);
        let offset_bits = group * Self::BITS + field * u64::from(self.width_bits);
        EvidenceCell::read("field", index, offset_bits, self.width_bits, region)
    }

    pub fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        let (at, value) = self.locate(fingerprint);
        let group = (at / BYTES) as u64;
        let fields = u64::from(self.fields);
        let indices = group * fields..(group + 1) * fields;
        let mut cells = indices.map(|index| self.field(region, index));
        Evidence::any_equal(group, value, &mut cells)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn matches_agree_with_a_comparison_field_by_field(
            width in 2u32..=32, words in proptest::collection::vec(any::<u64>(), 1..9), value: u64,
        ) {
            let count = 64 * words.len() as u32 / width;
            let indices = 0..words.len() as u32;
            let masks: Vec<FieldMasks> =
                indices.map(|index| FieldMasks::of_word(index, width, count)).collect();
            let words: Vec<u64> =
                words.iter().zip(&masks).map(|(word, masks)| word & masks.used()).collect();
            let bit = |at: u32| words[(at / 64) as usize] >> (at % 64) & 1;
            let field = |i: u32| (0..width).map(|j| bit(i * width + j) << j).sum::<u64>();
            let held: Vec<u64> = (0..count).map(field).collect();
            let value = value & ((1 << width) - 1);
            for value in held.iter().copied().chain([value, 0]) {
                let mut carry = Carry::default();
                let mut found = Vec::new();
                for (index, (masks, &word)) in (0..).zip(masks.iter().zip(&words)) {
                    let matches = masks.matches(word, value, &mut carry);
                    let bits = (0..64).filter(|bit| matches >> bit & 1 == 1);
                    found.extend(bits.map(|bit| field_of(index, bit, width)));
                }
                let equal = (0..).zip(&held).filter(|&(_, &one)| one == value);
                let expected: Vec<_> = equal.map(|(i, _)| (i, width - 1)).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
