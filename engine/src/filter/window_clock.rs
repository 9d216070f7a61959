//! The clock of filters that forget keys after a span of time.
//!
//! Time is counted in steps. A key that was set in step s is in the window at step t if its age
//! t − s is at most the age limit. The limit is chosen so that a key is never forgotten before
//! its span has passed. It is forgotten at most one step after its span, or after the end of the
//! step in which its span ends if the span is not a whole number of steps.
//!
//! The clock never runs backwards. A late observation counts at the present step, so that its
//! key lives longer and never shorter.

use super::parameter::Parameter;
use super::{BuildError, FilterSpec, Observation, Registers};

/// The numbers of steps that a span has if no step is given, the preferred ones first: the first
/// that divides the span. With at most 13, a stamp takes four bits.
const STEPS_PER_SPAN: [u64; 9] = [12, 13, 11, 10, 9, 8, 14, 15, 16];

/// What a clock counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClockKind {
    /// The ticks of observations; by convention seconds since 1970.
    Seconds,
    /// Observations.
    Count,
    /// Observations with the verdict New.
    Deliveries,
}

/// The span of a window, its steps, and what they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowClock {
    kind: ClockKind,
    span: u64,
    step: u64,
}

impl WindowClock {
    /// The parameter that is the span of the window.
    pub(super) const SPAN: Parameter = Parameter::integer(
        "span",
        "how long a key is remembered, in units of the clock",
        1..=1 << 40,
        7 * 86_400,
    );
    /// The parameter that is the length of a step.
    pub(super) const STEP: Parameter = Parameter::integer(
        "step",
        "the resolution: a key is forgotten at most one step after its span; 0 means a twelfth \
         of the span",
        0..=1 << 40,
        0,
    );
    /// The parameter that says what the clock counts.
    pub(super) const CLOCK: Parameter = Parameter::choice(
        "clock",
        "what a unit is: a second, an observation (count), or a New verdict (deliveries)",
        &["seconds", "count", "deliveries"],
    );

    pub(super) fn of(spec: &FilterSpec) -> Self {
        let span = spec.integer("span");
        WindowClock {
            kind: match () {
                () if spec.is_choice("clock", "count") => ClockKind::Count,
                () if spec.is_choice("clock", "deliveries") => ClockKind::Deliveries,
                () => ClockKind::Seconds,
            },
            span,
            step: match spec.integer("step") {
                0 => automatic_step(span),
                step => step,
            },
        }
    }

    /// Returns what the clock counts.
    pub fn kind(&self) -> ClockKind {
        self.kind
    }

    /// Returns how long a key is remembered at least.
    pub fn span(&self) -> u64 {
        self.span
    }

    /// Returns the length of a step.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Returns the step that contains a tick.
    pub fn step_of(&self, tick: u32) -> u64 {
        u64::from(tick) / self.step
    }

    /// Returns the step at which the first observations count if the clock stands at `clock`, and
    /// how many of them count at that step. An observation counts at its own step or, if it is
    /// late, at the present one.
    pub(crate) fn run(&self, clock: u64, observations: &[Observation]) -> (u64, usize) {
        let first = observations.first().map_or(0, |it| self.step_of(it.tick));
        let step = clock.max(first);
        // The first tick after the step, so that no tick is divided.
        let end = (step + 1).saturating_mul(self.step);
        let later = |it: &Observation| u64::from(it.tick) >= end;
        let run = observations.iter().position(later);
        (step, run.unwrap_or(observations.len()))
    }

    /// Returns the largest age, in steps, of a key in the window.
    ///
    /// Two observations less than a span apart differ by at most this many steps: the earlier
    /// one may be at the end of its step.
    pub fn age_limit(&self) -> u64 {
        (self.span + self.step - 2) / self.step
    }

    /// Returns the present step.
    #[inline(always)]
    pub fn now(&self, registers: &Registers) -> u64 {
        match self.kind {
            ClockKind::Seconds => registers.clock(),
            ClockKind::Count => registers.observations() / self.step,
            ClockKind::Deliveries => WindowRegisters::deliveries(registers) / self.step,
        }
    }
}

fn automatic_step(span: u64) -> u64 {
    let divisor = STEPS_PER_SPAN
        .into_iter()
        .find(|steps| span.is_multiple_of(*steps));
    span.div_ceil(divisor.unwrap_or(STEPS_PER_SPAN[0]))
}

/// The words that filters with a window keep in the registers.
///
/// | own word | content |
/// |---|---|
/// | 0 | the step of the last New verdict: the base of all stamps |
/// | 1 | New verdicts |
/// | 2 | the next group of cells to sweep |
/// | 3 | the group of cells at which the present sweep ends |
/// | 8–39 | New verdicts, by step or by several steps |
pub(super) struct WindowRegisters;

const BASE: usize = 0;
const DELIVERIES: usize = 1;
const SWEEP_NEXT: usize = 2;
const SWEEP_END: usize = 3;
const COUNTS: usize = 8;
const COUNT_WORDS: u64 = 32;

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
    pub fn count_delivery(registers: &mut Registers, age_limit: u64) {
        let word = COUNTS + (Self::base(registers) / bucket(age_limit) % COUNT_WORDS) as usize;
        let own = registers.own_mut();
        own[DELIVERIES] += 1;
        own[word] += 1;
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
        registers.own_mut()[BASE] = step;
    }

    /// Returns how many of the New verdicts are in the window at a step. If the window has more
    /// than 30 steps, verdicts are counted for several steps together, and the oldest count is
    /// taken in proportion.
    pub fn in_window(registers: &Registers, age_limit: u64, now: u64) -> f64 {
        let (bucket, base) = (bucket(age_limit), Self::base(registers));
        let oldest = now.saturating_sub(age_limit);
        let newest_bucket = base / bucket;
        let mut sum = 0.0;
        for back in 0..COUNT_WORDS.min(newest_bucket + 1) {
            let number = newest_bucket - back;
            let (first, last) = (number * bucket, ((number + 1) * bucket - 1).min(base));
            if last < oldest {
                break;
            }
            let counted = registers.own()[COUNTS + (number % COUNT_WORDS) as usize] as f64;
            let inside = (last - first.max(oldest) + 1) as f64 / (last - first + 1) as f64;
            sum += counted * inside;
        }
        sum
    }
}

/// Returns how many steps are counted together, so that a window and one more count fit.
fn bucket(age_limit: u64) -> u64 {
    (age_limit + 1).div_ceil(COUNT_WORDS - 2)
}

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
                reason: "a span can have at most 65,533 steps; choose a larger step",
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

    /// Returns which values are in the window at a step, if cells are relative to a base.
    #[inline(always)]
    pub fn window(&self, base: u64, now: u64) -> StampWindow {
        let passed = now - base;
        StampWindow {
            newest: self.value_of(base),
            values: self.values,
            // No value is in a window that ended before the base.
            ages: (self.age_limit + 1).saturating_sub(passed),
        }
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
        if self.ages >= self.values {
            return (u64::MAX >> (63 - self.values)) & !1;
        }
        let run = (1u64 << self.ages) - 1;
        // Ages 0, 1, … are the values newest, newest − 1, …, and after 1 follows the largest.
        match self.newest >= self.ages {
            // The run is empty if it would be shifted by the whole width.
            true => run.wrapping_shl((self.newest + 1 - self.ages) as u32),
            false => {
                let low = (1u64 << (self.newest + 1)) - 2;
                let high = self.ages - self.newest;
                low | (((1u64 << high) - 1) << (self.values + 1 - high))
            }
        }
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

    fn clock(span: u64, step: u64) -> WindowClock {
        WindowClock {
            kind: ClockKind::Seconds,
            span,
            step,
        }
    }

    #[test]
    fn a_span_is_never_cut_short_and_exceeded_by_less_than_a_step() {
        for (span, step) in [(1, 1), (10, 1), (10, 3), (12, 4), (100, 7), (5, 20)] {
            let clock = clock(span, step);
            for set in 0..3 * step {
                for age in 0..span + 2 * step {
                    let steps = (set + age) / step - set / step;
                    let is_in_window = steps <= clock.age_limit();
                    assert!(is_in_window || age >= span, "{span}/{step}: {age}");
                    let latest = span.next_multiple_of(step) + step;
                    assert!(!is_in_window || age < latest, "{span}/{step}: {age}");
                }
            }
        }
        assert_eq!(clock(1000, 1).age_limit(), 999);
    }

    #[test]
    fn stamps_have_the_width_that_the_paper_gives() {
        // ⌈log2(w + 1)⌉ bits for a window of w steps.
        for (span, bits) in [(1000, 10), (14, 4), (6, 3), (30, 5)] {
            let spec = format!("window:span={span},step=1")
                .parse()
                .expect("a filter");
            let stamps = Stamps::new(&spec, &clock(span, 1)).expect("few steps");
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
            let window = stamps.window(base, now);
            let value = stamps.value_of(set);
            let expected = now - set <= limit;
            prop_assert_eq!(window.contains(value), expected);
            prop_assert!(!window.contains(0));
            prop_assert_eq!(window.age(value), to_base);
            prop_assert_eq!(window.mask() >> value & 1 == 1, expected);
            let by_value = (1..=stamps.values).filter(|&v| window.contains(v));
            prop_assert_eq!(window.mask(), by_value.map(|v| 1 << v).sum::<u64>());
        }

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
                WindowRegisters::count_delivery(&mut registers, limit);
                set.push(at);
            }
            let now = at + later;
            let expected = set.iter().filter(|&&it| now - it <= limit).count() as f64;
            prop_assert_eq!(WindowRegisters::in_window(&registers, limit, now), expected);
        }
    }
}
