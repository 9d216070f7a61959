//! How long a store remembers a key, and the steps in which it counts.
//!
//! Time is divided into steps of equal length since 1970. A key that is recorded in a step is known
//! in that step and in the following ones whose lengths add up to the span. So it is forgotten
//! between the span and one step later.

use std::time::Duration;

/// How many steps a span has unless it is chosen.
const STEPS: u32 = 8;
/// More steps make each observation slower, and the overshoot hardly smaller.
const MOST_STEPS: u64 = 64;
/// A step must be much longer than a message takes.
const SHORTEST_STEP: Duration = Duration::from_millis(100);

/// How long a store remembers a key: at least a span, and at most one step longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    step_milliseconds: u64,
    steps: u64,
}

impl Window {
    /// Returns a window of a span, in eight steps.
    pub fn of_span(span: Duration) -> Result<Self, String> {
        Window::in_steps(span, STEPS)
    }

    /// Returns a window of a span, in so many steps.
    pub fn in_steps(span: Duration, steps: u32) -> Result<Self, String> {
        let span = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let steps = u64::from(steps.max(1));
        Window::of_milliseconds(span.div_ceil(steps), steps)
    }

    /// Returns a window of so many steps. Fails if the step is too short, or the numbers too large.
    pub(crate) fn of_milliseconds(step: u64, steps: u64) -> Result<Self, String> {
        if u128::from(step) < SHORTEST_STEP.as_millis() {
            return Err(format!(
                "a step of the window would have {step} ms; it needs at least {} ms",
                SHORTEST_STEP.as_millis()
            ));
        }
        // Redis counts milliseconds since 1970 in 63 bits.
        if !(1..=MOST_STEPS).contains(&steps) || step > 1 << 48 {
            return Err(format!(
                "a window of {steps} steps of {step} ms; there must be 1 to {MOST_STEPS} steps"
            ));
        }
        Ok(Window {
            step_milliseconds: step,
            steps,
        })
    }

    /// Returns how long a key is remembered at least.
    pub fn span(self) -> Duration {
        Duration::from_millis(self.step_milliseconds * self.steps)
    }

    /// Returns the length of a step, by which a key may be remembered longer.
    pub fn step(self) -> Duration {
        Duration::from_millis(self.step_milliseconds)
    }

    /// Returns the number of steps of a span.
    pub fn steps(self) -> u64 {
        self.steps
    }

    /// Returns the number of generations that are kept at the same time: those of the span, and the
    /// present one.
    pub fn generations(self) -> u64 {
        self.steps + 1
    }

    /// Returns the step of a time, in milliseconds since 1970.
    pub(crate) fn step_at(self, milliseconds: u64) -> u64 {
        milliseconds / self.step_milliseconds
    }

    /// Returns the oldest step whose keys are known in a step.
    pub(crate) fn oldest(self, step: u64) -> u64 {
        step.saturating_sub(self.steps)
    }

    /// Returns when the keys of a step are forgotten, in milliseconds since 1970.
    pub(crate) fn end_of(self, step: u64) -> u64 {
        step.saturating_add(1 + self.steps)
            .saturating_mul(self.step_milliseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_remembered_for_the_span_and_at_most_one_step_longer() {
        let span = Duration::from_secs(7 * 86_400);
        let window = Window::of_span(span).expect("long enough");
        assert_eq!((window.span(), window.generations()), (span, 9));
        let (span, step) = (7 * 86_400_000, 75_600_000);
        for recorded in [0, 1, step - 1, step, 12_345_678_901] {
            let end = window.end_of(window.step_at(recorded));
            assert!(end - recorded > span && end - recorded <= span + step);
            // In the last step in which it is known, its generation is the oldest.
            let last = window.step_at(end - 1);
            assert!(last < window.steps() || window.oldest(last) == window.step_at(recorded));
        }
    }

    #[test]
    fn impossible_windows_say_why() {
        let error = Window::of_span(Duration::from_millis(200)).expect_err("short");
        assert!(error.contains("at least 100 ms"), "{error}");
        let error = Window::in_steps(Duration::from_secs(3600), 65).expect_err("many");
        assert!(error.contains("1 to 64 steps"), "{error}");
        assert!(Window::of_span(Duration::MAX).is_err());
    }
}
