//! Small numbers that tell in which step a cell was set.

use super::window_clock::WindowClock;
use super::window_registers::WindowRegisters;
use super::window_union::Alignment;
use super::{BuildError, FilterSpec, Registers};

/// Cell values that tell the step in which a cell was set, relative to the base.
///
/// The value of step s is 1 + s mod n; 0 is an empty cell. Values are unambiguous while no cell
/// in use is older than n − 1 steps at the base, which a sweep over all cells every `slack` steps
/// guarantees: a cell that it finds in the window is at most `slack` steps beyond it next time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamps {
    age_limit: u64,
    /// The number of values without 0.
    values: u64,
    width_bits: u32,
}

/// The widest stamp, in bits.
const MAX_WIDTH_BITS: u32 = 16;

impl Stamps {
    /// Returns the narrowest stamps for the window of a clock.
    pub fn new(spec: &FilterSpec, clock: &WindowClock) -> Result<Self, BuildError> {
        let age_limit = clock.age_limit();
        // One value for every age in the window, at least one beyond it, and 0.
        let width_bits = u64::BITS - (age_limit + 2).leading_zeros();
        if width_bits > MAX_WIDTH_BITS {
            return Err(BuildError::Contradiction {
                filter: spec.to_string(),
                reason: "a span can have at most 65,533 steps, so `step` must be larger",
            });
        }
        Ok(Stamps {
            age_limit,
            values: (1 << width_bits) - 1,
            width_bits,
        })
    }

    pub fn width_bits(&self) -> u32 {
        self.width_bits
    }

    /// Returns the largest value.
    pub fn max_value(&self) -> u64 {
        self.values
    }

    /// Returns the largest age, in steps, of a cell in the window.
    pub fn age_limit(&self) -> u64 {
        self.age_limit
    }

    /// Returns in how many steps all cells must be swept once.
    pub fn slack(&self) -> u64 {
        self.values - self.age_limit - 1
    }

    /// Returns the value of a step.
    #[inline(always)]
    pub fn value_of(&self, step: u64) -> u64 {
        1 + step % self.values
    }

    /// Returns the value of the base step, at which cells are set.
    #[inline(always)]
    pub fn base_value(&self, registers: &Registers) -> u64 {
        1 + WindowRegisters::base_remainder(registers)
    }

    /// Returns which values are in the window at a step.
    #[inline(always)]
    pub fn window_at(&self, registers: &Registers, now: u64) -> StampWindow {
        let passed = now - WindowRegisters::base(registers);
        StampWindow {
            newest: self.base_value(registers),
            values: self.values,
            // No value is in a window that ended before the base.
            ages: (self.age_limit + 1).saturating_sub(passed),
        }
    }

    /// Returns which values are in the window at a step that is the base.
    pub fn window_of(&self, step: u64) -> StampWindow {
        StampWindow {
            newest: self.value_of(step),
            values: self.values,
            ages: self.age_limit + 1,
        }
    }

    /// Makes a step the base.
    pub fn advance(&self, registers: &mut Registers, step: u64) {
        WindowRegisters::advance(registers, self.age_limit, step);
        WindowRegisters::set_base_remainder(registers, step % self.values);
    }

    /// Makes these the registers of the union of two filters, whose cells have been moved to the
    /// alignment.
    pub fn unite(&self, registers: &mut Registers, other: &Registers, alignment: Alignment) {
        let Alignment { now, shifts } = alignment;
        WindowRegisters::unite(registers, other, self.age_limit, now, shifts);
        WindowRegisters::set_base_remainder(registers, now % self.values);
        registers.advance_clock(other.clock());
        registers.count_others(other);
    }

    /// Returns the same stamps with the width as a compile-time constant; None if it is another.
    #[inline(always)]
    pub fn with_constant_width(self, width_bits: u32) -> Option<Self> {
        (self.width_bits == width_bits).then_some(Stamps {
            width_bits,
            values: (1 << width_bits) - 1,
            ..self
        })
    }
}

/// The values of stamps that are in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampWindow {
    /// The value of the base step.
    pub newest: u64,
    /// The number of values without 0.
    pub values: u64,
    /// How many values, counted backwards from the newest, are in the window.
    pub ages: u64,
}

impl StampWindow {
    /// Whether a cell with this value was set within the window.
    #[inline(always)]
    pub fn contains(&self, value: u64) -> bool {
        (value != 0) & (self.age(value) < self.ages)
    }

    /// Returns how many steps before the base a value was set.
    #[inline(always)]
    pub fn age(&self, value: u64) -> u64 {
        let behind = self.newest.wrapping_sub(value);
        // Negative if the values have wrapped around since.
        behind.wrapping_add(((behind as i64 >> 63) as u64) & self.values)
    }

    /// Returns a word whose bit v says whether the value v is in the window. Values must be
    /// below 64.
    #[inline(always)]
    pub fn mask(&self) -> u64 {
        let ages = self.ages.min(self.values);
        // Ages 0, 1, … are the values newest, newest − 1, …, and after 1 follows the largest. The
        // run of these values, counted from 1, is shifted to its place in a circle.
        let shift = self.newest + self.values - ages;
        let circle = (1 << self.values) - 1;
        let place = match self.values < 32 {
            true => {
                let run = ((1 << ages) - 1) << shift;
                run | (run >> self.values)
            }
            false => {
                let run = ((1u128 << ages) - 1) << shift;
                (run | (run >> self.values)) as u64
            }
        };
        (place & circle) << 1
    }
}

/// Returns how often the most frequent value occurs.
pub(super) fn most_equal(values: &[u64]) -> u32 {
    let same = |value: &u64| values.iter().filter(|&other| other == value).count();
    values.iter().map(same).max().unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stamps_have_the_width_that_the_paper_gives() {
        // ⌈log2(w + 1)⌉ bits for a window of w steps.
        for (span, bits) in [(1000, 10), (14, 4), (6, 3), (30, 5)] {
            let spec = format!("window:span={span},step=1")
                .parse()
                .expect("a filter");
            let stamps =
                Stamps::new(&spec, &WindowClock::of(&spec).expect("a clock")).expect("few steps");
            assert_eq!(stamps.width_bits(), bits, "{span}");
            assert!(stamps.slack() >= 1);
        }
    }

    #[test]
    fn the_mask_of_every_window_has_the_values_in_it() {
        for values in [3, 7, 15, 31, 63] {
            for (newest, ages) in
                (1..=values).flat_map(|it| (0..=values).map(move |ages| (it, ages)))
            {
                let window = StampWindow {
                    newest,
                    values,
                    ages,
                };
                let expected = (1..=values).filter(|&value| window.contains(value));
                let expected = expected.map(|value| 1 << value).sum::<u64>();
                assert_eq!(window.mask(), expected, "{window:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_stamp_is_in_the_window_iff_its_step_is(
            limit in 0u64..61, set in 0u64..200, to_base in 0u64..64, to_now in 0u64..100,
        ) {
            let width_bits = u64::BITS - (limit + 2).leading_zeros();
            let stamps = Stamps { age_limit: limit, values: (1 << width_bits) - 1, width_bits };
            // Sweeps guarantee that no cell is older.
            let to_base = to_base % stamps.values;
            let (base, now) = (set + to_base, set + to_base + to_now);
            let mut registers = Registers::new(0);
            stamps.advance(&mut registers, base);
            let window = stamps.window_at(&registers, now);
            prop_assert!(to_now > 0 || window == stamps.window_of(now));
            let value = stamps.value_of(set);
            let expected = now - set <= limit;
            prop_assert_eq!(window.contains(value), expected);
            prop_assert!(!window.contains(0));
            prop_assert_eq!(window.age(value), to_base);
            prop_assert_eq!(window.mask() >> value & 1 == 1, expected);
            let by_value = (1..=stamps.values).filter(|&v| window.contains(v));
            prop_assert_eq!(window.mask(), by_value.map(|v| 1 << v).sum::<u64>());
        }
    }
}
