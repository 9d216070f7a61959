//! Oracles of filters that keep a fingerprint of every key.

use std::collections::BTreeSet;

use dedupstore::rng::Generator;
use dedupstore::{Fingerprint, Verdict};

use super::{Oracle, Parameters, verdict};

/// A table of some size, in sixteenths of 2^level times the first table.
#[derive(Clone, Copy)]
struct Size {
    level: u32,
    sixteenths: u64,
    /// The bits of a remainder, and the least that may be left of one.
    width: u32,
    shortest: u32,
    slots: u64,
    /// The slots of a block.
    block_slots: u64,
    capacity: u64,
}

/// A set of fingerprints of several lengths: (depth, number) stands for the keys in this one of
/// first·2^depth equal parts of all keys.
pub struct Quotient {
    first: u64,
    /// The tables, the first first.
    sizes: Vec<Size>,
    present: usize,
    pub held: BTreeSet<(u32, u64)>,
}

/// Returns how many of so many slots are not spare: one in twelve is, but at most 512.
fn not_spare(slots: u64) -> u64 {
    slots - (slots / 12).min(512)
}

/// Returns the bytes and the slots of a block, given the bits of a slot: a byte, and two bits and the
/// slot for each of 24 to 59 slots, or of 33 to 59 in a small block.
fn block(slot_bits: u64) -> (u64, u64) {
    let mut blocks = [(32, 33), (64, 24), (128, 24), (192, 24)].into_iter();
    let slots = |bytes: u64| (8 * bytes - 8) / (2 + slot_bits);
    let found = blocks.find(|&(bytes, fewest)| slots(bytes) >= fewest);
    let (bytes, _) = found.expect("the largest is large enough");
    (bytes, slots(bytes).min(59))
}

impl Quotient {
    pub fn new(spec: &Parameters, memory_bits: u64) -> Self {
        let (bits, longest) = (spec.number("bits"), spec.number("longest"));
        let mut doublings = spec.number("doublings");
        // A remainder and perhaps a mark per slot, and a cache line for all.
        let mark = u64::from(bits + doublings > longest);
        let (block_bytes, block_slots) = block(bits + mark);
        // As many slots as there is room for, but then up to the next whole block.
        let room = (memory_bits / 8 - 64) * block_slots / block_bytes;
        let quotients = not_spare(room - (block_slots - 1));
        while doublings > 0 && quotients >> doublings < 64 {
            doublings -= 1;
        }
        let first = quotients >> doublings;
        let mut sizes: Vec<Size> = Vec::new();
        let mut most_bytes = 0;
        for level in 0..=doublings {
            let width = (bits + doublings - level).min(longest.max(bits));
            for sixteenths in [16, 19, 23, 27] {
                let quotients = ((first * sixteenths) << level).div_ceil(16);
                let (block_bytes, block_slots) = block(width + mark);
                let mut blocks = 1..;
                let blocks = blocks.find(|&count| not_spare(count * block_slots) >= quotients);
                let blocks = blocks.expect("some number is enough");
                let bytes = blocks * block_bytes;
                // A size that takes no more memory than the one before is left out.
                let is_last = level == doublings && sixteenths > 16;
                if bytes > most_bytes && !is_last {
                    most_bytes = bytes;
                    sizes.push(Size {
                        level: level as u32,
                        sixteenths,
                        width: width as u32,
                        shortest: (width / 2).min(5) as u32,
                        slots: blocks * block_slots,
                        block_slots,
                        capacity: quotients * 98 / 100,
                    });
                }
            }
        }
        Quotient {
            first,
            sizes,
            present: 0,
            held: BTreeSet::new(),
        }
    }

    fn part(&self, key: Fingerprint, depth: u32) -> (u32, u64) {
        let scaled = u128::from(key.0) * u128::from(self.first);
        (depth, (scaled >> (64 - depth)) as u64)
    }

    /// Returns the fingerprint that holds a key.
    fn holder(&self, key: Fingerprint) -> Option<(u32, u64)> {
        let mut parts = (0..=60).map(|depth| self.part(key, depth));
        parts.find(|part| self.held.contains(part))
    }

    /// Divides fingerprints of which too little would be left, and returns whether all fit into a
    /// table: each in the first free slot of its block or behind it.
    fn fit(&self, size: Size) -> Option<BTreeSet<(u32, u64)>> {
        let mut divided = BTreeSet::new();
        for &(depth, number) in &self.held {
            let more = (size.level + size.shortest).saturating_sub(depth);
            divided.extend((0..1 << more).map(|part| (depth + more, (number << more) + part)));
        }
        let mut quotients: Vec<u64> = divided.iter().map(|it| size.quotient(*it)).collect();
        quotients.sort_unstable();
        let next_free = quotients
            .iter()
            .map(|quotient| quotient - quotient % size.block_slots)
            .fold(0, |next_free, first| first.max(next_free) + 1);
        (next_free <= size.slots).then_some(divided)
    }

    pub fn contains(&self, key: Fingerprint) -> Verdict {
        verdict(self.holder(key).is_some())
    }

    pub fn forget(&mut self, key: Fingerprint) -> Verdict {
        match self.holder(key) {
            Some(part) => verdict(self.held.remove(&part)),
            None => Verdict::New,
        }
    }

    /// Whether all fingerprints are equally long.
    pub fn is_uniform(&self) -> bool {
        let depth = |size: &Size| size.level + size.width;
        self.sizes.first().map(depth) == self.sizes.last().map(depth)
    }

    /// Records a key that is not held. Returns false, and records nothing, if it does not fit into
    /// the present table.
    fn record(&mut self, key: Fingerprint) -> bool {
        let size = self.sizes[self.present];
        let part = self.part(key, size.level + size.width);
        self.held.insert(part);
        let fits = self.held.len() as u64 <= size.capacity && self.fit(size).is_some();
        if !fits {
            self.held.remove(&part);
        }
        fits
    }
}

impl Size {
    /// Returns the quotient in which a part begins.
    fn quotient(&self, (depth, number): (u32, u64)) -> u64 {
        let numerator = (u128::from(number) * u128::from(self.sixteenths)) << self.level;
        (numerator >> (4 + depth)) as u64
    }
}

impl Oracle for Quotient {
    fn observe(&mut self, key: Fingerprint, _: Generator) -> Verdict {
        if self.contains(key).is_seen() {
            return Verdict::Seen;
        }
        while !self.record(key) {
            let larger = (self.present + 1..self.sizes.len())
                .find_map(|size| Some((size, self.fit(self.sizes[size])?)));
            let Some((size, divided)) = larger else {
                break;
            };
            (self.present, self.held) = (size, divided);
        }
        Verdict::New
    }

    fn occupied(&self) -> u64 {
        self.held.len() as u64
    }
}
