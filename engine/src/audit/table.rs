//! The table of sampled keys: one slot per key, with open addressing.
//!
//! | bytes | content |
//! |---|---|
//! | 0–7 | the number of low bits that are 0 in the fingerprint of every sampled key |
//! | 8–15 | the number of keys in the table |
//! | 16–23 | the number of observations of sampled keys, ever |
//! | 64–575 | 64 words: estimated repeats by gap; word b counts gaps from 2^b |
//! | from 640 | slots, whose content is described in `record.rs` |
//!
//! An empty slot is all zeros, so zeroed bytes are an empty table that samples every key.

use std::ops::Range;

use super::record::{JudgedKey, PLAIN_BYTES, SampledKey, WINDOWED_BYTES};
use crate::bytes::{read_u64, write_u64};
use crate::filter::WindowClock;
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;

const SHIFT: usize = 0;
const KEYS: usize = 8;
const SAMPLED: usize = 16;
const COUNTS_BYTES: usize = 24;
const GAPS: usize = 64;
const SLOTS: usize = 640;
/// The table has records of at most this many observations, plus one in 2^[`SHARE_SHIFT`].
/// Otherwise the sample shrinks, so that the audit stays cheap: at the start of a stream, and if
/// few keys occur very often.
const ALLOWANCE: u64 = 1 << 12;
const SHARE_SHIFT: u32 = 8;
/// Smaller samples are useless.
const MAX_SHIFT: u32 = 48;

/// How many keys ahead slots are prefetched.
const LOOKAHEAD: usize = 12;

/// The head of the table, which is kept in local variables during a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    shift: u32,
    keys: u64,
    sampled: u64,
}

impl Counts {
    fn read(bytes: &[u8]) -> Self {
        Counts {
            shift: shift_of(bytes),
            keys: read_u64(bytes, KEYS),
            sampled: read_u64(bytes, SAMPLED),
        }
    }

    fn write(&self, bytes: &mut [u8]) {
        write_u64(bytes, SHIFT, u64::from(self.shift));
        write_u64(bytes, KEYS, self.keys);
        write_u64(bytes, SAMPLED, self.sampled);
    }

    fn mask(&self) -> u64 {
        (1 << self.shift) - 1
    }
}

/// The geometry of an audit.
#[derive(Clone, Debug)]
pub struct AuditTable {
    slots: usize,
    slot_bytes: usize,
    window: Option<WindowClock>,
}

impl AuditTable {
    /// Returns the audit that fits into so many bytes, of a filter with this window; None if they
    /// are too few.
    pub fn of(bytes: u32, window: Option<&WindowClock>) -> Option<Self> {
        let slot_bytes = match window {
            None => PLAIN_BYTES,
            Some(_) => WINDOWED_BYTES,
        };
        let slots = (bytes as usize).saturating_sub(SLOTS) / slot_bytes;
        (slots >= 4).then_some(AuditTable {
            slots,
            slot_bytes,
            window: window.copied(),
        })
    }

    /// Returns the clock of the filter's window.
    pub(super) fn window(&self) -> Option<&WindowClock> {
        self.window.as_ref()
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        SLOTS + self.slot_bytes * self.slots
    }

    /// Returns the number of keys that it holds before every second one is removed.
    pub fn capacity(&self) -> usize {
        self.slots / 4 * 3
    }

    /// Returns the number of slots.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the bytes of some slots among those of all slots.
    #[inline(always)]
    pub(super) fn bytes_of(&self, slots: Range<usize>) -> Range<usize> {
        self.slot_bytes * slots.start..self.slot_bytes * slots.end
    }

    /// Returns the bytes of one slot.
    #[inline(always)]
    pub(super) fn slot<'a>(&self, slots: &'a [u8], at: usize) -> &'a [u8] {
        &slots[self.bytes_of(at..at + 1)]
    }

    /// Returns the bits that are 0 in the fingerprint of every sampled key.
    pub(super) fn sample_mask(&self, bytes: &[u8]) -> u64 {
        (1u64 << shift_of(bytes)) - 1
    }

    /// Records verdicts. Keys that are not, or no longer, in the sample are ignored.
    pub(super) fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        judged: impl Iterator<Item = JudgedKey> + Clone,
    ) {
        match region.untracked() {
            Some(plain) => self.note_all(plain, judged),
            None => self.note_all(region, judged),
        }
    }

    fn note_all<R: Region + ?Sized>(
        &self,
        region: &mut R,
        judged: impl Iterator<Item = JudgedKey> + Clone,
    ) {
        let mut later = judged.clone();
        for it in later.by_ref().take(LOOKAHEAD) {
            self.prefetch(region.bytes(), it.fingerprint);
        }
        let mut counts = Counts::read(region.bytes());
        let before = counts;
        for it in judged {
            if let Some(later) = later.next() {
                self.prefetch(region.bytes(), later.fingerprint);
            }
            // The sample may have shrunk since the keys were collected.
            if it.fingerprint.0 & counts.mask() != 0 {
                continue;
            }
            self.note(region, &mut counts, it);
            let full = counts.keys > self.capacity() as u64;
            let costly = counts.sampled > ALLOWANCE + (it.position >> SHARE_SHIFT);
            if full || costly {
                self.halve(region.bytes_mut(0..self.bytes()), &mut counts);
            }
        }
        if counts != before {
            counts.write(region.bytes_mut(0..COUNTS_BYTES));
        }
    }

    #[inline(always)]
    fn note<R: Region + ?Sized>(&self, region: &mut R, counts: &mut Counts, judged: JudgedKey) {
        counts.sampled += 1;
        let at = self.find_slot(&region.bytes()[SLOTS..], judged.fingerprint);
        let slot = SLOTS + self.slot_bytes * at..SLOTS + self.slot_bytes * (at + 1);
        // Most sampled keys are repeats.
        if self.window.is_none() && !SampledKey::is_free(&region.bytes()[slot.clone()]) {
            let slot = region.bytes_mut(slot.clone());
            if let Some(last) = SampledKey::count_repeat(slot, judged.position, judged.verdict) {
                return self.count_gap(region, counts, judged.position, last);
            }
        }
        let known = SampledKey::read(&region.bytes()[slot.clone()]);
        let mut key = known.unwrap_or_else(|| SampledKey::unknown(judged.fingerprint));
        let last = std::mem::replace(&mut key.last, judged.position);
        let forgotten = std::mem::take(&mut key.forgotten);
        match &self.window {
            None if forgotten => {}
            None => key.count(known.is_none(), judged.verdict),
            Some(clock) => key.count_in_window(clock, judged.step, judged.verdict),
        }
        key.write(region.bytes_mut(slot));
        if forgotten {
            return;
        }
        if known.is_none() {
            counts.keys += 1;
            return;
        }
        self.count_gap(region, counts, judged.position, last);
    }

    #[inline(always)]
    fn count_gap<R: Region + ?Sized>(
        &self,
        region: &mut R,
        counts: &Counts,
        position: u64,
        last: u64,
    ) {
        let gap = position.saturating_sub(last).max(1);
        let cell = GAPS + 8 * gap.ilog2() as usize;
        let weight = read_u64(region.bytes(), cell) + (1 << counts.shift);
        write_u64(region.bytes_mut(cell..cell + 8), 0, weight);
    }

    /// Returns the home slot of a key.
    #[inline(always)]
    pub(super) fn home(&self, fingerprint: Fingerprint) -> usize {
        reduce(fingerprint.0, self.slots as u64) as usize
    }

    /// Prefetches the home slot of a key and the next cache line: many keys are not in their home
    /// slot.
    #[inline(always)]
    fn prefetch(&self, bytes: &[u8], fingerprint: Fingerprint) {
        let start = SLOTS + self.slot_bytes * self.home(fingerprint);
        prefetch(bytes, start);
        prefetch(bytes, start + 64);
    }

    /// Returns the slot of a key, or the slot where it would be inserted.
    #[inline(always)]
    fn find_slot(&self, slots: &[u8], fingerprint: Fingerprint) -> usize {
        let mut at = self.home(fingerprint);
        // The table is never full, so the loop ends.
        loop {
            let slot = self.slot(slots, at);
            // One branch: which of the two it is, the caller asks once.
            if SampledKey::is_free(slot) | (SampledKey::fingerprint_in(slot) == fingerprint) {
                return at;
            }
            at += 1;
            if at == self.slots {
                at = 0;
            }
        }
    }

    /// Returns the slot of a key and its record, or the slot where it would be inserted.
    #[inline(always)]
    pub(super) fn find(
        &self,
        slots: &[u8],
        fingerprint: Fingerprint,
    ) -> (usize, Option<SampledKey>) {
        let at = self.find_slot(slots, fingerprint);
        (at, SampledKey::read(self.slot(slots, at)))
    }

    /// Requires one more low bit to be 0, which removes every second key.
    fn halve(&self, bytes: &mut [u8], counts: &mut Counts) {
        if counts.shift >= MAX_SHIFT {
            return;
        }
        counts.shift += 1;
        let mask = counts.mask();
        counts.keys = self.retain(&mut bytes[SLOTS..], |fingerprint| fingerprint.0 & mask == 0);
        // Observations sampled at twice the rate count half.
        counts.sampled /= 2;
    }

    /// Records that a key was taken out of the filter: its next occurrence is new. What happened
    /// before stays in the record, so that the sample remains one of all keys since the beginning.
    pub(super) fn forget<R: Region + ?Sized>(&self, region: &mut R, fingerprint: Fingerprint) {
        let (at, known) = self.find(&region.bytes()[SLOTS..], fingerprint);
        if let Some(mut key) = known {
            let slot = SLOTS + self.slot_bytes * at;
            key.forget();
            key.write(region.bytes_mut(slot..slot + self.slot_bytes));
        }
    }

    /// Adds the records of another audit, whose stream followed `position` observations of this
    /// one. `shifts` is what is added to the steps of each.
    pub(super) fn merge(
        &self,
        bytes: &mut [u8],
        other: &AuditTable,
        other_bytes: &[u8],
        position: u64,
        shifts: [u64; 2],
    ) {
        let shifted = |key: SampledKey, shift: u64| SampledKey {
            delivered: match key.delivered {
                0 => 0,
                step => step.saturating_add(shift),
            },
            ..key
        };
        for slot in bytes[SLOTS..self.bytes()].chunks_exact_mut(self.slot_bytes) {
            if let Some(key) = SampledKey::read(slot).filter(|_| shifts[0] > 0) {
                shifted(key, shifts[0]).write(slot);
            }
        }
        let mut counts = Counts::read(bytes);
        while counts.shift < shift_of(other_bytes).min(MAX_SHIFT) {
            self.halve(bytes, &mut counts);
        }
        for key in other.keys(other_bytes) {
            let mut key = shifted(key, shifts[1]);
            key.last = key.last.saturating_add(position);
            if key.fingerprint.0 & counts.mask() != 0 {
                continue;
            }
            let (at, known) = self.find(&bytes[SLOTS..], key.fingerprint);
            if let Some(mut known) = known {
                known.add(&key, self.window.is_some());
                key = known;
            } else {
                counts.keys += 1;
            }
            key.write(&mut bytes[SLOTS..][self.bytes_of(at..at + 1)]);
            if counts.keys > self.capacity() as u64 {
                self.halve(bytes, &mut counts);
            }
        }
        counts.write(bytes);
        for cell in std::iter::once(SAMPLED).chain((GAPS..GAPS + 512).step_by(8)) {
            let sum = read_u64(bytes, cell).saturating_add(read_u64(other_bytes, cell));
            write_u64(bytes, cell, sum);
        }
    }

    /// Returns every key of the sample.
    pub(super) fn keys<'a>(
        &self,
        bytes: &'a [u8],
    ) -> impl Iterator<Item = SampledKey> + Clone + use<'a> {
        bytes[SLOTS..self.bytes()]
            .chunks_exact(self.slot_bytes)
            .filter_map(SampledKey::read)
    }

    /// Returns the estimated numbers of repeats with gaps from 2^b to 2^(b+1), for each b.
    pub(super) fn gaps(&self, bytes: &[u8]) -> Vec<u64> {
        (0..64).map(|b| read_u64(bytes, GAPS + 8 * b)).collect()
    }
}

/// Returns the number n of low bits that are 0 in the fingerprint of every sampled key: one key in
/// 2^n is in the sample. At most 63, so that damaged bytes never cause an invalid shift.
pub(super) fn shift_of(bytes: &[u8]) -> u32 {
    read_u64(bytes, SHIFT).min(63) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::filter::Verdict;
    use crate::rng::Generator;

    /// Computes the expected records with a map.
    fn expected_keys(stream: &[(Fingerprint, Verdict)], mask: u64) -> BTreeMap<u64, SampledKey> {
        let mut keys = BTreeMap::new();
        for (position, &(fingerprint, verdict)) in (0..).zip(stream) {
            if fingerprint.0 & mask != 0 {
                continue;
            }
            keys.entry(fingerprint.0)
                .and_modify(|key: &mut SampledKey| {
                    key.last = position;
                    key.repeats += 1;
                    key.missed += u32::from(verdict == Verdict::New);
                })
                .or_insert(SampledKey {
                    last: position,
                    first: 1,
                    dropped: u32::from(verdict == Verdict::Seen),
                    ..SampledKey::unknown(fingerprint)
                });
        }
        keys
    }

    #[test]
    fn the_records_of_sampled_keys_are_exact() {
        for (bytes, universe) in [(1000, 10u64), (4096, 100), (4096, 5000), (20_000, 100_000)] {
            let table = AuditTable::of(bytes, None).expect("large enough");
            let mut region = vec![0; table.bytes()];
            let draws = Generator::from_seed(universe);
            let stream: Vec<(Fingerprint, Verdict)> = (0..60_000)
                .map(|i| {
                    let key = reduce(draws.draw(2 * i), universe);
                    let verdict = match draws.draw(2 * i + 1) % 3 {
                        0 => Verdict::New,
                        _ => Verdict::Seen,
                    };
                    (Fingerprint(Generator::from_seed(key).draw(0)), verdict)
                })
                .collect();
            // In batches; the sample shrinks during some of them.
            let mut judged = (0..)
                .zip(&stream)
                .map(|(position, &(fingerprint, verdict))| JudgedKey {
                    position,
                    step: 0,
                    fingerprint,
                    verdict,
                });
            for length in (1..400).cycle().take(2000) {
                let batch: Vec<JudgedKey> = judged.by_ref().take(length).collect();
                table.observe(&mut region[..], batch.iter().copied());
            }
            assert!(judged.next().is_none());
            let expected = expected_keys(&stream, table.sample_mask(&region));
            let found: BTreeMap<u64, SampledKey> = table
                .keys(&region)
                .map(|key| (key.fingerprint.0, key))
                .collect();
            assert_eq!(found, expected, "{bytes} bytes, {universe} keys");
            assert_eq!(Counts::read(&region).keys, expected.len() as u64);
            assert!(expected.len() <= table.capacity());
            // At least a quarter of the capacity is used.
            assert!(universe < 1000 || expected.len() > table.capacity() / 4);
        }
    }

    #[test]
    fn the_sample_shrinks_if_few_keys_occur_very_often() {
        let table = AuditTable::of(64 << 10, None).expect("large enough");
        let mut region = vec![0; table.bytes()];
        let draws = Generator::from_seed(1);
        let count = 1 << 24;
        let judged = (0..count).map(|position| JudgedKey {
            position,
            step: 0,
            fingerprint: Fingerprint(draws.draw(position % 4096)),
            verdict: Verdict::Seen,
        });
        table.observe(&mut region[..], judged);
        assert!(shift_of(&region) > 0);
        let sampled: u64 = table.keys(&region).map(|key| u64::from(key.repeats)).sum();
        assert!(sampled <= ALLOWANCE + (count >> SHARE_SHIFT));
        assert!(sampled > 0);
    }
}
