//! Keeps absurd times from emptying a window.
//!
//! One line with a time in the year 2106 would move the clock so far that every key leaves the
//! window. So a time that is more than a whole window ahead of the clock, or later than the
//! machine's own clock allows, must be confirmed: it is accepted if eight observations in a row
//! are ahead, looking forward in the batch. Until then such an observation counts at the present
//! step, like a late one, and its key lives from there.
//!
//! A pause longer than the window is confirmed by the first eight observations after it. If they
//! come one by one, the keys of the first seven can be forgotten early.

use super::{Observation, WindowClock};

/// How many observations in a row must be ahead before the clock follows them.
const CONFIRMATIONS: usize = 8;
/// How far times may be ahead of the machine's clock: other machines' clocks and time zones
/// differ.
const TOLERANCE_SECONDS: u32 = 86_400;
/// A machine whose clock is before 2020 does not know the time.
const CLOCK_IS_SET: u32 = 1_577_836_800;

/// How the times of observations were handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockReport {
    /// Observations whose step had passed. They counted at the present step. Those without a time,
    /// whose tick is 0, are not among them.
    pub late: u64,
    /// Observations that were too far ahead. They counted at the present step.
    pub ahead: u64,
}

/// Replaces the times of observations that are too far ahead.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClockGuard {
    /// How many observations in a row were ahead.
    run: usize,
    report: ClockReport,
    admitted: Vec<Observation>,
}

impl ClockGuard {
    /// Returns how the times so far were handled.
    pub fn report(&self) -> ClockReport {
        self.report
    }

    /// Returns the observations with times that the clock may follow. `present` is the step of
    /// the clock, `machine` the time of the machine's clock if it has one.
    pub fn admit(
        &mut self,
        clock: &WindowClock,
        mut present: u64,
        machine: Option<u32>,
        observations: &[Observation],
    ) -> &[Observation] {
        let machine = machine.filter(|&seconds| seconds >= CLOCK_IS_SET);
        let latest = machine.map_or(u32::MAX, |it| it.saturating_add(TOLERANCE_SECONDS));
        let mut bounds = Bounds::at(clock, present, latest);
        self.admitted.clear();
        for (index, observation) in observations.iter().enumerate() {
            let mut admitted = *observation;
            if bounds.is_ahead(observation) {
                let following = observations[index..].iter().take(CONFIRMATIONS);
                let following = following.take_while(|it| bounds.is_ahead(it)).count();
                if self.run + following < CONFIRMATIONS {
                    self.run += 1;
                    self.report.ahead += 1;
                    // Before the first step there is no present one.
                    admitted.tick = match present {
                        0 => machine.unwrap_or(0),
                        _ => 0,
                    };
                }
            } else {
                self.run = 0;
                self.report.late += u64::from(bounds.is_late(observation));
            }
            if u64::from(admitted.tick) >= bounds.next {
                present = clock.step_of(admitted.tick);
                bounds = Bounds::at(clock, present, latest);
            }
            self.admitted.push(admitted);
        }
        &self.admitted
    }
}

/// The ticks at which the present step begins and ends, and after which a time is ahead. They
/// save two divisions per observation.
struct Bounds {
    begin: u64,
    next: u64,
    last: u64,
}

impl Bounds {
    fn at(clock: &WindowClock, present: u64, latest: u32) -> Self {
        let begin_of = |step: u64| step.saturating_mul(clock.step());
        // Before the first step, nothing is too far ahead of it.
        let last = match present {
            0 => u64::MAX,
            _ => begin_of(present + clock.age_limit() + 2) - 1,
        };
        Bounds {
            begin: begin_of(present),
            next: begin_of(present + 1),
            last: last.min(latest.into()),
        }
    }

    #[inline(always)]
    fn is_ahead(&self, observation: &Observation) -> bool {
        u64::from(observation.tick) > self.last
    }

    #[inline(always)]
    fn is_late(&self, observation: &Observation) -> bool {
        observation.tick > 0 && u64::from(observation.tick) < self.begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{AnyFilter, FilterSpec};
    use crate::fingerprint::Fingerprint;

    const DAY: u32 = 86_400;
    const NOW: u32 = 20_000 * DAY;

    fn clock() -> WindowClock {
        let spec: FilterSpec = "window:span=604800,step=86400".parse().expect("a filter");
        let filter = AnyFilter::build(&spec, 1024).expect("enough memory");
        *filter.window().expect("a window")
    }

    /// Returns the admitted days, relative to NOW; 0 for an observation at the present step.
    fn admit(guard: &mut ClockGuard, present: u64, machine: Option<u32>, days: &[i64]) -> Vec<i64> {
        let observations: Vec<Observation> = days
            .iter()
            .map(|day| Observation {
                fingerprint: Fingerprint(1),
                tick: (i64::from(NOW) + day * i64::from(DAY)) as u32,
                importance: 0,
            })
            .collect();
        let admitted = guard.admit(&clock(), present, machine, &observations);
        let days = admitted.iter().map(|it| match it.tick {
            0 => 0,
            tick => (i64::from(tick) - i64::from(NOW)) / i64::from(DAY),
        });
        days.collect()
    }

    #[test]
    fn one_absurd_time_does_not_move_the_clock() {
        let mut guard = ClockGuard::default();
        let admitted = admit(&mut guard, 20_000, None, &[1, 2, 9000, 3, 9000, 9000, 2, 4]);
        assert_eq!(admitted, [1, 2, 0, 3, 0, 0, 2, 4]);
        assert_eq!(guard.report(), ClockReport { late: 1, ahead: 3 });
    }

    #[test]
    fn a_pause_is_followed_at_once_if_the_batch_confirms_it() {
        let mut guard = ClockGuard::default();
        let days = [1, 100, 100, 101, 101, 100, 101, 102, 103, 103];
        assert_eq!(admit(&mut guard, 20_000, None, &days), days);
        assert_eq!(guard.report().ahead, 0);
    }

    #[test]
    fn a_pause_is_followed_after_eight_single_observations() {
        let mut guard = ClockGuard::default();
        let admitted: Vec<i64> = (0..9)
            .flat_map(|_| admit(&mut guard, 20_000, None, &[100]))
            .collect();
        assert_eq!(admitted, [0, 0, 0, 0, 0, 0, 0, 100, 100]);
    }

    #[test]
    fn times_within_the_next_window_are_followed() {
        let mut guard = ClockGuard::default();
        assert_eq!(admit(&mut guard, 20_000, None, &[7, 15]), [7, 15]);
    }

    #[test]
    fn the_first_time_must_not_be_in_the_future() {
        let mut guard = ClockGuard::default();
        let admitted = admit(&mut guard, 0, Some(NOW), &[9000, 0, 1]);
        assert_eq!(admitted, [0, 0, 1]);
        let admitted = guard.admit(
            &clock(),
            0,
            Some(NOW),
            &[Observation {
                fingerprint: Fingerprint(1),
                tick: u32::MAX,
                importance: 0,
            }],
        );
        assert_eq!(admitted[0].tick, NOW);
        // A machine that does not know the time cannot object.
        let mut guard = ClockGuard::default();
        assert_eq!(admit(&mut guard, 0, Some(5), &[9000]), [9000]);
    }
}
