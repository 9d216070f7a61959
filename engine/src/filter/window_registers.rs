//! The words that filters with a window keep in the registers, and the number of keys in the window.

use std::ops::RangeInclusive;

use super::Registers;

/// The words that filters with a window keep in the registers.
///
/// | own word | content |
/// |---|---|
/// | 0 | the step of the last New verdict: the base of all stamps |
/// | 1 | New verdicts |
/// | 2 | the next group of cells to sweep |
/// | 3 | the group of cells at which the present sweep ends |
/// | 4 | the base modulo the number of stamps, if the filter has stamps |
/// | 5 | which of the words from 8 on counts New verdicts at the base |
/// | 8–55 | New verdicts, by step or by several steps |
pub(super) struct WindowRegisters;

const BASE: usize = 0;
const DELIVERIES: usize = 1;
const SWEEP_NEXT: usize = 2;
const SWEEP_END: usize = 3;
const BASE_REMAINDER: usize = 4;
const COUNTED_IN: usize = 5;
const COUNTS: usize = 8;
const COUNT_WORDS: u64 = 48;

impl WindowRegisters {
    #[inline(always)]
    pub fn base(registers: &Registers) -> u64 {
        registers.own()[BASE]
    }

    #[inline(always)]
    pub fn deliveries(registers: &Registers) -> u64 {
        registers.own()[DELIVERIES]
    }

    /// Returns the groups of cells that are still to be swept.
    #[inline(always)]
    pub fn sweep(registers: &Registers) -> (u64, u64) {
        (registers.own()[SWEEP_NEXT], registers.own()[SWEEP_END])
    }

    #[inline(always)]
    pub fn set_sweep(registers: &mut Registers, next: u64, end: u64) {
        registers.own_mut()[SWEEP_NEXT] = next;
        registers.own_mut()[SWEEP_END] = end;
    }

    /// Counts a New verdict at the base step.
    #[inline(always)]
    pub fn count_delivery(registers: &mut Registers) {
        Self::count_deliveries(registers, 1);
    }

    /// Counts so many New verdicts at the base step.
    #[inline(always)]
    pub fn count_deliveries(registers: &mut Registers, count: u64) {
        let own = registers.own_mut();
        own[DELIVERIES] += count;
        own[COUNTS + (own[COUNTED_IN] % COUNT_WORDS) as usize] += count;
    }

    /// Returns the base modulo the number of stamps. It is stored, so that an observation needs
    /// no division.
    #[inline(always)]
    pub fn base_remainder(registers: &Registers) -> u64 {
        registers.own()[BASE_REMAINDER]
    }

    pub fn set_base_remainder(registers: &mut Registers, remainder: u64) {
        registers.own_mut()[BASE_REMAINDER] = remainder;
    }

    /// Whether these words are possible at a step, if the base is stored modulo `remainders` and
    /// sweeps have `groups` groups of cells.
    pub fn are_possible(registers: &Registers, now: u64, remainders: u64, groups: u64) -> bool {
        let base = Self::base(registers);
        let (next, end) = Self::sweep(registers);
        base <= now
            && Self::base_remainder(registers) == base % remainders
            && next <= end
            && end <= groups
    }

    /// Moves the base forward to a step.
    pub fn advance(registers: &mut Registers, age_limit: u64, step: u64) {
        let bucket = bucket(age_limit);
        let (from, to) = (Self::base(registers) / bucket, step / bucket);
        for passed in (from + 1..=to).take(COUNT_WORDS as usize) {
            registers.own_mut()[COUNTS + (passed % COUNT_WORDS) as usize] = 0;
        }
        if to - from >= COUNT_WORDS {
            registers.own_mut()[COUNTS..COUNTS + COUNT_WORDS as usize].fill(0);
        }
        registers.own_mut()[COUNTED_IN] = to % COUNT_WORDS;
        registers.own_mut()[BASE] = step;
    }

    /// Makes these the registers of the union of two filters, at a step at which no cell has left
    /// the window and was not emptied. Steps of the two filters are shifted. If several steps are
    /// counted together, their verdicts count at the last of them.
    pub fn unite(
        registers: &mut Registers,
        other: &Registers,
        age_limit: u64,
        now: u64,
        shifts: [u64; 2],
    ) {
        let bucket = bucket(age_limit);
        let mut counts = [0; COUNT_WORDS as usize];
        for (source, shift) in [&*registers, other].into_iter().zip(shifts) {
            let base = Self::base(source);
            let newest = base / bucket;
            for number in newest.saturating_sub(COUNT_WORDS - 1)..=newest {
                let last = ((number + 1) * bucket - 1).min(base) + shift;
                if now / bucket - (last / bucket).min(now / bucket) < COUNT_WORDS {
                    let counted = source.own()[COUNTS + (number % COUNT_WORDS) as usize];
                    counts[(last / bucket % COUNT_WORDS) as usize] += counted;
                }
            }
        }
        let deliveries = Self::deliveries(registers) + Self::deliveries(other);
        let own = registers.own_mut();
        own[BASE] = now;
        own[DELIVERIES] = deliveries;
        own[COUNTED_IN] = now / bucket % COUNT_WORDS;
        own[COUNTS..COUNTS + COUNT_WORDS as usize].copy_from_slice(&counts);
        Self::set_sweep(registers, 0, 0);
    }

    /// Returns how many of the New verdicts are in the window at a step. If the window has more
    /// than 46 steps, verdicts are counted for several steps together, and the oldest count is
    /// taken in proportion.
    pub fn in_window(registers: &Registers, age_limit: u64, now: u64) -> f64 {
        let steps = now.saturating_sub(age_limit)..=now;
        Self::in_steps(registers, age_limit, steps)
    }

    /// Returns how many New verdicts there were in some of the steps of the window.
    pub fn in_steps(registers: &Registers, age_limit: u64, steps: RangeInclusive<u64>) -> f64 {
        let (bucket, base) = (bucket(age_limit), Self::base(registers));
        let newest_bucket = base / bucket;
        let mut sum = 0.0;
        for back in 0..COUNT_WORDS.min(newest_bucket + 1) {
            let number = newest_bucket - back;
            let (first, last) = (number * bucket, ((number + 1) * bucket - 1).min(base));
            let (from, to) = (first.max(*steps.start()), last.min(*steps.end()));
            if from <= to {
                let counted = registers.own()[COUNTS + (number % COUNT_WORDS) as usize] as f64;
                sum += counted * (to - from + 1) as f64 / (last - first + 1) as f64;
            }
        }
        sum
    }
}

/// Returns how many steps are counted together, so that a window and one more count fit.
fn bucket(age_limit: u64) -> u64 {
    (age_limit + 1).div_ceil(COUNT_WORDS - 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn deliveries_in_the_window_are_counted(
            limit in 0u64..30, steps in proptest::collection::vec(0u64..40, 1..60), later in 0u64..40,
        ) {
            let mut registers = Registers::new(0);
            let mut at = 0;
            let mut set = Vec::new();
            for gap in steps {
                at += gap / 8;
                WindowRegisters::advance(&mut registers, limit, at);
                WindowRegisters::count_delivery(&mut registers);
                set.push(at);
            }
            let now = at + later;
            let expected = set.iter().filter(|&&it| now - it <= limit).count() as f64;
            prop_assert_eq!(WindowRegisters::in_window(&registers, limit, now), expected);
        }
    }
}
