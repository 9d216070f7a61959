//! Keys in the order of their last occurrence.
//!
//! A least-recently-used buffer of n entries holds the n keys at the top. The key at a given depth
//! is found in logarithmic time: every occurrence takes the next slot and frees the slot of the
//! occurrence before it. A Fenwick tree over words of 64 slots counts the slots in use. When the
//! slots run out, those in use move together.

/// The least number of words.
const MIN_WORDS: usize = 16;

/// A stack whose keys can be taken from any depth.
#[derive(Debug)]
pub(super) struct RecencyStack {
    /// The key of each slot, in the order of occurrences.
    slots: Vec<u32>,
    /// One bit per slot: whether it is in use.
    used: Vec<u64>,
    /// The Fenwick tree; entry i covers words up to i − 1.
    sums: Vec<u32>,
    len: u64,
}

impl Default for RecencyStack {
    fn default() -> Self {
        RecencyStack {
            slots: Vec::new(),
            used: vec![0; MIN_WORDS],
            sums: vec![0; MIN_WORDS + 1],
            len: 0,
        }
    }
}

impl RecencyStack {
    /// Returns the number of keys.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Puts a key that is not in the stack on top.
    pub fn push(&mut self, key: u32) {
        if self.slots.len() == self.used.len() * 64 {
            self.make_room();
        }
        let slot = self.slots.len();
        self.slots.push(key);
        self.used[slot / 64] |= 1 << (slot % 64);
        self.add(slot / 64, 1);
        self.len += 1;
    }

    /// Takes out the key at a depth; the top has depth 1. None if the stack is not so deep.
    pub fn take(&mut self, depth: u64) -> Option<u32> {
        if depth == 0 {
            return None;
        }
        // The number of keys below it.
        let mut below = self.len.checked_sub(depth)?;
        let (mut word, mut step) = (0, self.used.len());
        while step > 0 {
            if let Some(&sum) = self.sums.get(word + step)
                && u64::from(sum) <= below
            {
                below -= u64::from(sum);
                word += step;
            }
            step /= 2;
        }
        let mut bits = self.used[word];
        for _ in 0..below {
            bits &= bits - 1;
        }
        let bit = bits.trailing_zeros();
        self.used[word] &= !(1 << bit);
        self.add(word, -1);
        self.len -= 1;
        Some(self.slots[word * 64 + bit as usize])
    }

    fn add(&mut self, word: usize, change: i32) {
        let mut index = word + 1;
        while let Some(sum) = self.sums.get_mut(index) {
            *sum = sum.wrapping_add_signed(change);
            index += index & index.wrapping_neg();
        }
    }

    /// Moves the slots in use together; doubles their number if more than half are in use.
    fn make_room(&mut self) {
        let mut to = 0;
        for (word, &used) in self.used.iter().enumerate() {
            let mut bits = used;
            while bits > 0 {
                self.slots[to] = self.slots[word * 64 + bits.trailing_zeros() as usize];
                bits &= bits - 1;
                to += 1;
            }
        }
        self.slots.truncate(to);
        let words = match to > self.used.len() * 32 {
            true => self.used.len() * 2,
            false => self.used.len(),
        };
        self.used = vec![0; words];
        self.sums = vec![0; words + 1];
        for slot in 0..to {
            self.used[slot / 64] |= 1 << (slot % 64);
        }
        for index in 1..=words {
            self.sums[index] += self.used[index - 1].count_ones();
            let parent = index + (index & index.wrapping_neg());
            let sum = self.sums[index];
            if let Some(parent) = self.sums.get_mut(parent) {
                *parent += sum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Generator;

    #[test]
    fn it_equals_a_plain_list() {
        let mut stack = RecencyStack::default();
        let mut list: Vec<u32> = Vec::new();
        let generator = Generator::from_seed(1);
        for step in 0..20_000u64 {
            let draw = generator.draw(step);
            // Grows to about 700 keys, so that slots run out many times.
            if draw % 1000 < 35 || list.is_empty() {
                stack.push(step as u32);
                list.push(step as u32);
            } else {
                let depth = 1 + (draw >> 32) % list.len() as u64;
                let key = list.remove(list.len() - depth as usize);
                assert_eq!(stack.take(depth), Some(key));
                stack.push(key);
                list.push(key);
            }
            assert_eq!(stack.len(), list.len() as u64);
        }
        assert!(list.len() > 500);
        assert_eq!(stack.take(list.len() as u64 + 1), None);
        assert_eq!(stack.take(0), None);
    }
}
