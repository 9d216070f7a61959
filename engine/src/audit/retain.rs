//! Removes keys from the sample, in one pass over its slots.
//!
//! The result equals a table into which the remaining keys were inserted one by one, in the order
//! of their slots. Stores contain such tables and a replay must give the same bytes, so the tests
//! compare with exactly that.

use super::record::SampledKey;
use super::table::AuditTable;
use crate::fingerprint::Fingerprint;

impl AuditTable {
    /// Removes the other keys; returns the number kept.
    ///
    /// A key can only move towards its home slot, into slots that the pass has already left, so no
    /// second table is needed. The exception is a run that continues from the last slot to the
    /// first: its keys are set aside and inserted in their turn.
    pub(super) fn retain(&self, slots: &mut [u8], keep: impl Fn(Fingerprint) -> bool) -> u64 {
        let is_free = |slots: &[u8], at: usize| SampledKey::is_free(self.slot(slots, at));
        let (mut start, mut end) = (0, self.slots());
        if !is_free(slots, 0) && !is_free(slots, end - 1) {
            // The table is never full, so both loops end.
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
                key.filter(|key| keep(key.fingerprint))
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
            if is_free(slots, at) {
                continue;
            }
            let fingerprint = SampledKey::fingerprint_in(self.slot(slots, at));
            if !keep(fingerprint) {
                slots[self.bytes_of(at..at + 1)].fill(0);
                continue;
            }
            count += 1;
            // All slots of this run before `at` are in their final state.
            let home = self.home(fingerprint);
            if let Some(free) = (home..at).find(|&earlier| is_free(slots, earlier)) {
                slots.copy_within(
                    self.bytes_of(at..at + 1),
                    self.bytes_of(free..free + 1).start,
                );
                slots[self.bytes_of(at..at + 1)].fill(0);
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
    use crate::rng::Generator;

    /// Inserts the remaining keys into a second table.
    fn rebuilt(table: &AuditTable, slots: &[u8], keep: impl Fn(Fingerprint) -> bool) -> Vec<u8> {
        let mut anew = vec![0; slots.len()];
        for slot in slots.chunks_exact(slots.len() / table.slots()) {
            if let Some(key) = SampledKey::read(slot).filter(|key| keep(key.fingerprint)) {
                table.put(&mut anew, &key);
            }
        }
        anew
    }

    /// Tables of all loads. In some of the small ones all slots but one belong to the run that
    /// continues over the end.
    #[test]
    fn the_result_equals_a_table_built_from_the_remaining_keys() {
        let draws = Generator::from_seed(3);
        let mut drawn = (0..).map(|index| draws.draw(index));
        let mut over_the_end = 0;
        for round in 0..4000 {
            let table = AuditTable::of(640 + 24 * (4 + round % 60), None).expect("large enough");
            let mut slots = vec![0; table.bytes_of(0..table.slots()).end];
            let keys = drawn.next().expect("a draw") as usize % table.slots();
            for fingerprint in drawn.by_ref().take(keys) {
                let key = SampledKey {
                    last: fingerprint >> 40,
                    first: 1,
                    dropped: u32::from(fingerprint & 2 == 0),
                    repeats: 3,
                    missed: 2,
                    ..SampledKey::unknown(Fingerprint(fingerprint))
                };
                table.put(&mut slots, &key);
            }
            let at_end = [0, table.slots() - 1].map(|at| SampledKey::read(table.slot(&slots, at)));
            over_the_end += u32::from(at_end.iter().all(Option::is_some));
            let keep = |key: Fingerprint| key.0 & 1 == 0;
            let expected = rebuilt(&table, &slots, keep);
            let count = table.retain(&mut slots, keep);
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
