//! Divides the state of a [row-local](super::Rows) filter into parts that several threads can
//! change at the same time.
//!
//! A part of the rows is a part of the fingerprints, because the row does not fall when the
//! fingerprint rises. Observations of different parts commute: whatever the number of parts, the
//! bytes and the verdicts are those of one loop over all observations. Random draws do not depend
//! on the order either, because the draws of an observation follow from its position in the
//! stream.

use std::ops::Range;

use super::{Registers, Rows, Verdict};
use crate::simd::{Chosen, Interval};

/// Parts begin at a multiple of so many rows: then they begin at a multiple of eight bytes,
/// whatever the size of a row is.
const ROWS_PER_STEP: u64 = 64;

/// A part of the rows, with the bytes that hold them.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub first_row: u64,
    /// The fingerprints of the keys that belong to these rows.
    pub fingerprints: Interval,
    pub bytes: &'a mut [u8],
}

impl Rows {
    /// Divides a region into at most `parts` parts of about the same size.
    pub(crate) fn divide<'a>(&self, mut region: &'a mut [u8], parts: usize) -> Vec<Part<'a>> {
        let steps = self.count / ROWS_PER_STEP;
        let parts = (parts as u64).clamp(1, steps.max(1));
        let row_at = |part: u64| match part == parts {
            true => self.count,
            false => {
                (u128::from(steps) * u128::from(part) / u128::from(parts)) as u64 * ROWS_PER_STEP
            }
        };
        let mut divided = Vec::with_capacity(parts as usize);
        for part in 0..parts {
            let (first_row, end_row) = (row_at(part), row_at(part + 1));
            let length = match part + 1 == parts {
                true => region.len(),
                false => ((end_row - first_row) * self.bits / 8) as usize,
            };
            let (bytes, rest) = region.split_at_mut(length);
            region = rest;
            divided.push(Part {
                first_row,
                fingerprints: interval(
                    self.first_fingerprint(first_row)..self.first_fingerprint(end_row),
                ),
                bytes,
            });
        }
        divided
    }

    /// Returns the smallest fingerprint that belongs to a row or to one after it.
    fn first_fingerprint(&self, row: u64) -> u128 {
        (u128::from(row) << 64).div_ceil(u128::from(self.count))
    }

    /// Returns how many bytes the first `count` rows take.
    pub(crate) fn bytes_of(&self, count: u64) -> u64 {
        (u128::from(count) * u128::from(self.bits) / 8) as u64
    }
}

fn interval(fingerprints: Range<u128>) -> Interval {
    Interval {
        first: fingerprints.start as u64,
        length_minus_one: (fingerprints.end - fingerprints.start - 1) as u64,
    }
}

/// What one thread needs to observe its part of a batch. The buffers are used again.
#[derive(Debug, Default)]
pub(crate) struct PartWork {
    pub own: OwnKeys,
    pub verdicts: PartVerdicts,
}

impl PartWork {
    /// Prepares for a batch that finds the registers as they are `before` it.
    pub fn start(&mut self, before: &Registers) {
        self.own.registers = before.clone();
        self.own.sampled.clear();
        self.own.new = 0;
    }
}

/// The keys of a batch that belong to one part, and what observing them has changed.
#[derive(Debug)]
pub(crate) struct OwnKeys {
    /// The fingerprints of those in the present block, with their positions in it.
    pub chosen: Chosen,
    /// The thread's own copy of the registers.
    pub registers: Registers,
    /// The positions in the batch of the keys in the sample.
    pub sampled: Vec<usize>,
    /// The number of keys reported as New.
    pub new: u64,
}

impl Default for OwnKeys {
    fn default() -> Self {
        OwnKeys {
            chosen: Chosen::default(),
            registers: Registers::new(0),
            sampled: Vec::new(),
            new: 0,
        }
    }
}

/// The verdicts of one part of a batch.
#[derive(Debug, Default)]
pub(crate) struct PartVerdicts(Vec<Verdict>);

impl PartVerdicts {
    /// Returns one verdict per key of a batch, all Seen.
    pub fn start(&mut self, length: usize) -> &mut [Verdict] {
        self.0.clear();
        self.0.resize(length, Verdict::Seen);
        &mut self.0
    }

    /// Adds the verdicts of this part to those of a batch, which are Seen for keys of this part.
    pub fn add_to(&self, verdicts: &mut [Verdict]) {
        for (verdict, own) in verdicts.iter_mut().zip(&self.0) {
            // New is the smaller one. Without a branch, many are compared at once.
            *verdict = match (*own as u8) < (*verdict as u8) {
                true => *own,
                false => *verdict,
            };
        }
    }
}

impl Registers {
    /// Adds what a thread has added to its copy of the registers since they were `before`.
    pub(crate) fn add_changes(&mut self, before: &Registers, after: &Registers) {
        let occupied = after.occupied().wrapping_sub(before.occupied());
        *self.occupied_mut() = self.occupied().wrapping_add(occupied);
        let changes = before.own().iter().zip(after.own());
        for (word, (before, after)) in self.own_mut().iter_mut().zip(changes) {
            *word = word.wrapping_add(after.wrapping_sub(*before));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::reduce;

    #[test]
    fn parts_hold_every_row_and_every_fingerprint_once() {
        for (count, bits) in [(1, 512), (63, 20), (64, 20), (1000, 12), (12_345, 512)] {
            let rows = Rows { count, bits };
            let bytes = (count * bits).div_ceil(8).max(8) as usize;
            for parts in 1..=8 {
                let mut region = vec![0; bytes];
                let parts = rows.divide(&mut region, parts);
                let (mut row, mut fingerprint, mut length) = (0, 0, 0);
                for part in &parts {
                    let first = u128::from(part.fingerprints.first);
                    assert_eq!((part.first_row, first), (row, fingerprint));
                    assert_eq!(length, (part.first_row * bits / 8) as usize);
                    assert_eq!(length % 8, 0);
                    fingerprint += u128::from(part.fingerprints.length_minus_one) + 1;
                    let (first, last) = (part.fingerprints.first, (fingerprint - 1) as u64);
                    assert_eq!(reduce(first, count), row);
                    row = reduce(last, count) + 1;
                    length += part.bytes.len();
                }
                assert_eq!((row, fingerprint, length), (count, 1 << 64, bytes));
            }
        }
    }

    #[test]
    fn verdicts_of_parts_are_united() {
        use Verdict::{New, Seen};
        let mut own = PartVerdicts::default();
        own.start(4)[3] = New;
        assert_eq!(own.start(3), [Seen; 3]);
        own.start(4)[2] = New;
        let mut verdicts = [New, Seen, Seen, Seen];
        own.add_to(&mut verdicts);
        assert_eq!(verdicts, [New, Seen, New, Seen]);
    }
}
