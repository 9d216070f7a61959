//! The record of a sampled key, in a slot of the table.
//!
//! If the filter has no window, a slot has 24 bytes: fingerprint 8; last position plus one 8, with
//! the top bit set if the first occurrence was a false positive, and the bit below it if the key was
//! taken out since the last occurrence; repeats 4; repeats missed 4. The next occurrence of a key
//! that was taken out is new again. There is room for one first occurrence only, so that one counts
//! neither as new nor as a repeat.
//!
//! If it has one, a slot has 40 bytes: fingerprint 8; last position plus one 8; the step of the last
//! delivery plus one 8, or 0; occurrences of the key when it was new 4; of these, reported as Seen
//! 4; repeats 4; repeats missed 4. A key is a repeat if it was delivered within the span. Where the
//! step does not tell whether the span has passed, both verdicts are right: a Seen counts as a
//! repeat, and a New as a new key.

use crate::bytes::{read_u32, read_u64, write_u32, write_u64};
use crate::filter::{Verdict, WindowAge, WindowClock};
use crate::fingerprint::Fingerprint;

/// The size of a slot if the filter has no window.
pub(super) const PLAIN_BYTES: usize = 24;
/// The size of a slot if the filter has a window.
pub(super) const WINDOWED_BYTES: usize = 40;
const DROPPED: u64 = 1 << 63;
const FORGOTTEN: u64 = 1 << 62;

/// A verdict on a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct JudgedKey {
    /// The position in the stream.
    pub position: u64,
    /// The step of the clock, if the filter has a window.
    pub step: u64,
    pub fingerprint: Fingerprint,
    pub verdict: Verdict,
}

/// The record of a sampled key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampledKey {
    pub fingerprint: Fingerprint,
    /// The position of its last occurrence.
    pub last: u64,
    /// The step in which it was last delivered plus one, if the filter has a window; 0 if it never
    /// was.
    pub delivered: u64,
    /// Whether it was taken out since its last occurrence, if the filter has no window. Otherwise
    /// it counts as never delivered.
    pub forgotten: bool,
    /// How often it was new: once, or more often if the filter has a window.
    pub first: u32,
    /// How many of these occurrences were reported as Seen.
    pub dropped: u32,
    /// How often it was a repeat.
    pub repeats: u32,
    /// How many of these repeats were reported as New.
    pub missed: u32,
}

impl SampledKey {
    /// Returns the record of a key that did not occur yet.
    pub fn unknown(fingerprint: Fingerprint) -> Self {
        SampledKey {
            fingerprint,
            last: 0,
            delivered: 0,
            forgotten: false,
            first: 0,
            dropped: 0,
            repeats: 0,
            missed: 0,
        }
    }

    /// Whether a slot of either size is empty.
    #[inline(always)]
    pub fn is_free(slot: &[u8]) -> bool {
        read_u64(slot, 8) & !(DROPPED | FORGOTTEN) == 0
    }

    /// Reads the fingerprint of a slot in use.
    #[inline(always)]
    pub fn fingerprint_in(slot: &[u8]) -> Fingerprint {
        Fingerprint(read_u64(slot, 0))
    }

    /// Records a repeat in a slot in use of a filter without a window, as
    /// [`read`](SampledKey::read), [`count`](SampledKey::count) and [`write`](SampledKey::write)
    /// do. Returns the last position before; None if the key was taken out since, and then changes
    /// nothing.
    #[inline(always)]
    pub fn count_repeat(slot: &mut [u8], position: u64, verdict: Verdict) -> Option<u64> {
        let word = read_u64(slot, 8);
        if word & FORGOTTEN != 0 {
            return None;
        }
        let next = (position + 1) & !(DROPPED | FORGOTTEN);
        write_u64(slot, 8, next | (word & DROPPED));
        write_u32(slot, 16, read_u32(slot, 16).saturating_add(1));
        let missed = u32::from(verdict.is_new());
        write_u32(slot, 20, read_u32(slot, 20).saturating_add(missed));
        Some((word & !DROPPED) - 1)
    }

    /// Reads a slot of either size; None if it is empty.
    #[inline(always)]
    pub fn read(slot: &[u8]) -> Option<Self> {
        let word = read_u64(slot, 8);
        let last = (word & !(DROPPED | FORGOTTEN)).checked_sub(1)?;
        let fingerprint = Fingerprint(read_u64(slot, 0));
        if slot.len() == PLAIN_BYTES {
            return Some(SampledKey {
                last,
                forgotten: word & FORGOTTEN != 0,
                first: 1,
                dropped: u32::from(word & DROPPED != 0),
                repeats: read_u32(slot, 16),
                missed: read_u32(slot, 20),
                ..SampledKey::unknown(fingerprint)
            });
        }
        Some(SampledKey {
            fingerprint,
            last,
            delivered: read_u64(slot, 16),
            forgotten: false,
            first: read_u32(slot, 24),
            dropped: read_u32(slot, 28),
            repeats: read_u32(slot, 32),
            missed: read_u32(slot, 36),
        })
    }

    /// Writes a slot of either size.
    #[inline(always)]
    pub fn write(&self, slot: &mut [u8]) {
        let last = (self.last + 1) & !(DROPPED | FORGOTTEN);
        write_u64(slot, 0, self.fingerprint.0);
        if slot.len() == PLAIN_BYTES {
            let dropped = if self.dropped > 0 { DROPPED } else { 0 };
            let forgotten = if self.forgotten { FORGOTTEN } else { 0 };
            write_u64(slot, 8, last | dropped | forgotten);
            write_u32(slot, 16, self.repeats);
            write_u32(slot, 20, self.missed);
            return;
        }
        write_u64(slot, 8, last);
        write_u64(slot, 16, self.delivered);
        write_u32(slot, 24, self.first);
        write_u32(slot, 28, self.dropped);
        write_u32(slot, 32, self.repeats);
        write_u32(slot, 36, self.missed);
    }

    /// Counts a verdict.
    #[inline(always)]
    pub fn count(&mut self, is_new: bool, verdict: Verdict) {
        let (cases, errors, is_error) = match is_new {
            true => (&mut self.first, &mut self.dropped, verdict.is_seen()),
            false => (&mut self.repeats, &mut self.missed, verdict.is_new()),
        };
        *cases = cases.saturating_add(1);
        *errors = errors.saturating_add(u32::from(is_error));
    }

    /// Records that the key was taken out: its next occurrence is new.
    pub fn forget(&mut self) {
        self.delivered = 0;
        self.forgotten = true;
    }

    /// Adds the record of the same key in another audit. If the filter has no window, the first
    /// occurrence in the other stream counts neither as new nor as a repeat: the other filter could
    /// not know it.
    pub fn add(&mut self, other: &SampledKey, has_window: bool) {
        self.last = self.last.max(other.last);
        self.delivered = self.delivered.max(other.delivered);
        self.forgotten &= other.forgotten;
        self.repeats = self.repeats.saturating_add(other.repeats);
        self.missed = self.missed.saturating_add(other.missed);
        if has_window {
            self.first = self.first.saturating_add(other.first);
            self.dropped = self.dropped.saturating_add(other.dropped);
        }
    }

    /// Counts a verdict of a filter with a window.
    pub fn count_in_window(&mut self, clock: &WindowClock, step: u64, verdict: Verdict) {
        let steps = (step + 1).saturating_sub(self.delivered);
        let is_new = match clock.age_in_steps(steps) {
            _ if self.delivered == 0 => true,
            WindowAge::Inside => false,
            WindowAge::Leaving => verdict.is_new(),
            WindowAge::Outside => true,
        };
        self.count(is_new, verdict);
        if verdict.is_new() {
            self.delivered = step + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_of_either_size_round_trips() {
        let plain = SampledKey {
            last: 1 << 40,
            first: 1,
            dropped: 1,
            repeats: 3,
            missed: 2,
            ..SampledKey::unknown(Fingerprint(u64::MAX))
        };
        let windowed = SampledKey {
            delivered: 77,
            first: 9,
            dropped: 4,
            ..plain
        };
        for (key, bytes) in [(plain, PLAIN_BYTES), (windowed, WINDOWED_BYTES)] {
            let mut slot = vec![0; bytes];
            assert_eq!(SampledKey::read(&slot), None);
            let forgotten = SampledKey {
                forgotten: bytes == PLAIN_BYTES,
                ..key
            };
            for key in [key, forgotten] {
                key.write(&mut slot);
                assert_eq!(SampledKey::read(&slot), Some(key));
            }
        }
    }

    #[test]
    fn a_key_of_a_window_is_new_again_after_its_span() {
        use Verdict::{New, Seen};
        let spec = "window:span=100,step=10".parse().expect("a filter");
        let filter = crate::filter::AnyFilter::build(&spec, 1024).expect("small");
        let clock = filter.window().expect("a window");
        let mut key = SampledKey::unknown(Fingerprint(1));
        let mut after = |step, verdict| {
            key.count_in_window(clock, step, verdict);
            [key.first, key.dropped, key.repeats, key.missed]
        };
        // It is new until it is delivered.
        assert_eq!(after(5, Seen), [1, 1, 0, 0]);
        assert_eq!(after(20, New), [2, 1, 0, 0]);
        assert_eq!(after(29, Seen), [2, 1, 1, 0]);
        // The span ends within the tenth step.
        assert_eq!(after(30, Seen), [2, 1, 2, 0]);
        assert_eq!(after(31, Seen), [3, 2, 2, 0]);
        assert_eq!(after(31, New), [4, 2, 2, 0]);
        assert_eq!(after(32, New), [4, 2, 3, 1]);
        assert_eq!(after(42, New), [5, 2, 3, 1]);
    }
}
