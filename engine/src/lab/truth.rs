//! Which observations are really first ones.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use crate::bytes::set_bit;

/// Remembers every key exactly.
#[derive(Debug)]
pub enum Truth {
    /// For keys that are numbers below a bound: a bit each, so a billion take 125 MB.
    Bitmap {
        /// One bit a key.
        bits: Vec<u8>,
        /// How many are set.
        distinct: u64,
    },
    /// For any keys: the set of their fingerprints, some 9 to 18 bytes each.
    Fingerprints(HashSet<u64, BuildHasherDefault<AlreadyHashed>>),
}

impl Truth {
    /// For `count` identities below `universe`, in whichever way takes less memory.
    pub fn for_numbers(universe: u64, count: u64) -> Self {
        const SET_BITS_A_KEY: u64 = 144;
        if universe > count.saturating_mul(SET_BITS_A_KEY) {
            return Self::for_fingerprints();
        }
        Truth::Bitmap {
            bits: vec![0; universe.div_ceil(8) as usize],
            distinct: 0,
        }
    }

    /// For identities that are fingerprints.
    pub fn for_fingerprints() -> Self {
        Truth::Fingerprints(HashSet::default())
    }

    /// Records a key; true if it had not come before.
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

    /// How many keys came.
    pub fn distinct(&self) -> u64 {
        match self {
            Truth::Bitmap { distinct, .. } => *distinct,
            Truth::Fingerprints(set) => set.len() as u64,
        }
    }
}

/// A hasher for numbers that are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_kinds_agree_with_a_plain_set(keys in proptest::collection::vec(0u64..300, 0..600)) {
            let mut plain = BTreeSet::new();
            let mut truths = [Truth::for_numbers(300, 600), Truth::for_fingerprints()];
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
