//! How a table of fingerprints cuts a key into a quotient and the value of a slot.
//!
//! A **fingerprint** says in which of N equal parts of all keys a key is. A table whose number of
//! quotients is N·2^(−width) takes its highest bits as quotient and its `width` lowest bits as
//! remainder. Tables between two powers of two multiply the fingerprint by s/16 first, with s from
//! 16 to 31, and round down. Different fingerprints stay different, and keep their order, so a table
//! of any such size holds the same fingerprints and gives them back.
//!
//! **Shortened fingerprints.** A table that has grown often holds old fingerprints with fewer bits
//! than new ones have: `age` bits fewer. Each stands for 2^age adjacent parts. Its slot has the
//! value *remainder 1 0…0*, with `age` zeros. The remainder is `age` bits shorter, so all slots have
//! the same width. The parts of a shortened fingerprint may begin in one quotient and end in the
//! next; it is stored where they begin.

use std::ops::RangeInclusive;

/// The denominator of all scales, as a shift.
const SCALE_SHIFT: u32 = 4;
/// The scale of a table that has a power of two times the quotients of the first.
pub(super) const WHOLE: u32 = 1 << SCALE_SHIFT;

/// How fingerprints are cut in a table of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotCut {
    /// Sixteen times the factor, from 1 to less than 2, by which fingerprints are spread.
    pub(super) scale: u32,
    /// The number of bits of the remainder of a new fingerprint.
    pub(super) width_bits: u32,
    /// The largest age of a fingerprint.
    pub(super) ages: u32,
    /// Whether slots tell the age.
    pub(super) is_marked: bool,
}

/// The equal parts of all keys that a stored fingerprint stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    /// The first part.
    pub start: u64,
    /// It is 2^age parts long.
    pub age: u32,
}

impl Interval {
    /// Returns the part after the last.
    #[inline(always)]
    pub fn end(self) -> u64 {
        self.start.saturating_add(1 << self.age)
    }
}

impl SlotCut {
    /// Returns the number of bits of a slot.
    pub(super) const fn slot_bits(self) -> u32 {
        self.width_bits + self.is_marked as u32
    }

    /// Returns the number of quotients, if there are so many for a scale of 1.
    pub(super) fn scaled(quotients: u64, scale: u32) -> u64 {
        (u128::from(quotients) * u128::from(scale)).div_ceil(1 << SCALE_SHIFT) as u64
    }

    /// Returns the quotient and the slot's value of a fingerprint that was shortened by `age` bits.
    #[inline(always)]
    pub(super) fn place(self, shortened: u64, age: u32) -> (u64, u64) {
        let spread = match self.scale {
            WHOLE => shortened,
            // shortened · scale / 16, of which no part has more than 64 bits.
            scale => {
                let (whole, rest) = (shortened >> SCALE_SHIFT, shortened % u64::from(WHOLE));
                whole * u64::from(scale) + ((rest * u64::from(scale)) >> SCALE_SHIFT)
            }
        };
        let length = self.width_bits - age;
        let remainder = spread & ((1 << length) - 1);
        let value = match self.is_marked {
            true => (remainder << 1 | 1) << age,
            false => remainder,
        };
        (spread >> length, value)
    }

    /// Returns the age that a slot tells; 64 if the table is damaged.
    #[inline(always)]
    fn age(self, value: u64) -> u32 {
        match self.is_marked {
            true => value.trailing_zeros(),
            false => 0,
        }
    }

    /// Returns what a slot in the run of a quotient stands for; None if the table is damaged.
    #[inline(always)]
    pub(super) fn interval(self, quotient: u64, value: u64) -> Option<Interval> {
        let age = self.age(value);
        if age > self.ages {
            return None;
        }
        let remainder = match self.is_marked {
            true => value >> age >> 1,
            false => value,
        };
        let spread = quotient << (self.width_bits - age) | remainder;
        let shortened = match self.scale {
            WHOLE => spread,
            scale => {
                // The least number that is spread to this one: spread · 16 / scale, rounded up.
                let whole = spread / u64::from(scale);
                let rest = (spread - whole * u64::from(scale)) as u32;
                (whole << SCALE_SHIFT) + u64::from((rest << SCALE_SHIFT).div_ceil(scale))
            }
        };
        Some(Interval {
            start: shortened << age,
            age,
        })
    }
}

/// A key, as the slots of one table know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotKey {
    pub(super) fingerprint: u64,
    pub(super) cut: SlotCut,
}

impl SlotKey {
    /// Returns the quotient and the slot's value with which the key is stored.
    #[inline(always)]
    pub(super) fn place(self) -> (u64, u64) {
        self.at_age(0)
    }

    /// Returns the quotients, the last of which is that of the key, whose runs can hold the key's
    /// fingerprint or a shortened one.
    #[inline(always)]
    pub(super) fn quotients(self) -> RangeInclusive<u64> {
        let last = self.place().0;
        match self.cut.ages {
            0 => last..=last,
            oldest => self.at_age(oldest).0..=last,
        }
    }

    /// Whether a slot in the run of a quotient holds the fingerprint, or a shortened one.
    #[inline(always)]
    pub(super) fn is_in(self, quotient: u64, value: u64) -> bool {
        let age = self.cut.age(value);
        age <= self.cut.ages && self.at_age(age) == (quotient, value)
    }

    /// Whether a slot with this value would have to be in the run of this quotient.
    pub(super) fn belongs_to(self, quotient: u64, value: u64) -> bool {
        let age = self.cut.age(value);
        age <= self.cut.ages && self.at_age(age).0 == quotient
    }

    /// Whether a slot has the value of the fingerprint, or of a shortened one.
    pub(super) fn has(self, value: u64) -> bool {
        let age = self.cut.age(value);
        age <= self.cut.ages && self.at_age(age).1 == value
    }

    #[inline(always)]
    fn at_age(self, age: u32) -> (u64, u64) {
        self.cut.place(self.fingerprint >> age, age)
    }
}
