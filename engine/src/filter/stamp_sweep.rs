//! Empties cells whose stamp has left the window, all cells of a word at once, a few words per key.
//!
//! The values in the window are one run of a circle, and so are the others. Each end of the run
//! is compared with all fields together: with the top bit of every field set, subtracting the low
//! bits of the bound borrows from that bit exactly in the fields whose low bits are smaller.

use std::ops::Range;

use super::Registers;
use super::cache_lines::CACHE_LINE_BYTES;
use super::stamps::{StampWindow, Stamps};
use super::window_registers::WindowRegisters;
use crate::bytes::{read_u64, write_u64};
use crate::region::Region;

/// The values that a sweep removes, prepared for words with fields of one width. A field begins
/// with a stamp, and may have other content after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpiredStamps {
    /// The lowest bit of each field.
    lowest: u64,
    /// The width of a stamp.
    width_bits: u32,
    /// All bits of the lowest field.
    field: u64,
    bounds: Bounds,
}

#[derive(Clone, Copy, Debug)]
enum Bounds {
    /// Values from the first bound up to, and not including, the second one.
    Inside(AtLeast, AtLeast),
    /// All values but 0 and those.
    Outside(AtLeast, AtLeast),
}

/// A comparison of each field with one bound.
#[derive(Clone, Copy, Debug)]
struct AtLeast {
    /// The low bits of the bound, in each field.
    low: u64,
    /// All ones if the top bit of the bound is clear, else 0.
    top_is_clear: u64,
    /// 0 if the bound is above every value, else all ones.
    is_possible: u64,
}

impl ExpiredStamps {
    /// Prepares to remove the fields whose stamp is not in the window, from words that hold fields
    /// of `field_bits`.
    pub fn of(window: StampWindow, width_bits: u32, field_bits: u32) -> Self {
        let lowest = (0..u64::BITS / field_bits)
            .map(|field| 1u64 << (field * field_bits))
            .sum();
        let bound = |value: u64| AtLeast::new(value, lowest, width_bits);
        let StampWindow {
            newest,
            values,
            ages,
        } = window;
        let bounds = match newest >= ages {
            true => Bounds::Outside(bound(newest + 1 - ages), bound(newest + 1)),
            // The window continues at the largest value.
            false => {
                let above = ages.min(values) - newest;
                Bounds::Inside(bound(newest + 1), bound(values + 1 - above))
            }
        };
        ExpiredStamps {
            lowest,
            width_bits,
            field: u64::MAX >> (u64::BITS - field_bits),
            bounds,
        }
    }

    /// Returns the word without the fields that have left the window, and how many there were.
    #[inline(always)]
    pub fn remove(&self, word: u64) -> (u64, u32) {
        let top = self.lowest << (self.width_bits - 1);
        let stamps = word & ((top - self.lowest) | top);
        let bound = |bound: AtLeast| bound.matches(stamps, top);
        let expired = match self.bounds {
            Bounds::Inside(from, to) => bound(from) & !bound(to),
            Bounds::Outside(from, to) => {
                let low = top - self.lowest;
                let in_use = ((stamps & low) + low) | stamps;
                in_use & !(bound(from) & !bound(to))
            }
        } & top;
        let fields = (expired >> (self.width_bits - 1)).wrapping_mul(self.field);
        (word & !fields, expired.count_ones())
    }
}

impl AtLeast {
    fn new(value: u64, lowest: u64, width_bits: u32) -> Self {
        let top = 1 << (width_bits - 1);
        let all_if = |condition: bool| if condition { u64::MAX } else { 0 };
        AtLeast {
            low: lowest.wrapping_mul(value & (top - 1)),
            top_is_clear: all_if(value & top == 0),
            is_possible: all_if(value < 2 * top),
        }
    }

    /// Returns the top bit of each field that is at least the bound; other bits are arbitrary.
    #[inline(always)]
    fn matches(self, word: u64, top: u64) -> u64 {
        let low = (word | top) - self.low;
        ((word & low) | ((word | low) & self.top_is_clear)) & self.is_possible
    }
}

/// Empties the expired cells among some bits of eight bytes. Returns their number.
#[inline(always)]
pub(super) fn sweep_word<R: Region + ?Sized>(
    region: &mut R,
    at: usize,
    mask: u64,
    shift: u32,
    expired: ExpiredStamps,
) -> u64 {
    let word = read_u64(region.bytes(), at);
    let cells = word >> shift & mask;
    let (left, emptied) = expired.remove(cells);
    if emptied > 0 {
        write_u64(
            region.bytes_mut(at..at + 8),
            0,
            word ^ ((cells ^ left) << shift),
        );
    }
    u64::from(emptied)
}

/// Returns the emptied cells of some cache lines, whose words hold whole fields.
pub(super) fn sweep_lines<R: Region + ?Sized>(
    region: &mut R,
    lines: Range<u64>,
    expired: ExpiredStamps,
) -> u64 {
    let words =
        lines.start as usize * CACHE_LINE_BYTES / 8..lines.end as usize * CACHE_LINE_BYTES / 8;
    words
        .map(|at| sweep_word(region, 8 * at, u64::MAX, 0, expired))
        .sum()
}

/// How many due groups of cells a New verdict sweeps.
const GROUPS_PER_KEY: u64 = 2;

/// Makes the present step the base of all stamps. Calls `sweep` for the groups of cells that are
/// due, with the window that decides which of their stamps expire.
///
/// Every step a part of all groups is due, and every New verdict sweeps a few groups of it; what
/// is left when the next step begins is swept at once. So the work is spread over the keys,
/// depends on nothing but the observations, and Seen verdicts change nothing. A filter that is far
/// larger than its window needs has few New verdicts per step, and then sweeps most of a part at
/// once, at the speed of memory.
#[inline(always)]
pub(super) fn advance(
    stamps: &Stamps,
    registers: &mut Registers,
    groups: u64,
    now: u64,
    mut sweep: impl FnMut(&mut Registers, Range<u64>, StampWindow),
) {
    let (next, end) = WindowRegisters::sweep(registers);
    if WindowRegisters::base(registers) != now {
        advance_base(stamps, registers, groups, now, sweep);
    } else if next != end {
        let until = (next + GROUPS_PER_KEY).min(end);
        let window = stamps.window_at(registers, now);
        sweep(registers, next..until, window);
        WindowRegisters::set_sweep(registers, until, end);
    }
}

/// Whether a New verdict would advance the base or sweep.
#[inline(always)]
pub(super) fn is_due(registers: &Registers, now: u64) -> bool {
    let (next, end) = WindowRegisters::sweep(registers);
    (next != end) | (WindowRegisters::base(registers) != now)
}

/// Returns the groups that so many New verdicts at the base step sweep, and marks them as swept.
pub(super) fn take_due(registers: &mut Registers, new: u64) -> Range<u64> {
    let (next, end) = WindowRegisters::sweep(registers);
    let until = next
        .saturating_add(GROUPS_PER_KEY.saturating_mul(new))
        .min(end);
    WindowRegisters::set_sweep(registers, until.max(next), end);
    next..until
}

#[cold]
fn advance_base(
    stamps: &Stamps,
    registers: &mut Registers,
    groups: u64,
    now: u64,
    mut sweep: impl FnMut(&mut Registers, Range<u64>, StampWindow),
) {
    let (base, slack) = (WindowRegisters::base(registers), stamps.slack());
    let (mut next, mut end) = WindowRegisters::sweep(registers);
    if now - base >= slack {
        // All parts are due.
        let window = stamps.window_at(registers, now);
        sweep(registers, 0..groups, window);
        (next, end) = (0, 0);
    } else {
        for step in base..now {
            sweep(registers, next..end, stamps.window_of(step));
            let part = (step + 1) % slack;
            (next, end) = (part * groups / slack, (part + 1) * groups / slack);
        }
    }
    stamps.advance(registers, now);
    WindowRegisters::set_sweep(registers, next, end);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn stamps_are_removed_iff_they_are_not_in_the_window(
            width in 2u32..=16, more in 0u32..=16, newest: u64, ages: u64, word: u64,
            used in 0u32..=64,
        ) {
            let field_bits = width + more;
            let values = (1u64 << width) - 1;
            let window = StampWindow {
                newest: 1 + newest % values,
                values,
                ages: ages % (values + 1),
            };
            // Bits beyond the last field stay 0, as do fields beyond the last cell.
            let fields = (64 / field_bits).min(used);
            let word = match fields * field_bits {
                64 => word,
                bits => word & ((1 << bits) - 1),
            };
            let (mut expected, mut removed) = (0, 0);
            for field in 0..fields {
                let content = word >> (field * field_bits) & (u64::MAX >> (64 - field_bits));
                let value = content & values;
                match value == 0 || window.contains(value) {
                    true => expected |= content << (field * field_bits),
                    false => removed += 1,
                }
            }
            let found = ExpiredStamps::of(window, width, field_bits).remove(word);
            prop_assert_eq!(found, (expected, removed), "{:?} {:x}", window, word);
        }
    }
}
