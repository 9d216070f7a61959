//! The sample: one slot a key, found by open addressing.
//!
//! | bytes | what |
//! |---|---|
//! | 0–7 | how many low bits of a fingerprint are zero in the sample |
//! | 8–15 | keys in the table |
//! | 16–23 | observations of sampled keys, ever |
//! | 64–575 | 64 words: repeats by gap, estimated; word b counts gaps from 2^b on |
//! | from 640 | slots of 24 bytes: fingerprint 8; last position plus one 8, with the top bit set if the key was dropped when it first came; repeats 4; repeats missed 4 |
//!
//! An empty slot is all zeros, so zeroed bytes are an empty table that samples every key.

use std::ops::Range;

use crate::bytes::{read_u32, read_u64, write_u32, write_u64};
use crate::filter::Verdict;
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;

const SHIFT: usize = 0;
const KEYS: usize = 8;
const SAMPLED: usize = 16;
const COUNTS_BYTES: usize = 24;
const GAPS: usize = 64;
const SLOTS: usize = 640;
const SLOT_BYTES: usize = 24;
const DROPPED: u64 = 1 << 63;
/// At most this many observations of sampled keys at the start, and later one in
/// 2^[`SHARE_SHIFT`]: with few keys that come often, the sample shrinks so that it goes on
/// costing little.
const ALLOWANCE: u64 = 1 << 18;
const SHARE_SHIFT: u32 = 6;
/// Rarer samples are of no use.
const MAX_SHIFT: u32 = 48;

/// How many keys ahead their slots are asked for.
const LOOKAHEAD: usize = 12;

/// A verdict on a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    /// Where in the stream.
    pub position: u64,
    pub fingerprint: Fingerprint,
    pub verdict: Verdict,
}

/// What stands at the head of the table; kept at hand during a batch.
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
}

/// What is known of a sampled key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampledKey {
    pub fingerprint: Fingerprint,
    /// Position of its last occurrence.
    pub last: u64,
    /// Whether it was taken for Seen when it first came.
    pub dropped: bool,
    /// How often it came again.
    pub repeats: u32,
    /// How often that was taken for New.
    pub missed: u32,
}

impl SampledKey {
    #[inline(always)]
    pub(super) fn read(slot: &[u8]) -> Option<Self> {
        let word = read_u64(slot, 8);
        let last = (word & !DROPPED).checked_sub(1)?;
        Some(SampledKey {
            fingerprint: Fingerprint(read_u64(slot, 0)),
            last,
            dropped: word & DROPPED != 0,
            repeats: read_u32(slot, 16),
            missed: read_u32(slot, 20),
        })
    }

    #[inline(always)]
    pub(super) fn write(&self, slot: &mut [u8]) {
        let dropped = if self.dropped { DROPPED } else { 0 };
        write_u64(slot, 0, self.fingerprint.0);
        write_u64(slot, 8, ((self.last + 1) & !DROPPED) | dropped);
        write_u32(slot, 16, self.repeats);
        write_u32(slot, 20, self.missed);
    }
}

impl AuditTable {
    /// The audit that fits into so many bytes, if one does.
    pub fn of(bytes: u32) -> Option<Self> {
        let slots = (bytes as usize).saturating_sub(SLOTS) / SLOT_BYTES;
        (slots >= 4).then_some(AuditTable { slots })
    }

    /// How long its bytes are.
    pub fn bytes(&self) -> usize {
        SLOTS + SLOT_BYTES * self.slots
    }

    /// How many keys it holds before every second one leaves.
    pub fn capacity(&self) -> usize {
        self.slots / 4 * 3
    }

    /// How many slots there are.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Where some slots lie among all of them.
    #[inline(always)]
    pub(super) fn bytes_of(&self, slots: Range<usize>) -> Range<usize> {
        SLOT_BYTES * slots.start..SLOT_BYTES * slots.end
    }

    /// One of the slots.
    #[inline(always)]
    pub(super) fn slot<'a>(&self, slots: &'a [u8], at: usize) -> &'a [u8] {
        &slots[self.bytes_of(at..at + 1)]
    }

    /// The bits that are zero in the fingerprint of every sampled key.
    pub(super) fn sample_mask(&self, bytes: &[u8]) -> u64 {
        (1u64 << shift_of(bytes)) - 1
    }

    /// Takes note of verdicts on keys of the sample, and of keys that are not, or no more.
    pub(super) fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        judged: impl Iterator<Item = Judged> + Clone,
    ) {
        match region.plain() {
            Some(plain) => self.note_all(plain, judged),
            None => self.note_all(region, judged),
        }
    }

    fn note_all<R: Region + ?Sized>(
        &self,
        region: &mut R,
        judged: impl Iterator<Item = Judged> + Clone,
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
            // The sample may have shrunk since these were chosen.
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
    fn note<R: Region + ?Sized>(&self, region: &mut R, counts: &mut Counts, judged: Judged) {
        let Judged {
            position,
            fingerprint,
            verdict,
        } = judged;
        counts.sampled += 1;
        let (at, known) = self.find(&region.bytes()[SLOTS..], fingerprint);
        let slot = SLOTS + SLOT_BYTES * at..SLOTS + SLOT_BYTES * (at + 1);
        let Some(mut key) = known else {
            let key = SampledKey {
                fingerprint,
                last: position,
                dropped: verdict == Verdict::Seen,
                repeats: 0,
                missed: 0,
            };
            counts.keys += 1;
            return key.write(region.bytes_mut(slot));
        };
        let gap = position.saturating_sub(key.last).max(1);
        key.last = position;
        key.repeats = key.repeats.saturating_add(1);
        key.missed = (key.missed).saturating_add(u32::from(verdict == Verdict::New));
        key.write(region.bytes_mut(slot));
        let cell = GAPS + 8 * gap.ilog2() as usize;
        let weight = read_u64(region.bytes(), cell) + (1 << counts.shift);
        write_u64(region.bytes_mut(cell..cell + 8), 0, weight);
    }

    /// Where a key would be if no other were in its way.
    #[inline(always)]
    fn home(&self, fingerprint: Fingerprint) -> usize {
        reduce(fingerprint.0, self.slots as u64) as usize
    }

    /// Asks for where a key is, and for the line behind it: many are not at home.
    #[inline(always)]
    fn prefetch(&self, bytes: &[u8], fingerprint: Fingerprint) {
        let start = SLOTS + SLOT_BYTES * self.home(fingerprint);
        prefetch(bytes, start);
        prefetch(bytes, start + 64);
    }

    /// Where a key is, or would be.
    #[inline(always)]
    pub(super) fn find(
        &self,
        slots: &[u8],
        fingerprint: Fingerprint,
    ) -> (usize, Option<SampledKey>) {
        let mut at = self.home(fingerprint);
        // Never full, so this ends.
        loop {
            let key = SampledKey::read(self.slot(slots, at));
            if key.is_none_or(|key| key.fingerprint == fingerprint) {
                return (at, key);
            }
            at += 1;
            if at == self.slots {
                at = 0;
            }
        }
    }

    /// One more low bit must be zero from now on: every second key leaves.
    fn halve(&self, bytes: &mut [u8], counts: &mut Counts) {
        if counts.shift >= MAX_SHIFT {
            return;
        }
        counts.shift += 1;
        let mask = counts.mask();
        counts.keys = self.sweep(&mut bytes[SLOTS..], |key| key.fingerprint.0 & mask == 0);
        // What was sampled at twice the rate counts half.
        counts.sampled /= 2;
    }

    /// The key was taken out of the filter: if it comes again, it is new.
    pub(super) fn forget<R: Region + ?Sized>(&self, region: &mut R, fingerprint: Fingerprint) {
        let known = self.find(&region.bytes()[SLOTS..], fingerprint).1;
        if known.is_some() {
            let bytes = region.bytes_mut(0..self.bytes());
            let mut counts = Counts::read(bytes);
            counts.keys = self.sweep(&mut bytes[SLOTS..], |key| key.fingerprint != fingerprint);
            counts.write(bytes);
        }
    }

    /// Adds what another audit knows, of a stream that came after `position` observations
    /// of this one. What was told of a key when it first came in the other stream is told
    /// of no repeat here: that filter could not know it.
    pub(super) fn unite(
        &self,
        bytes: &mut [u8],
        other: &AuditTable,
        other_bytes: &[u8],
        position: u64,
    ) {
        let mut counts = Counts::read(bytes);
        while counts.shift < shift_of(other_bytes).min(MAX_SHIFT) {
            self.halve(bytes, &mut counts);
        }
        for mut key in other.keys(other_bytes) {
            key.last = key.last.saturating_add(position);
            if key.fingerprint.0 & counts.mask() != 0 {
                continue;
            }
            let (at, known) = self.find(&bytes[SLOTS..], key.fingerprint);
            if let Some(known) = known {
                key.dropped = known.dropped;
                key.repeats = key.repeats.saturating_add(known.repeats);
                key.missed = key.missed.saturating_add(known.missed);
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

    /// Every key of the sample.
    pub(super) fn keys<'a>(
        &self,
        bytes: &'a [u8],
    ) -> impl Iterator<Item = SampledKey> + Clone + use<'a> {
        bytes[SLOTS..self.bytes()]
            .chunks_exact(SLOT_BYTES)
            .filter_map(SampledKey::read)
    }

    /// How many repeats there were, estimated, with a gap from 2^b on, for each b.
    pub(super) fn gaps(&self, bytes: &[u8]) -> Vec<u64> {
        (0..64).map(|b| read_u64(bytes, GAPS + 8 * b)).collect()
    }
}

/// How many low bits of a fingerprint are zero in the sample: one key in 2^this is in it.
/// Whatever the bytes say, it is a shift that can be.
pub(super) fn shift_of(bytes: &[u8]) -> u32 {
    read_u64(bytes, SHIFT).min(63) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::rng::Generator;

    /// What the table must hold, the slow way.
    fn truth(stream: &[(Fingerprint, Verdict)], mask: u64) -> BTreeMap<u64, SampledKey> {
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
                    fingerprint,
                    last: position,
                    dropped: verdict == Verdict::Seen,
                    repeats: 0,
                    missed: 0,
                });
        }
        keys
    }

    #[test]
    fn it_knows_its_sample_exactly_and_keeps_within_its_bytes() {
        for (bytes, universe) in [(1000, 10u64), (4096, 100), (4096, 5000), (20_000, 100_000)] {
            let table = AuditTable::of(bytes).expect("large enough");
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
            // In batches, of which some see the sample shrink.
            let mut judged = (0..)
                .zip(&stream)
                .map(|(position, &(fingerprint, verdict))| Judged {
                    position,
                    fingerprint,
                    verdict,
                });
            for length in (1..400).cycle().take(2000) {
                let batch: Vec<Judged> = judged.by_ref().take(length).collect();
                table.observe(&mut region[..], batch.iter().copied());
            }
            assert!(judged.next().is_none());
            let expected = truth(&stream, table.sample_mask(&region));
            let found: BTreeMap<u64, SampledKey> = table
                .keys(&region)
                .map(|key| (key.fingerprint.0, key))
                .collect();
            assert_eq!(found, expected, "{bytes} bytes, {universe} keys");
            assert_eq!(Counts::read(&region).keys, expected.len() as u64);
            assert!(expected.len() <= table.capacity());
            // Full enough to be of use.
            assert!(universe < 1000 || expected.len() > table.capacity() / 4);
        }
    }

    #[test]
    fn few_keys_that_come_often_do_not_stay_dear() {
        let table = AuditTable::of(64 << 10).expect("large enough");
        let mut region = vec![0; table.bytes()];
        let draws = Generator::from_seed(1);
        let count = 1 << 24;
        let judged = (0..count).map(|position| Judged {
            position,
            fingerprint: Fingerprint(draws.draw(position % 512)),
            verdict: Verdict::Seen,
        });
        table.observe(&mut region[..], judged);
        assert!(shift_of(&region) > 0);
        let sampled: u64 = table.keys(&region).map(|key| u64::from(key.repeats)).sum();
        assert!(sampled <= ALLOWANCE + (count >> SHARE_SHIFT));
        assert!(sampled > 0);
    }
}
