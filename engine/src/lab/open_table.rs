//! A hash table with linear probing that usually touches one cache line per lookup.
//!
//! A lookup in the standard library's table touches two cache lines, and neither can be
//! prefetched. Here a key is at the slot given by its hash or in one of the next slots. The cache
//! line can be [prefetched](OpenTable::prefetch) some keys ahead. Keys keep their order when the
//! table grows, so it is copied sequentially.

use crate::prefetch::prefetch;

/// The number of keys that callers prefetch together.
pub const BURST: usize = 32;
const MIN_SLOTS: usize = 64;
/// An odd multiplier with well-mixed bits: 2⁶⁴ divided by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A key with its data. The default is a free slot.
pub trait Slot: Copy + Default {
    /// Returns the key, or None if the slot is free.
    fn key(&self) -> Option<u64>;
}

/// A map from keys to slots.
#[derive(Debug)]
pub struct OpenTable<S> {
    /// Empty, or a power of two of slots, of which at most three quarters are used.
    slots: Vec<S>,
    len: usize,
}

impl<S> Default for OpenTable<S> {
    fn default() -> Self {
        OpenTable {
            slots: Vec::new(),
            len: 0,
        }
    }
}

impl<S: Slot> OpenTable<S> {
    /// The number of keys.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Prefetches the cache line that [`replace`](OpenTable::replace) will read.
    #[inline(always)]
    pub fn prefetch(&self, key: u64) {
        prefetch(&self.slots, self.home(key));
    }

    /// Returns the slot of a key. The caller must not change the key in it.
    #[inline]
    pub fn get_mut(&mut self, key: u64) -> Option<&mut S> {
        if self.slots.is_empty() {
            return None;
        }
        let at = self.find(key);
        let slot = &mut self.slots[at];
        slot.key().is_some().then_some(slot)
    }

    /// Stores the slot of a key. Returns its previous slot, if any.
    #[inline]
    pub fn replace(&mut self, key: u64, slot: S) -> Option<S> {
        debug_assert_eq!(slot.key(), Some(key));
        if self.slots.is_empty() {
            self.rebuild(MIN_SLOTS, |_| true);
        }
        let at = self.find(key);
        let before = std::mem::replace(&mut self.slots[at], slot);
        if before.key().is_some() {
            return Some(before);
        }
        self.len += 1;
        if self.len > self.slots.len() / 4 * 3 {
            self.rebuild(2 * self.slots.len(), |_| true);
        }
        None
    }

    /// Iterates over the used slots.
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        self.slots.iter().filter(|slot| slot.key().is_some())
    }

    /// Removes the slots for which `keep` returns false. `keep` must not change keys.
    pub fn retain(&mut self, keep: impl FnMut(&mut S) -> bool) {
        self.rebuild(self.slots.len(), keep);
    }

    /// Returns the index of a key, or of the free slot where it would be inserted.
    #[inline]
    fn find(&self, key: u64) -> usize {
        let mut at = self.home(key);
        while self.slots[at].key().is_some_and(|found| found != key) {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// Returns the preferred index of a key. It uses the high bits of the hash, so that the order
    /// of keys does not depend on the size of the table.
    #[inline]
    fn home(&self, key: u64) -> usize {
        let bits = self.slots.len().trailing_zeros();
        (key.wrapping_mul(MULTIPLIER) >> ((u64::BITS - bits) % u64::BITS)) as usize
    }

    #[cold]
    fn rebuild(&mut self, slots: usize, mut keep: impl FnMut(&mut S) -> bool) {
        let old = std::mem::replace(&mut self.slots, vec![S::default(); slots]);
        self.len = 0;
        for mut slot in old {
            if let Some(key) = slot.key().filter(|_| keep(&mut slot)) {
                let at = self.find(key);
                self.slots[at] = slot;
                self.len += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Numbered(u64, u32);

    impl Slot for Numbered {
        fn key(&self) -> Option<u64> {
            (self.1 > 0).then_some(self.0)
        }
    }

    proptest! {
        #[test]
        fn the_table_behaves_like_a_map(
            keys in proptest::collection::vec(prop_oneof![0u64..200, any::<u64>()], 0..800),
            kept in 1u64..4,
        ) {
            let mut table = OpenTable::default();
            let mut plain = BTreeMap::new();
            for half in keys.chunks(400) {
                for (number, &key) in (1..).zip(half) {
                    table.prefetch(key);
                    let slot = Numbered(key, number);
                    prop_assert_eq!(table.get_mut(key), plain.get_mut(&key));
                    prop_assert_eq!(table.replace(key, slot), plain.insert(key, slot));
                    prop_assert_eq!(table.len(), plain.len());
                }
                table.retain(|slot| slot.0 % kept == 0);
                plain.retain(|key, _| key % kept == 0);
                prop_assert_eq!(table.len(), plain.len());
                prop_assert!(table.iter().all(|slot| plain.get(&slot.0) == Some(slot)));
                prop_assert_eq!(table.iter().count(), plain.len());
            }
        }
    }

    /// Without mixing, consecutive keys would displace each other.
    #[test]
    fn consecutive_keys_are_near_their_preferred_slots() {
        let mut table = OpenTable::default();
        for key in 0..3000 {
            table.replace(key, Numbered(key, 1));
        }
        let displacement =
            |key| (table.find(key).wrapping_sub(table.home(key))) & (table.slots.len() - 1);
        assert!((0..3000).all(|key| displacement(key) < 8));
        assert_eq!(table.slots.len(), 4096);
    }
}
