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

use crate::bytes::{read_u32, read_u64, write_u32, write_u64};
use crate::filter::Verdict;
use crate::fingerprint::{Fingerprint, reduce};
use crate::region::Region;

const SHIFT: usize = 0;
const KEYS: usize = 8;
const SAMPLED: usize = 16;
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
    fn read(slot: &[u8]) -> Option<Self> {
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

    fn write(&self, slot: &mut [u8]) {
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

    /// The bits that are zero in the fingerprint of every sampled key.
    pub(super) fn sample_mask(&self, bytes: &[u8]) -> u64 {
        (1u64 << shift_of(bytes)) - 1
    }

    /// Takes note of verdicts: position in the stream, key, what the filter said.
    pub(super) fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        judged: impl Iterator<Item = (u64, Fingerprint, Verdict)>,
    ) {
        let mut mask = self.sample_mask(region.bytes());
        for (position, fingerprint, verdict) in judged {
            if fingerprint.0 & mask == 0 {
                self.note(region, position, fingerprint, verdict);
                mask = self.sample_mask(region.bytes());
            }
        }
    }

    #[inline(never)]
    fn note<R: Region + ?Sized>(
        &self,
        region: &mut R,
        position: u64,
        fingerprint: Fingerprint,
        verdict: Verdict,
    ) {
        let sampled = read_u64(region.bytes(), SAMPLED) + 1;
        write_u64(region.bytes_mut(SAMPLED..SAMPLED + 8), 0, sampled);
        match self.find(region.bytes(), fingerprint) {
            (at, Some(mut key)) => {
                let gap = position.saturating_sub(key.last).max(1);
                key.last = position;
                key.repeats = key.repeats.saturating_add(1);
                key.missed = (key.missed).saturating_add(u32::from(verdict == Verdict::New));
                key.write(region.bytes_mut(slot_range(at)));
                let cell = GAPS + 8 * gap.ilog2() as usize;
                let weight = read_u64(region.bytes(), cell) + (1 << shift_of(region.bytes()));
                write_u64(region.bytes_mut(cell..cell + 8), 0, weight);
            }
            (at, None) => {
                let key = SampledKey {
                    fingerprint,
                    last: position,
                    dropped: verdict == Verdict::Seen,
                    repeats: 0,
                    missed: 0,
                };
                key.write(region.bytes_mut(slot_range(at)));
                let keys = keys_of(region.bytes()) + 1;
                write_u64(region.bytes_mut(KEYS..KEYS + 8), 0, keys);
            }
        }
        let full = keys_of(region.bytes()) > self.capacity() as u64;
        let costly = sampled > ALLOWANCE + (position >> SHARE_SHIFT);
        if full || costly {
            self.halve(&mut region.bytes_mut(0..self.bytes())[..]);
        }
    }

    /// Where a key is, or would be.
    fn find(&self, bytes: &[u8], fingerprint: Fingerprint) -> (usize, Option<SampledKey>) {
        let mut at = reduce(fingerprint.0, self.slots as u64) as usize;
        // Never full, so this ends.
        loop {
            let key = SampledKey::read(&bytes[slot_range(at)]);
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
    fn halve(&self, bytes: &mut [u8]) {
        let shift = shift_of(bytes) + 1;
        if shift > MAX_SHIFT {
            return;
        }
        let mask = (1u64 << shift) - 1;
        self.retain(bytes, |key| key.fingerprint.0 & mask == 0);
        write_u64(bytes, SHIFT, u64::from(shift));
        // What was sampled at twice the rate counts half.
        let sampled = read_u64(bytes, SAMPLED);
        write_u64(bytes, SAMPLED, sampled / 2);
    }

    fn retain(&self, bytes: &mut [u8], stays: impl Fn(&SampledKey) -> bool) {
        let staying: Vec<SampledKey> = self.keys(bytes).filter(stays).collect();
        bytes[SLOTS..self.bytes()].fill(0);
        for key in &staying {
            let (at, _) = self.find(bytes, key.fingerprint);
            key.write(&mut bytes[slot_range(at)]);
        }
        write_u64(bytes, KEYS, staying.len() as u64);
    }

    /// The key was taken out of the filter: if it comes again, it is new.
    pub(super) fn forget<R: Region + ?Sized>(&self, region: &mut R, fingerprint: Fingerprint) {
        if self.find(region.bytes(), fingerprint).1.is_some() {
            let bytes = region.bytes_mut(0..self.bytes());
            self.retain(bytes, |key| key.fingerprint != fingerprint);
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
        while shift_of(bytes) < shift_of(other_bytes) {
            self.halve(bytes);
        }
        for mut key in other.keys(other_bytes) {
            key.last = key.last.saturating_add(position);
            if key.fingerprint.0 & self.sample_mask(bytes) != 0 {
                continue;
            }
            let (at, known) = self.find(bytes, key.fingerprint);
            if let Some(known) = known {
                key.dropped = known.dropped;
                key.repeats = key.repeats.saturating_add(known.repeats);
                key.missed = key.missed.saturating_add(known.missed);
            } else {
                let keys = keys_of(bytes) + 1;
                write_u64(bytes, KEYS, keys);
            }
            key.write(&mut bytes[slot_range(at)]);
            if keys_of(bytes) > self.capacity() as u64 {
                self.halve(bytes);
            }
        }
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

fn slot_range(at: usize) -> std::ops::Range<usize> {
    let start = SLOTS + SLOT_BYTES * at;
    start..start + SLOT_BYTES
}

fn keys_of(bytes: &[u8]) -> u64 {
    read_u64(bytes, KEYS)
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
            let judged = (0..).zip(&stream).map(|(at, &(f, v))| (at, f, v));
            table.observe(&mut region[..], judged);
            let expected = truth(&stream, table.sample_mask(&region));
            let found: BTreeMap<u64, SampledKey> = table
                .keys(&region)
                .map(|key| (key.fingerprint.0, key))
                .collect();
            assert_eq!(found, expected, "{bytes} bytes, {universe} keys");
            assert_eq!(keys_of(&region), expected.len() as u64);
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
        let judged = (0..count).map(|at| (at, Fingerprint(draws.draw(at % 512)), Verdict::Seen));
        table.observe(&mut region[..], judged);
        assert!(shift_of(&region) > 0);
        let sampled: u64 = table.keys(&region).map(|key| u64::from(key.repeats)).sum();
        assert!(sampled <= ALLOWANCE + (count >> SHARE_SHIFT));
        assert!(sampled > 0);
    }
}
