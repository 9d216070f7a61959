//! Little-endian numbers, bits and packed cells in byte slices. No other module encodes them.
//!
//! Cells of 1 to 16 bits are packed without gaps, lowest bit first: cell `i` of width `w` is the
//! bits `i·w .. (i+1)·w` of the region, where bit `b` is bit `b % 8` of byte `b / 8`. With 3-bit
//! cells, cell 2 is the bits 6, 7, 8: the two top bits of byte 0 and the lowest bit of byte 1.

use std::ops::Range;

use crate::region::Region;

/// Reads a little-endian number at a byte offset.
#[inline]
pub fn read_u16(bytes: &[u8], at: usize) -> u16 {
    let mut raw = [0; 2];
    raw.copy_from_slice(&bytes[at..at + 2]);
    u16::from_le_bytes(raw)
}

/// Reads a little-endian number at a byte offset.
#[inline]
pub fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let mut raw = [0; 4];
    raw.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(raw)
}

/// Reads a little-endian number at a byte offset.
#[inline]
pub fn read_u64(bytes: &[u8], at: usize) -> u64 {
    let mut raw = [0; 8];
    raw.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(raw)
}

/// Writes a little-endian number at a byte offset.
#[inline]
pub fn write_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

/// Writes a little-endian number at a byte offset.
#[inline]
pub fn write_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Writes a little-endian number at a byte offset.
#[inline]
pub fn write_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Whether a bit is set.
#[inline]
pub fn bit(bytes: &[u8], index: u64) -> bool {
    bytes[(index / 8) as usize] & bit_mask(index) != 0
}

/// Sets a bit; returns true if it was clear. Always writes, to avoid a branch.
#[inline]
pub fn set_bit<R: Region + ?Sized>(region: &mut R, index: u64) -> bool {
    let byte = &mut byte_of_bit(region, index)[0];
    let was_clear = *byte & bit_mask(index) == 0;
    *byte |= bit_mask(index);
    was_clear
}

/// Clears a bit; returns true if it was set. Always writes, like [`set_bit`].
#[inline]
pub fn clear_bit<R: Region + ?Sized>(region: &mut R, index: u64) -> bool {
    let byte = &mut byte_of_bit(region, index)[0];
    let was_set = *byte & bit_mask(index) != 0;
    *byte &= !bit_mask(index);
    was_set
}

#[inline]
fn bit_mask(index: u64) -> u8 {
    1 << (index % 8)
}

#[inline]
fn byte_of_bit<R: Region + ?Sized>(region: &mut R, index: u64) -> &mut [u8] {
    let byte = (index / 8) as usize;
    region.bytes_mut(byte..byte + 1)
}

/// Counts the set bits in `range`.
pub fn count_ones(bytes: &[u8], range: Range<u64>) -> u64 {
    if range.is_empty() {
        return 0;
    }
    let (first, last) = ((range.start / 8) as usize, ((range.end - 1) / 8) as usize);
    let words = bytes[first..=last].chunks(8);
    let whole: u64 = words
        .map(|word| {
            let mut raw = [0; 8];
            raw[..word.len()].copy_from_slice(word);
            u64::from(u64::from_le_bytes(raw).count_ones())
        })
        .sum();
    let before = bytes[first] & (bit_mask(range.start) - 1);
    let after = match range.end % 8 {
        0 => 0,
        used => bytes[last] >> used,
    };
    whole - u64::from(before.count_ones()) - u64::from(after.count_ones())
}

/// Returns the first set bit in `range`; None if all are clear.
pub fn first_set_bit(bytes: &[u8], range: Range<u64>) -> Option<u64> {
    let mut at = range.start;
    while at < range.end {
        let byte = bytes[(at / 8) as usize] >> (at % 8);
        if byte != 0 {
            return Some(at + u64::from(byte.trailing_zeros())).filter(|&found| found < range.end);
        }
        at = (at / 8 + 1) * 8;
    }
    None
}

/// Returns the offset of eight bytes that contain a run of up to 57 bits, and the run's first bit
/// in them. The region has at least eight bytes.
///
/// The eight bytes are an aligned word if the run fits into one. Eight bytes from the run's first
/// byte would often reach into the next cache line, which was not prefetched.
#[inline]
pub fn window(length: usize, first_bit: u64, count: u64) -> (usize, u32) {
    let first = match first_bit % 64 + count <= 64 {
        true => first_bit / 64 * 8,
        false => first_bit / 8,
    };
    // At the end of the region the window is moved back to stay inside.
    let at = (first as usize).min(length - 8);
    (at, (first_bit - 8 * at as u64) as u32)
}

/// Packed cells of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedCells {
    width_bits: u32,
}

impl PackedCells {
    /// The largest width of a cell.
    #[cfg(test)]
    pub const MAX_WIDTH_BITS: u32 = 16;

    /// Returns the narrowest cells that can hold values up to `max`, which is from 1 to 65,535.
    pub fn holding(max: u16) -> Self {
        PackedCells {
            width_bits: (u16::BITS - max.leading_zeros()).max(1),
        }
    }

    /// Returns the width of a cell.
    pub fn width_bits(self) -> u32 {
        self.width_bits
    }

    /// Returns the size of so many cells in bytes: at least eight, because eight are read at once.
    pub fn bytes(self, count: u64) -> u64 {
        (count * u64::from(self.width_bits)).div_ceil(8).max(8)
    }

    /// Returns the first byte of a cell, for prefetching.
    #[inline]
    pub fn byte_of(self, index: u64) -> usize {
        (index * u64::from(self.width_bits) / 8) as usize
    }

    /// Returns the eight bytes that contain a cell, and its first bit in them; see [`window`].
    #[inline]
    fn window(self, length: usize, index: u64) -> (usize, u32) {
        let width_bits = u64::from(self.width_bits);
        window(length, index * width_bits, width_bits)
    }

    #[inline]
    fn mask(self) -> u64 {
        (1 << self.width_bits) - 1
    }

    /// Returns the value of a cell.
    #[inline]
    pub fn get(self, bytes: &[u8], index: u64) -> u32 {
        let (at, shift) = self.window(bytes.len(), index);
        ((read_u64(bytes, at) >> shift) & self.mask()) as u32
    }

    /// Writes a cell.
    #[inline]
    pub fn set<R: Region + ?Sized>(self, region: &mut R, index: u64, value: u32) {
        let (at, shift) = self.window(region.bytes().len(), index);
        let window = region.bytes_mut(at..at + 8);
        let others = read_u64(window, 0) & !(self.mask() << shift);
        let own = (u64::from(value) & self.mask()) << shift;
        write_u64(window, 0, others | own);
    }

    /// Changes a cell. Returns its value before and after that.
    #[inline]
    pub fn change<R: Region + ?Sized>(
        self,
        region: &mut R,
        index: u64,
        change: impl Fn(u32) -> u32,
    ) -> (u32, u32) {
        let (at, shift) = self.window(region.bytes().len(), index);
        let word = read_u64(region.bytes(), at);
        let old = ((word >> shift) & self.mask()) as u32;
        let new = change(old) & self.mask() as u32;
        // A cache line that stays as it is need not be written back to memory.
        if new != old {
            let changed = word ^ (u64::from(old ^ new) << shift);
            write_u64(region.bytes_mut(at..at + 8), 0, changed);
        }
        (old, new)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a cell bit by bit.
    fn naive_get(bytes: &[u8], width: u32, index: u64) -> u32 {
        (0..width)
            .filter(|&i| bit(bytes, index * u64::from(width) + u64::from(i)))
            .map(|i| 1 << i)
            .sum()
    }

    proptest! {
        #[test]
        fn cells_agree_with_a_bit_by_bit_implementation(
            width in 1..=PackedCells::MAX_WIDTH_BITS,
            start in proptest::collection::vec(any::<u8>(), 8..40),
            writes in proptest::collection::vec((any::<u64>(), any::<u32>()), 0..40),
        ) {
            let cells = PackedCells::holding(((1u32 << width) - 1) as u16);
            prop_assert_eq!(cells.width_bits(), width);
            let count = 8 * start.len() as u64 / u64::from(width);
            let mut bytes = start;
            let mut model: Vec<u32> = (0..count).map(|i| naive_get(&bytes, width, i)).collect();
            let spare_bits = bytes.len() as u64 * 8 - count * u64::from(width);
            let spare = |bytes: &[u8]| -> Vec<bool> {
                let end = bytes.len() as u64 * 8;
                (end - spare_bits..end).map(|i| bit(bytes, i)).collect()
            };
            let untouched = spare(&bytes);
            for (index, value) in writes {
                let (index, value) = (index % count, value & ((1 << width) - 1));
                cells.set(&mut bytes[..], index, value);
                model[index as usize] = value;
                let other = (index + 1) % count;
                let old = std::mem::replace(&mut model[other as usize], value / 2);
                let changed = cells.change(&mut bytes[..], other, |_| value / 2);
                prop_assert_eq!(changed, (old, value / 2));
            }
            for (index, &value) in model.iter().enumerate() {
                prop_assert_eq!(cells.get(&bytes, index as u64), value);
            }
            prop_assert_eq!(spare(&bytes), untouched);
        }

        #[test]
        fn cells_are_as_narrow_as_possible(max in 1u16..) {
            let width = PackedCells::holding(max).width_bits();
            prop_assert!(u32::from(max) < 1 << width && u32::from(max) >= 1 << (width - 1));
        }

        #[test]
        fn counting_agrees_with_reading_each_bit(bytes in proptest::collection::vec(any::<u8>(), 1..40), a: u64, b: u64) {
            let bits = bytes.len() as u64 * 8;
            let (a, b) = (a % (bits + 1), b % (bits + 1));
            let range = a.min(b)..a.max(b);
            let counted = range.clone().filter(|&i| bit(&bytes, i)).count() as u64;
            prop_assert_eq!(count_ones(&bytes, range.clone()), counted);
            let first = range.clone().find(|&i| bit(&bytes, i));
            prop_assert_eq!(first_set_bit(&bytes, range), first);
        }
    }

    #[test]
    fn a_window_contains_its_run_and_is_an_aligned_word_if_possible() {
        for length in 8..=24 {
            let bits = 8 * length as u64;
            for (first_bit, count) in (0..bits).flat_map(|first| (0..=57).map(move |n| (first, n)))
            {
                if first_bit + count > bits {
                    continue;
                }
                let (at, shift) = window(length, first_bit, count);
                assert_eq!(8 * at as u64 + u64::from(shift), first_bit);
                assert!(at + 8 <= length && u64::from(shift) + count <= 64);
                assert!(shift < u64::BITS);
                let word = first_bit / 64 * 8;
                if first_bit % 64 + count <= 64 && word + 8 <= length as u64 {
                    assert_eq!(at as u64, word);
                }
            }
        }
    }

    #[test]
    fn setting_and_clearing_report_the_change() {
        let mut bytes = [0u8; 8];
        assert!(set_bit(&mut bytes[..], 63));
        assert!(!set_bit(&mut bytes[..], 63));
        assert_eq!(bytes[7], 0x80);
        assert!(clear_bit(&mut bytes[..], 63));
        assert!(!clear_bit(&mut bytes[..], 63));
    }

    #[test]
    fn numbers_are_little_endian() {
        let mut bytes = [0u8; 13];
        write_u64(&mut bytes, 1, 0x0102_0304_0506_0708);
        write_u32(&mut bytes, 9, 0x0a0b_0c0d);
        assert_eq!(bytes, [0, 8, 7, 6, 5, 4, 3, 2, 1, 0x0d, 0x0c, 0x0b, 0x0a]);
        assert_eq!(read_u64(&bytes, 1), 0x0102_0304_0506_0708);
        assert_eq!(read_u32(&bytes, 9), 0x0a0b_0c0d);
    }
}
