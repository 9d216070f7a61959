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
use super::window_registers::WindowRegisters;
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

/// Where a key is, relative to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowAge {
    /// Its span has not passed: it must not have been forgotten.
    Inside,
    /// Its span may have passed, and it may be forgotten, until the end of a step.
    Leaving,
    /// It must have been forgotten.
    Outside,
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
        "the resolution: a key is forgotten at most one step after its span; 0 means about a \
         twelfth of the span",
        0..=1 << 40,
        0,
    );
    /// The same for a filter that forgets gradually.
    pub(super) const GRADUAL_STEP: Parameter = Parameter::integer(
        "step",
        "the resolution: how often the oldest slice is retired; 0 means about a twelfth of the \
         span",
        0..=1 << 40,
        0,
    );
    /// The parameter that says what the clock counts.
    pub(super) const CLOCK: Parameter = Parameter::choice(
        "clock",
        "what a unit is: a second, an observation (count), or a New verdict (deliveries)",
        &["seconds", "count", "deliveries"],
    );

    /// Returns the clock of a filter. Fails if its step is longer than its span: a key would be
    /// remembered for two steps, which is many times the span.
    pub(super) fn of(spec: &FilterSpec) -> Result<Self, BuildError> {
        let span = spec.integer("span");
        if spec.integer("step") > span {
            return Err(BuildError::Contradiction {
                filter: spec.to_string(),
                reason: "`step` must be at most `span`",
            });
        }
        Ok(WindowClock {
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
        })
    }

    /// Returns the clock of a window of so many observations, with steps of one.
    pub(crate) fn counting(span: u64) -> Self {
        WindowClock {
            kind: ClockKind::Count,
            span,
            step: 1,
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

    /// Returns where a key is that was delivered so many units ago.
    pub fn age(&self, units: u64) -> WindowAge {
        // A key that was set at the start of its step is forgotten last.
        match units {
            _ if units < self.span => WindowAge::Inside,
            _ if units / self.step <= self.age_limit() => WindowAge::Leaving,
            _ => WindowAge::Outside,
        }
    }

    /// Returns where a key is that was delivered so many steps ago, if no more is known.
    pub fn age_in_steps(&self, steps: u64) -> WindowAge {
        match steps {
            _ if (steps + 1).saturating_mul(self.step) <= self.span => WindowAge::Inside,
            _ if steps <= self.age_limit() => WindowAge::Leaving,
            _ => WindowAge::Outside,
        }
    }

    /// Returns how long the average key is remembered: it is set anywhere within a step.
    pub fn mean_lifetime(&self) -> f64 {
        let longest = (self.age_limit() + 1) as f64 * self.step as f64;
        longest - (self.step - 1) as f64 / 2.0
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

#[cfg(test)]
mod tests {
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
                    let expected = |where_it_is| match where_it_is {
                        WindowAge::Inside => is_in_window,
                        WindowAge::Leaving => true,
                        WindowAge::Outside => !is_in_window,
                    };
                    assert!(expected(clock.age(age)), "{span}/{step}: {age}");
                    assert!(expected(clock.age_in_steps(steps)), "{span}/{step}: {age}");
                    let is_inside = clock.age_in_steps(steps) == WindowAge::Inside;
                    assert!(!is_inside || clock.age(age) == WindowAge::Inside);
                }
            }
        }
        assert_eq!(clock(1000, 1).age_limit(), 999);
    }
}
