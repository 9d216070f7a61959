//! The cells with the least costs, in order, and a mark up to which the list is complete.
//!
//! A cell's *key* is its cost and its number in one word, the cost in the high bits: cells with less
//! cost come first, and of equal cost those with lower numbers. The list holds all cells whose key is
//! below the mark, and no others. It stands in the own words of a filter's registers, so a deletion
//! takes the first cell without a search. Where the list is too short, its owner moves the mark up
//! and appends the cells that it passes. Where it is too long, the mark moves down to the last
//! cell, which leaves the list.
//!
//! | own word | content |
//! |---|---|
//! | 2 | the mark |
//! | 3 | the number of cells |
//! | 4–55 | their keys, ascending |

use super::Registers;

const MARK: usize = 2;
const COUNT: usize = 3;
const KEYS: usize = 4;
/// The largest number of cells.
pub(super) const CAPACITY: usize = Registers::OWN_WORDS - KEYS;

/// How a cost and the number of a cell share a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyLayout {
    cell_bits: u32,
}

impl KeyLayout {
    /// Returns the layout for so many cells.
    pub fn new(cells: u64) -> Self {
        // One more number, for the mark behind the last cell.
        KeyLayout {
            cell_bits: u64::BITS - cells.leading_zeros(),
        }
    }

    /// Returns the largest cost: all of 32 bits but the highest number, as long as there are less
    /// than 2^32 cells.
    #[inline(always)]
    pub fn most(self) -> u32 {
        let bits = (u64::BITS - self.cell_bits).min(u32::BITS);
        ((1u64 << bits) - 2) as u32
    }

    /// Returns the key of a cell, or the mark before a cell. Behind the last cell begins the next
    /// cost.
    #[inline(always)]
    pub fn key(self, cost: u32, cell: u64) -> u64 {
        (u64::from(cost) << self.cell_bits).saturating_add(cell)
    }

    /// Returns the cost and the cell of a key.
    #[inline(always)]
    pub fn cost_and_cell(self, key: u64) -> (u32, u64) {
        let cell = key & ((1 << self.cell_bits) - 1);
        ((key >> self.cell_bits) as u32, cell)
    }
}

/// Returns the mark in the registers of a filter.
#[inline(always)]
pub(super) fn mark(registers: &Registers) -> u64 {
    registers.own()[MARK]
}

/// The list in the registers of a filter.
pub(super) struct LeastList<'a>(pub &'a mut Registers);

impl LeastList<'_> {
    /// Returns the mark. Keys below it are in the list.
    #[inline(always)]
    pub fn mark(&self) -> u64 {
        mark(self.0)
    }

    /// Moves the mark.
    #[inline(always)]
    pub fn set_mark(&mut self, mark: u64) {
        self.0.own_mut()[MARK] = mark;
    }

    /// Returns the number of cells.
    #[inline(always)]
    pub fn len(&self) -> usize {
        (self.0.own()[COUNT] as usize).min(CAPACITY)
    }

    #[inline(always)]
    fn set_len(&mut self, count: usize) {
        self.0.own_mut()[COUNT] = count as u64;
    }

    /// Returns the keys.
    #[inline(always)]
    pub fn keys(&self) -> &[u64] {
        &self.0.own()[KEYS..KEYS + self.len()]
    }

    /// Returns room for all keys.
    #[inline(always)]
    fn room(&mut self) -> &mut [u64] {
        &mut self.0.own_mut()[KEYS..]
    }

    /// Appends a key that is greater than all others. Returns false if the list is full.
    #[inline(always)]
    pub fn append(&mut self, key: u64) -> bool {
        let count = self.len();
        let has_room = count < CAPACITY;
        if has_room {
            self.room()[count] = key;
            self.set_len(count + 1);
        }
        has_room
    }

    /// Takes the first keys out. Returns how many there were.
    #[inline(always)]
    pub fn take(&mut self, keys: &mut [u64]) -> usize {
        let count = self.len();
        let taken = keys.len().min(count);
        keys[..taken].copy_from_slice(&self.keys()[..taken]);
        self.room().copy_within(taken..count, 0);
        self.room()[count - taken..count].fill(0);
        self.set_len(count - taken);
        taken
    }

    /// Inserts a key below the mark. Returns the last key if there was no room for it any more;
    /// the mark has then moved down to it.
    #[inline(always)]
    pub fn insert(&mut self, key: u64) -> Option<u64> {
        let mut count = self.len();
        let place = self.keys().partition_point(|&other| other < key);
        if count == CAPACITY {
            if place == CAPACITY {
                self.set_mark(key);
                return Some(key);
            }
            count -= 1;
        }
        let last = self.room()[CAPACITY - 1];
        self.room().copy_within(place..count, place + 1);
        self.room()[place] = key;
        let was_full = self.len() == CAPACITY;
        self.set_len(count + 1);
        was_full.then(|| {
            self.set_mark(last);
            last
        })
    }

    /// Takes a key out if it is in the list.
    #[inline(always)]
    pub fn remove(&mut self, key: u64) {
        let count = self.len();
        if let Ok(place) = self.keys().binary_search(&key) {
            self.room().copy_within(place + 1..count, place);
            self.room()[count - 1] = 0;
            self.set_len(count - 1);
        }
    }

    /// Whether the words, read from a file, are a list of cells below a number.
    pub fn is_valid(registers: &Registers, layout: KeyLayout, cells: u64) -> bool {
        let count = registers.own()[COUNT];
        let Some(keys) = registers.own()[KEYS..].get(..count.min(u64::MAX >> 1) as usize) else {
            return false;
        };
        let is_cell = |&key: &u64| layout.cost_and_cell(key).1 < cells;
        keys.iter().all(is_cell) && keys.is_sorted()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_start_of_a_sorted_set(
            steps in proptest::collection::vec((0u8..4, 0u64..300), 0..400),
        ) {
            let registers = &mut Registers::new(1);
            let mut list = LeastList(registers);
            list.set_mark(u64::MAX);
            let mut set = BTreeSet::new();
            for (step, key) in steps {
                match step {
                    0 => {
                        let mut first = vec![0; key as usize % 5];
                        let taken = list.take(&mut first);
                        let expected: Vec<u64> = set.iter().copied().take(first.len()).collect();
                        prop_assert_eq!(&first[..taken], &expected[..]);
                        expected.iter().for_each(|key| { set.remove(key); });
                    }
                    1 => {
                        list.remove(key);
                        set.remove(&key);
                    }
                    _ if set.contains(&key) || key >= list.mark() => {}
                    _ => {
                        set.insert(key);
                        let last = (set.len() > CAPACITY).then(|| set.pop_last()).flatten();
                        prop_assert_eq!(list.insert(key), last);
                        if let Some(last) = last {
                            prop_assert_eq!(list.mark(), last);
                        }
                    }
                }
                let expected: Vec<u64> = set.iter().copied().collect();
                prop_assert_eq!(list.keys(), &expected[..]);
                let unused = &list.0.own()[KEYS + set.len()..];
                prop_assert!(unused.iter().all(|&word| word == 0));
            }
        }
    }

    #[test]
    fn a_key_holds_every_cost_and_cell() {
        for cells in [1, 2, 1000, (1 << 32) - 1, 1 << 38] {
            let layout = KeyLayout::new(cells);
            for (cost, cell) in [(0, 0), (1, cells - 1), (layout.most(), cells)] {
                let key = layout.key(cost, cell);
                assert_eq!(layout.cost_and_cell(key), (cost, cell));
                assert!(key < u64::MAX);
            }
        }
        assert_eq!(KeyLayout::new((1 << 32) - 1).most(), u32::MAX - 1);
    }

    #[test]
    fn words_that_are_no_list_are_noticed() {
        let layout = KeyLayout::new(100);
        let registers = &mut Registers::new(1);
        assert!(LeastList::is_valid(registers, layout, 100));
        LeastList(registers).append(layout.key(3, 99));
        assert!(LeastList::is_valid(registers, layout, 100));
        assert!(!LeastList::is_valid(registers, layout, 99));
        LeastList(registers).append(layout.key(2, 5));
        assert!(!LeastList::is_valid(registers, layout, 100));
        for count in [CAPACITY as u64 + 1, u64::MAX] {
            let registers = &mut Registers::new(1);
            registers.own_mut()[COUNT] = count;
            assert!(!LeastList::is_valid(registers, layout, 100));
        }
    }
}
