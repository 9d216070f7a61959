//! Taking keys out of the sample, in one pass over its slots.
//!
//! The slots that are left are those of a table into which the keys that stay were put one
//! by one, in the order in which they lay. Stores hold such tables, and a replay must come
//! to the same bytes; so that is what the tests compare with.

use super::table::{AuditTable, SampledKey};

impl AuditTable {
    /// Only the keys that stay stay; how many those are.
    ///
    /// A key moves towards its home if at all, over slots that the pass has left behind: so
    /// it needs no second table. But for the keys of a run that goes on from the last slot
    /// to the first: those are put aside, and put in at their turn.
    pub(super) fn sweep(&self, slots: &mut [u8], stays: impl Fn(&SampledKey) -> bool) -> u64 {
        let is_free = |slots: &[u8], at: usize| SampledKey::read(self.slot(slots, at)).is_none();
        let (mut start, mut end) = (0, self.slots());
        if !is_free(slots, 0) && !is_free(slots, end - 1) {
            // There is a free slot, so both of these end.
            while !is_free(slots, start) {
                start += 1;
            }
            while !is_free(slots, end - 1) {
                end -= 1;
            }
        }
        let mut aside = |range: std::ops::Range<usize>| -> Vec<SampledKey> {
            let kept = range.clone().filter_map(|at| {
                let key = SampledKey::read(self.slot(slots, at));
                key.filter(&stays)
            });
            let kept = kept.collect();
            slots[self.bytes_of(range)].fill(0);
            kept
        };
        let (first, last) = (aside(0..start), aside(end..self.slots()));
        let mut count = (first.len() + last.len()) as u64;
        for key in &first {
            self.put(slots, key);
        }
        for at in start..end {
            let Some(key) = SampledKey::read(self.slot(slots, at)) else {
                continue;
            };
            slots[self.bytes_of(at..at + 1)].fill(0);
            if stays(&key) {
                self.put(slots, &key);
                count += 1;
            }
        }
        for key in &last {
            self.put(slots, key);
        }
        count
    }

    fn put(&self, slots: &mut [u8], key: &SampledKey) {
        let (at, _) = self.find(slots, key.fingerprint);
        key.write(&mut slots[self.bytes_of(at..at + 1)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprint;
    use crate::rng::Generator;

    /// By a second table.
    fn swept_anew(
        table: &AuditTable,
        slots: &[u8],
        stays: impl Fn(&SampledKey) -> bool,
    ) -> Vec<u8> {
        let mut anew = vec![0; slots.len()];
        for slot in slots.chunks_exact(slots.len() / table.slots()) {
            if let Some(key) = SampledKey::read(slot).filter(&stays) {
                table.put(&mut anew, &key);
            }
        }
        anew
    }

    /// Tables of all degrees of fullness; in some of the small ones every slot is in the run
    /// that goes over the end, but for one.
    #[test]
    fn what_is_left_lies_where_putting_it_in_anew_would_have_put_it() {
        let draws = Generator::from_seed(3);
        let mut drawn = (0..).map(|index| draws.draw(index));
        let mut over_the_end = 0;
        for round in 0..4000 {
            let table = AuditTable::of(640 + 24 * (4 + round % 60)).expect("large enough");
            let mut slots = vec![0; table.bytes_of(0..table.slots()).end];
            let keys = drawn.next().expect("a draw") as usize % table.slots();
            for fingerprint in drawn.by_ref().take(keys) {
                let key = SampledKey {
                    fingerprint: Fingerprint(fingerprint),
                    last: fingerprint >> 40,
                    dropped: fingerprint & 2 == 0,
                    repeats: 3,
                    missed: 2,
                };
                table.put(&mut slots, &key);
            }
            let at_end = [0, table.slots() - 1].map(|at| SampledKey::read(table.slot(&slots, at)));
            over_the_end += u32::from(at_end.iter().all(Option::is_some));
            let stays = |key: &SampledKey| key.fingerprint.0 & 1 == 0;
            let expected = swept_anew(&table, &slots, stays);
            let count = table.sweep(&mut slots, stays);
            assert_eq!(slots, expected, "{keys} keys in {} slots", table.slots());
            let left = (0..table.slots()).filter(|&at| {
                let key = SampledKey::read(table.slot(&slots, at));
                key.is_some()
            });
            assert_eq!(count, left.count() as u64);
        }
        assert!(over_the_end > 400, "{over_the_end}");
    }
}
