//! Oracles of filters that keep a fingerprint of every key.

use std::collections::BTreeSet;

use dedupstore::rng::Generator;
use dedupstore::{Fingerprint, Verdict};

use super::{Oracle, Parameters, verdict};

/// A set of fingerprints, cut into quotient and remainder as in the last table.
pub struct Quotient {
    remainder_bits: u64,
    /// The numbers of quotients of the tables, the first first.
    sizes: Vec<u64>,
    present: usize,
    pub held: BTreeSet<(u64, u64)>,
}

/// Returns how many of so many slots are not spare: one in eight is, but at most 256.
fn not_spare(slots: u64) -> u64 {
    slots - (slots / 8).min(256)
}

impl Quotient {
    pub fn new(spec: &Parameters, memory_bits: u64) -> Self {
        let remainder_bits = spec.number("bits");
        // A byte, two bits and a remainder per slot, and one byte for all.
        let block_bytes = 1 + 2 * 8 + 64 * remainder_bits / 8;
        let blocks = (memory_bits / 8 - 1) / block_bytes;
        let quotients = not_spare(64 * blocks);
        let mut doublings = spec.number("doublings");
        while doublings > 0 && quotients >> doublings < 64 {
            doublings -= 1;
        }
        let first = quotients >> doublings;
        Quotient {
            remainder_bits,
            sizes: (0..=doublings).map(|doubled| first << doubled).collect(),
            present: 0,
            held: BTreeSet::new(),
        }
    }

    fn fingerprint(&self, key: Fingerprint) -> (u64, u64) {
        let quotients = self.sizes.last().expect("one table or more");
        let product = u128::from(key.0) * u128::from(*quotients);
        let remainder = (product as u64) >> (64 - self.remainder_bits);
        ((product >> 64) as u64, remainder)
    }

    /// Whether the fingerprints fit into a table: each in its own slot, or in the first behind it
    /// that is free.
    fn fit(&self, size: usize) -> bool {
        let quotients = self.sizes[size];
        let mut slots = (1..).map(|blocks| 64 * blocks);
        let slots = slots.find(|&slots| not_spare(slots) >= quotients);
        let halvings = self.sizes.len() - 1 - size;
        let next_free = self.held.iter().fold(0, |next_free, (quotient, _)| {
            next_free.max(quotient >> halvings) + 1
        });
        slots.is_some_and(|slots| next_free <= slots)
            && self.held.len() as u64 <= quotients * 95 / 100
    }

    pub fn contains(&self, key: Fingerprint) -> Verdict {
        verdict(self.held.contains(&self.fingerprint(key)))
    }

    pub fn forget(&mut self, key: Fingerprint) -> Verdict {
        verdict(self.held.remove(&self.fingerprint(key)))
    }
}

impl Oracle for Quotient {
    fn observe(&mut self, key: Fingerprint, _: Generator) -> Verdict {
        let fingerprint = self.fingerprint(key);
        if !self.held.insert(fingerprint) {
            return Verdict::Seen;
        }
        while !self.fit(self.present) {
            if self.present + 1 == self.sizes.len() {
                self.held.remove(&fingerprint);
                break;
            }
            self.present += 1;
        }
        Verdict::New
    }

    fn occupied(&self) -> u64 {
        self.held.len() as u64
    }
}
