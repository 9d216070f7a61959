//! Finds the most frequent keys of a stream, in bounded memory.
//!
//! Counts every key until there are too many. Then it subtracts one from every count and removes
//! the keys at zero (Misra and Gries, "Finding repeated elements", 1982). So a count is too low by
//! at most the number of subtractions, and exact before the first.

use super::open_table::{OpenTable, Slot};

/// The number of bytes of a key that are kept for display.
const DISPLAY_BYTES: usize = 160;

/// Counts of the most frequent keys.
#[derive(Debug)]
pub struct TopKeys {
    counts: OpenTable<Counted>,
    max_keys: usize,
    subtracted: u64,
    /// The bytes of all keys for display, in the order of their first occurrence. Removed keys
    /// stay until the next subtraction. One buffer avoids an allocation per key.
    text: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    fingerprint: u64,
    count: u64,
    /// The range of its key in `text`.
    start: usize,
    end: usize,
}

impl Slot for Counted {
    #[inline(always)]
    fn key(&self) -> Option<u64> {
        (self.count > 0).then_some(self.fingerprint)
    }
}

impl TopKeys {
    /// Creates a counter that is exact up to `max_keys` keys.
    pub fn bounded(max_keys: usize) -> Self {
        TopKeys {
            counts: OpenTable::default(),
            max_keys: max_keys.max(1),
            subtracted: 0,
            text: Vec::new(),
        }
    }

    /// Records the next key: its fingerprint, and its bytes for display.
    #[inline]
    pub fn record(&mut self, fingerprint: u64, key: &[u8]) {
        if let Some(counted) = self.counts.get_mut(fingerprint) {
            counted.count += 1;
            return;
        }
        if self.counts.len() == self.max_keys {
            // The new key would be counted once and lose that count at once.
            self.subtract_one();
            return;
        }
        let start = self.text.len();
        self.text
            .extend_from_slice(&key[..key.len().min(DISPLAY_BYTES)]);
        let counted = Counted {
            fingerprint,
            count: 1,
            start,
            end: self.text.len(),
        };
        self.counts.replace(fingerprint, counted);
    }

    #[cold]
    fn subtract_one(&mut self) {
        self.subtracted += 1;
        let before = std::mem::take(&mut self.text);
        self.text.reserve(before.len());
        self.counts.retain(|counted| {
            counted.count -= 1;
            if counted.count == 0 {
                return false;
            }
            let key = &before[counted.start..counted.end];
            counted.start = self.text.len();
            self.text.extend_from_slice(key);
            counted.end = self.text.len();
            true
        });
    }

    /// Returns the `max` keys with the highest counts, highest first.
    pub fn top(&self, max: usize) -> Vec<(&[u8], u64)> {
        let mut all: Vec<(&[u8], u64)> = self
            .counts
            .iter()
            .map(|counted| (&self.text[counted.start..counted.end], counted.count))
            .collect();
        let order = |a: &(&[u8], u64), b: &(&[u8], u64)| b.1.cmp(&a.1).then(a.0.cmp(b.0));
        if max < all.len() {
            // The page asks several times per second, so only the returned keys are sorted.
            all.select_nth_unstable_by(max, order);
            all.truncate(max);
        }
        all.sort_unstable_by(order);
        all
    }

    /// The greatest amount by which a count may be too low.
    pub fn max_undercount(&self) -> u64 {
        self.subtracted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_while_all_keys_fit() {
        let mut keys = TopKeys::bounded(3);
        for key in [b"a", b"b", b"a", b"c", b"b", b"a"] {
            keys.record(u64::from(key[0]), key);
        }
        assert_eq!(keys.top(2), [(&b"a"[..], 3), (&b"b"[..], 2)]);
        assert_eq!(keys.max_undercount(), 0);
    }

    #[test]
    fn a_frequent_key_stays_among_many_rare_keys() {
        let mut keys = TopKeys::bounded(8);
        for i in 0..9000u64 {
            match i % 3 {
                0 => keys.record(1, b"often"),
                _ => keys.record(100 + i, b"once"),
            }
        }
        let top = keys.top(1);
        assert_eq!(top[0].0, b"often");
        assert!(top[0].1 + keys.max_undercount() >= 3000, "{top:?}");
        assert!(top[0].1 <= 3000);
    }

    /// Compares with a plain implementation: a map of counts and whole keys.
    #[test]
    fn counts_equal_those_of_a_plain_implementation() {
        let mut keys = TopKeys::bounded(50);
        let mut counts = std::collections::BTreeMap::<u64, u64>::new();
        let mut subtracted = 0;
        let text = |number: u64| format!("{number:x<200}");
        let generator = crate::rng::Generator::from_state(3);
        for i in 0..20_000 {
            // Small numbers are more frequent.
            let number = (generator.draw(2 * i) % 400).min(generator.draw(2 * i + 1) % 400);
            keys.record(number, text(number).as_bytes());
            if counts.len() < 50 || counts.contains_key(&number) {
                *counts.entry(number).or_default() += 1;
            } else {
                subtracted += 1;
                counts.values_mut().for_each(|count| *count -= 1);
                counts.retain(|_, count| *count > 0);
            }
        }
        assert_eq!(keys.max_undercount(), subtracted);
        assert!(subtracted > 100);
        let mut expected: Vec<(Vec<u8>, u64)> = counts
            .iter()
            .map(|(&number, &count)| (text(number).as_bytes()[..DISPLAY_BYTES].to_vec(), count))
            .collect();
        expected.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let found: Vec<(Vec<u8>, u64)> = keys
            .top(50)
            .into_iter()
            .map(|(key, count)| (key.to_vec(), count))
            .collect();
        assert_eq!(found, expected);
    }
}
