//! The most frequent keys of a stream, in bounded memory.
//!
//! Every key is counted until there are more than may be; then one is taken off every
//! count and what is at nothing is forgotten (Misra and Gries, "Finding repeated
//! elements", 1982). So a count is at most as many too low as was taken off, and exact
//! until then.

use super::open_table::{OpenTable, Slot};

/// As much of a key as is kept to show.
const SHOWN_BYTES: usize = 160;

/// Counts of keys under way.
#[derive(Debug)]
pub struct TopKeys {
    counts: OpenTable<Counted>,
    max_keys: usize,
    taken_off: u64,
    /// The keys to be shown, in the order they came; those of forgotten ones too, until the
    /// next are forgotten. Most come once: nothing is allocated for them.
    shown: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    fingerprint: u64,
    count: u64,
    /// Where its key is among those to be shown.
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
    /// Exact up to `max_keys` keys.
    pub fn bounded(max_keys: usize) -> Self {
        TopKeys {
            counts: OpenTable::default(),
            max_keys: max_keys.max(1),
            taken_off: 0,
            shown: Vec::new(),
        }
    }

    /// The next key, by its fingerprint and as it is to be shown.
    #[inline]
    pub fn record(&mut self, fingerprint: u64, key: &[u8]) {
        if let Some(counted) = self.counts.get_mut(fingerprint) {
            counted.count += 1;
            return;
        }
        if self.counts.len() == self.max_keys {
            // The new one is met and taken off in the same breath.
            self.take_off();
            return;
        }
        let start = self.shown.len();
        self.shown
            .extend_from_slice(&key[..key.len().min(SHOWN_BYTES)]);
        let counted = Counted {
            fingerprint,
            count: 1,
            start,
            end: self.shown.len(),
        };
        self.counts.replace(fingerprint, counted);
    }

    #[cold]
    fn take_off(&mut self) {
        self.taken_off += 1;
        let before = std::mem::take(&mut self.shown);
        self.shown.reserve(before.len());
        self.counts.retain(|counted| {
            counted.count -= 1;
            if counted.count == 0 {
                return false;
            }
            let key = &before[counted.start..counted.end];
            counted.start = self.shown.len();
            self.shown.extend_from_slice(key);
            counted.end = self.shown.len();
            true
        });
    }

    /// The `most` keys with the highest counts, highest first.
    pub fn top(&self, most: usize) -> Vec<(&[u8], u64)> {
        let mut all: Vec<(&[u8], u64)> = self
            .counts
            .iter()
            .map(|counted| (&self.shown[counted.start..counted.end], counted.count))
            .collect();
        let order = |a: &(&[u8], u64), b: &(&[u8], u64)| b.1.cmp(&a.1).then(a.0.cmp(b.0));
        if most < all.len() {
            // Asked several times a second: only those that are wanted are sorted.
            all.select_nth_unstable_by(most, order);
            all.truncate(most);
        }
        all.sort_unstable_by(order);
        all
    }

    /// By how much a count may be too low.
    pub fn at_most_too_low(&self) -> u64 {
        self.taken_off
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_while_there_is_room() {
        let mut keys = TopKeys::bounded(3);
        for key in [b"a", b"b", b"a", b"c", b"b", b"a"] {
            keys.record(u64::from(key[0]), key);
        }
        assert_eq!(keys.top(2), [(&b"a"[..], 3), (&b"b"[..], 2)]);
        assert_eq!(keys.at_most_too_low(), 0);
    }

    #[test]
    fn a_frequent_key_stays_whatever_comes_between() {
        let mut keys = TopKeys::bounded(8);
        for i in 0..9000u64 {
            match i % 3 {
                0 => keys.record(1, b"often"),
                _ => keys.record(100 + i, b"once"),
            }
        }
        let top = keys.top(1);
        assert_eq!(top[0].0, b"often");
        assert!(top[0].1 + keys.at_most_too_low() >= 3000, "{top:?}");
        assert!(top[0].1 <= 3000);
    }

    /// The same, written down plainly: every count in a map, and every key's text whole.
    #[test]
    fn counts_are_those_of_the_paper() {
        let mut keys = TopKeys::bounded(50);
        let mut counts = std::collections::BTreeMap::<u64, u64>::new();
        let mut taken_off = 0;
        let text = |number: u64| format!("{number:x<200}");
        let generator = crate::rng::Generator::from_state(3);
        for i in 0..20_000 {
            // Small numbers more often.
            let number = (generator.draw(2 * i) % 400).min(generator.draw(2 * i + 1) % 400);
            keys.record(number, text(number).as_bytes());
            if counts.len() < 50 || counts.contains_key(&number) {
                *counts.entry(number).or_default() += 1;
            } else {
                taken_off += 1;
                counts.values_mut().for_each(|count| *count -= 1);
                counts.retain(|_, count| *count > 0);
            }
        }
        assert_eq!(keys.at_most_too_low(), taken_off);
        assert!(taken_off > 100);
        let mut expected: Vec<(Vec<u8>, u64)> = counts
            .iter()
            .map(|(&number, &count)| (text(number).as_bytes()[..SHOWN_BYTES].to_vec(), count))
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
