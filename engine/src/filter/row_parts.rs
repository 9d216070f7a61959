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
            registers: Registers::new(0),
            sampled: Vec::new(),
            new: 0,
        }
    }
}

/// A thread looks for its own keys among so many at a time: few enough that those it found before
/// keep the memory busy meanwhile.
pub(crate) const BLOCK: usize = 256;
/// The number of positions that can wait; a power of two.
const QUEUE: usize = 2 * BLOCK;

/// The positions in a batch of the keys that belong to a part, first in, first out.
#[derive(Debug)]
pub(crate) struct Positions {
    queue: [u32; QUEUE],
    /// The number of positions that were added.
    added: usize,
    /// The number of positions that were removed.
    removed: usize,
}

impl Positions {
    pub fn new() -> Self {
        Positions {
            queue: [0; QUEUE],
            added: 0,
            removed: 0,
        }
    }

    /// Adds the positions of the keys of a block that belong to the part with these fingerprints.
    /// No branch depends on a key. At most [`BLOCK`] positions may wait before.
    #[inline(always)]
    pub fn select(&mut self, fingerprints: &Range<u128>, offset: usize, block: &[Observation]) {
        debug_assert!(block.len() <= BLOCK && self.waiting() <= BLOCK);
        let first = fingerprints.start as u64;
        let length = (fingerprints.end - fingerprints.start - 1) as u64;
        let mut added = self.added;
        for (position, observation) in (offset as u32..).zip(block) {
            self.queue[added % QUEUE] = position;
            let distance = observation.fingerprint.0.wrapping_sub(first);
            added += usize::from(distance <= length);
        }
        self.added = added;
    }

    /// Returns how many positions wait.
    #[inline(always)]
    pub fn waiting(&self) -> usize {
        self.added - self.removed
    }

    /// Returns the position that `ahead` others precede, which must be fewer than wait.
    #[inline(always)]
    pub fn later(&self, ahead: usize) -> usize {
        self.queue[(self.removed + ahead) % QUEUE] as usize
    }

    /// Removes the first position. One must wait.
    #[inline(always)]
    pub fn next(&mut self) -> usize {
        let position = self.later(0);
        self.removed += 1;
        position
    }
}

/// The verdicts of one part of a batch.
#[derive(Debug, Default)]
pub(crate) struct PartVerdicts(Vec<Verdict>);

impl PartVerdicts {
    /// Returns memory for one verdict per key of a batch, with any content.
    pub fn start(&mut self, length: usize) -> &mut [Verdict] {
        if self.0.len() < length {
            self.0.resize(length, Verdict::Seen);
        }
        &mut self.0[..length]
    }

    /// Adds the verdicts of this part from a position on to those of a batch. Of each key, one of
    /// the two verdicts is Seen because the key belongs to another part.
    pub fn add_to(&self, verdicts: &mut [Verdict], from: usize) {
        for (verdict, own) in verdicts.iter_mut().zip(&self.0[from..]) {
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
    fn every_key_is_selected_for_its_part() {
        let keys = [7u64 << 60, 1, 3 << 60, 8 << 60, u64::MAX, 0];
        let keys: Vec<Observation> = keys.map(|it| Fingerprint(it).into()).to_vec();
        let selected = |fingerprints: Range<u128>| {
            let mut positions = Positions::new();
            let mut selected = Vec::new();
            // More rounds than the queue has places.
            for round in 0..400 {
                let offset = 6 * round;
                positions.select(&fingerprints, offset, &keys);
                while positions.waiting() > 3 {
                    selected.push(positions.next());
                }
            }
            while positions.waiting() > 0 {
                selected.push(positions.next());
            }
            selected
        };
        let in_each_round = |keys: &[usize]| -> Vec<usize> {
            (0..400)
                .flat_map(|round| keys.iter().map(move |key| 6 * round + key))
                .collect()
        };
        assert_eq!(selected(0..1 << 62), in_each_round(&[1, 2, 5]));
        assert_eq!(selected(1 << 62..1 << 64), in_each_round(&[0, 3, 4]));
        assert_eq!(selected(0..1 << 64).len(), 2400);
        assert!(selected(1..2).len() == 400);
    }

    #[test]
    fn verdicts_of_parts_are_united() {
        use Verdict::{New, Seen};
        let mut own = PartVerdicts::default();
        own.start(4).copy_from_slice(&[New; 4]);
        assert_eq!(own.start(3).len(), 3);
        own.start(4).copy_from_slice(&[Seen, Seen, New, Seen]);
        let mut verdicts = [New, Seen, Seen, Seen];
        own.add_to(&mut verdicts, 0);
        assert_eq!(verdicts, [New, Seen, New, Seen]);
        let mut last = [Seen, New];
        own.add_to(&mut last, 2);
        assert_eq!(last, [New, New]);
    }
}
