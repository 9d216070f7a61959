//! Divides the state of a [row-local](super::Rows) filter into parts that several threads can
//! change at the same time.
//!
//! A part of the rows is a part of the fingerprints, because the row does not fall when the
//! fingerprint rises. Observations of different parts commute: whatever the number of parts, the
//! bytes and the verdicts are those of one loop over all observations. Random draws do not depend
//! on the order either, because the draws of an observation follow from its position in the
//! stream.

use std::ops::Range;

use super::{Observation, Registers, Rows, Verdict};

/// Parts begin at a multiple of so many rows: then they begin at a multiple of eight bytes,
/// whatever the size of a row is.
const ROWS_PER_STEP: u64 = 64;

/// A part of the rows, with the bytes that hold them.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub first_row: u64,
    /// The fingerprints of the keys that belong to these rows.
    pub fingerprints: Range<u128>,
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
                fingerprints: self.first_fingerprint(first_row)..self.first_fingerprint(end_row),
                bytes,
            });
        }
        divided
    }

    /// Returns the smallest fingerprint that belongs to a row or to one after it.
    fn first_fingerprint(&self, row: u64) -> u128 {
        (u128::from(row) << 64).div_ceil(u128::from(self.count))
    }

    /// Returns the first byte of a row in a part that begins with `first_row`.
    #[inline(always)]
    pub(crate) fn byte_of(&self, row: u64, first_row: u64) -> usize {
        ((row - first_row) * self.bits / 8) as usize
    }
}

/// What one thread needs to observe its part of a batch. The buffers are used again.
#[derive(Debug, Default)]
pub(crate) struct PartWork {
    /// The positions in the batch of the keys that belong to the part.
    pub own: Vec<u32>,
    /// A verdict for each position of the batch; Seen for keys of other parts.
    pub verdicts: Vec<Verdict>,
    /// The positions of the keys in the sample.
    pub sampled: Vec<usize>,
    /// The number of keys reported as New.
    pub new: u64,
}

impl PartWork {
    /// Finds the keys that belong to the part, without a branch that depends on a key.
    pub fn select(&mut self, fingerprints: &Range<u128>, observations: &[Observation]) {
        let first = fingerprints.start as u64;
        let last = (fingerprints.end - 1) as u64;
        self.own.resize(observations.len(), 0);
        let mut count = 0;
        for (position, observation) in observations.iter().enumerate() {
            self.own[count] = position as u32;
            let fingerprint = observation.fingerprint.0;
            count += usize::from((first <= fingerprint) & (fingerprint <= last));
        }
        self.own.truncate(count);
        self.verdicts.clear();
        self.verdicts.resize(observations.len(), Verdict::Seen);
        self.sampled.clear();
        self.new = 0;
    }

    /// Adds the verdicts of this part to those of a batch, which are all Seen at first.
    pub fn add_verdicts(&self, verdicts: &mut [Verdict]) {
        for (verdict, own) in verdicts.iter_mut().zip(&self.verdicts) {
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
    use crate::fingerprint::{Fingerprint, reduce};

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
                    assert_eq!(
                        (part.first_row, part.fingerprints.start),
                        (row, fingerprint)
                    );
                    assert_eq!(length, (part.first_row * bits / 8) as usize);
                    assert_eq!(length % 8, 0);
                    fingerprint = part.fingerprints.end;
                    let (first, last) = (part.fingerprints.start as u64, (fingerprint - 1) as u64);
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
        let batch: Vec<Observation> = [7u64 << 60, 1, 3 << 60, 8 << 60]
            .map(|it| Fingerprint(it).into())
            .to_vec();
        let mut work = PartWork::default();
        work.select(&(0..1 << 62), &batch);
        assert_eq!(work.own, [1, 2]);
        work.verdicts[2] = Verdict::New;
        let mut verdicts = [Verdict::Seen; 4];
        work.add_verdicts(&mut verdicts);
        work.select(&(1 << 62..1 << 64), &batch);
        assert_eq!(work.own, [0, 3]);
        work.verdicts[0] = Verdict::New;
        work.add_verdicts(&mut verdicts);
        use Verdict::{New, Seen};
        assert_eq!(verdicts, [New, Seen, New, Seen]);
    }
}
