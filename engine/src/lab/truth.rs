//! Exact truth: which observations are first occurrences.

use super::open_table::{BURST, OpenTable, Slot};
use crate::bytes::set_bit;
use crate::prefetch::prefetch;

/// An exact set of keys.
#[derive(Debug)]
pub enum Truth {
    /// One bit per key, for keys that are numbers below a bound: 125 MB for a billion.
    Bitmap {
        /// One bit per key.
        bits: Vec<u8>,
        /// The number of set bits.
        distinct: u64,
    },
    /// The set of fingerprints, for any keys: 11 to 22 bytes per key.
    Fingerprints(Fingerprints),
}

/// A set of fingerprints.
#[derive(Debug, Default)]
pub struct Fingerprints {
    others: OpenTable<u64>,
    /// Whether the set contains 0, which marks a free slot in the table.
    has_zero: bool,
}

impl Slot for u64 {
    #[inline(always)]
    fn key(&self) -> Option<u64> {
        (*self != 0).then_some(*self)
    }
}

impl Fingerprints {
    #[inline]
    fn insert(&mut self, identity: u64) -> bool {
        match identity {
            0 => !std::mem::replace(&mut self.has_zero, true),
            _ => self.others.replace(identity, identity).is_none(),
        }
    }

    fn len(&self) -> u64 {
        self.others.len() as u64 + u64::from(self.has_zero)
    }
}

impl Truth {
    /// Creates a set for `count` identities below `universe`, in the form that takes less memory.
    pub fn for_numbers(universe: u64, count: u64) -> Self {
        const SET_BITS_PER_KEY: u64 = 171;
        if universe > count.saturating_mul(SET_BITS_PER_KEY) {
            return Self::for_fingerprints();
        }
        Truth::Bitmap {
            bits: vec![0; universe.div_ceil(8) as usize],
            distinct: 0,
        }
    }

    /// Creates a set for identities that are fingerprints.
    pub fn for_fingerprints() -> Self {
        Truth::Fingerprints(Fingerprints::default())
    }

    /// Adds a key. Returns whether it is a first occurrence.
    #[inline]
    pub fn is_first(&mut self, identity: u64) -> bool {
        match self {
            Truth::Bitmap { bits, distinct } => {
                let first = set_bit(&mut bits[..], identity);
                *distinct += u64::from(first);
                first
            }
            Truth::Fingerprints(set) => set.insert(identity),
        }
    }

    /// Calls [`is_first`](Truth::is_first) for many keys in order, faster than one by one.
    pub fn are_first(&mut self, identities: &[u64], first: &mut Vec<bool>) {
        for burst in identities.chunks(BURST) {
            for &identity in burst {
                match self {
                    Truth::Bitmap { bits, .. } => prefetch(bits, (identity / 8) as usize),
                    Truth::Fingerprints(set) => set.others.prefetch(identity),
                }
            }
            first.extend(burst.iter().map(|&identity| self.is_first(identity)));
        }
    }

    /// The number of distinct keys.
    pub fn distinct(&self) -> u64 {
        match self {
            Truth::Bitmap { distinct, .. } => *distinct,
            Truth::Fingerprints(set) => set.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_forms_agree_with_a_plain_set(keys in proptest::collection::vec(0u64..300, 0..600)) {
            let mut plain = BTreeSet::new();
            let forms = || [Truth::for_numbers(300, 600), Truth::for_fingerprints()];
            let expected: Vec<bool> = keys.iter().map(|&key| plain.insert(key)).collect();
            for mut truth in forms() {
                let mut first = Vec::new();
                truth.are_first(&keys, &mut first);
                prop_assert_eq!(&first, &expected);
            }
            plain.clear();
            let mut truths = forms();
            for key in keys {
                let expected = plain.insert(key);
                for truth in &mut truths {
                    prop_assert_eq!(truth.is_first(key), expected);
                    prop_assert_eq!(truth.distinct(), plain.len() as u64);
                }
            }
        }
    }
}
