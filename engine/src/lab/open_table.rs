//! A table of keys that one line of memory decides about.
//!
//! The standard library's tables look in two places, and nobody can ask for either ahead
//! of need. Here a key lies where its hash says or in one of the places behind, so that a
//! look mostly costs one line of memory, which can be [asked for](OpenTable::prefetch)
//! some keys before. Keys keep their order when the table grows: it is copied from one
//! end to the other, not scattered.

use crate::prefetch::prefetch;

/// How many keys whoever has many of them asks for in a row.
pub const BURST: usize = 32;
const LEAST_SLOTS: usize = 64;
/// Odd, with bits like those of chance: 2⁶⁴ divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is kept of a key. The default is a slot that is free.
pub trait Slot: Copy + Default {
    /// The key in it, unless it is free.
    fn key(&self) -> Option<u64>;
}

/// The keys met so far, each with what is kept of it.
#[derive(Debug)]
pub struct OpenTable<S> {
    /// Nothing, or a power of two of which at most three in four are taken.
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
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Asks for the memory that [`replace`](OpenTable::replace) will look at.
    #[inline(always)]
    pub fn prefetch(&self, key: u64) {
        prefetch(&self.slots, self.home(key));
    }

    /// What is kept of a key, to be changed in all but the key.
    #[inline]
    pub fn get_mut(&mut self, key: u64) -> Option<&mut S> {
        if self.slots.is_empty() {
            return None;
        }
        let at = self.find(key);
        let slot = &mut self.slots[at];
        slot.key().is_some().then_some(slot)
    }

    /// Keeps this of a key, and returns what was kept of it before.
    #[inline]
    pub fn replace(&mut self, key: u64, slot: S) -> Option<S> {
        debug_assert_eq!(slot.key(), Some(key));
        if self.slots.is_empty() {
            self.rebuild(LEAST_SLOTS, |_| true);
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

    /// All that is kept.
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        self.slots.iter().filter(|slot| slot.key().is_some())
    }

    /// Forgets all but some, and may change in those all but their keys.
    pub fn retain(&mut self, keep: impl FnMut(&mut S) -> bool) {
        self.rebuild(self.slots.len(), keep);
    }

    /// The place of a key: its own, or the free one where it would go.
    #[inline]
    fn find(&self, key: u64) -> usize {
        let mut at = self.home(key);
        while self.slots[at].key().is_some_and(|found| found != key) {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// By the high bits, so that larger tables have the same order.
    #[inline]
    fn home(&self, key: u64) -> usize {
        let bits = self.slots.len().trailing_zeros();
        (key.wrapping_mul(SPREAD) >> ((u64::BITS - bits) % u64::BITS)) as usize
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
        fn it_is_a_map(
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

    /// Neighbours would otherwise push each other far from home.
    #[test]
    fn numbers_in_a_row_lie_where_they_belong() {
        let mut table = OpenTable::default();
        for key in 0..3000 {
            table.replace(key, Numbered(key, 1));
        }
        let away = |key| (table.find(key).wrapping_sub(table.home(key))) & (table.slots.len() - 1);
        assert!((0..3000).all(|key| away(key) < 8));
        assert_eq!(table.slots.len(), 4096);
    }
}
