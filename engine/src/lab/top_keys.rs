//! The most frequent keys of a stream, in bounded memory.
//!
//! Every key is counted until there are more than may be; then one is taken off every
//! count and what is at nothing is forgotten (Misra and Gries, "Finding repeated
//! elements", 1982). So a count is at most as many too low as was taken off, and exact
//! until then.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::truth::AlreadyHashed;

/// As much of a key as is kept to show.
const SHOWN_BYTES: usize = 160;

/// Counts of keys under way.
#[derive(Debug)]
pub struct TopKeys {
    counts: HashMap<u64, Counted, BuildHasherDefault<AlreadyHashed>>,
    max_keys: usize,
    taken_off: u64,
    /// Memory of forgotten keys for those that come: most come once.
    spare: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Counted {
    count: u64,
    key: Vec<u8>,
}

impl TopKeys {
    /// Exact up to `max_keys` keys.
    pub fn bounded(max_keys: usize) -> Self {
        TopKeys {
            counts: HashMap::default(),
            max_keys: max_keys.max(1),
            taken_off: 0,
            spare: Vec::new(),
        }
    }

    /// The next key, by its fingerprint and as it is to be shown.
    #[inline]
    pub fn record(&mut self, fingerprint: u64, key: &[u8]) {
        if let Some(counted) = self.counts.get_mut(&fingerprint) {
            counted.count += 1;
            return;
        }
        if self.counts.len() == self.max_keys {
            // The new one is met and taken off in the same breath.
            self.taken_off += 1;
            let forgotten = self.counts.extract_if(|_, counted| {
                counted.count -= 1;
                counted.count == 0
            });
            self.spare.extend(forgotten.map(|(_, counted)| counted.key));
            return;
        }
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(&key[..key.len().min(SHOWN_BYTES)]);
        self.counts.insert(
            fingerprint,
            Counted {
                count: 1,
                key: kept,
            },
        );
    }

    /// The `most` keys with the highest counts, highest first.
    pub fn top(&self, most: usize) -> Vec<(&[u8], u64)> {
        let mut all: Vec<(&[u8], u64)> = self
            .counts
            .values()
            .map(|counted| (&counted.key[..], counted.count))
            .collect();
        let order = |a: &(&[u8], u64), b: &(&[u8], u64)| b.1.cmp(&a.1).then(a.0.cmp(b.0));
        if most < all.len() {
            // Asked ten times a second: only those that are wanted are sorted.
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
}
