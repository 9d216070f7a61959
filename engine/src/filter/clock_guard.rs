//! Keeps absurd times from emptying a window.
//!
//! One line with a time in the year 2106 would move the clock so far that every key leaves the
//! window, and all later lines would be late until then. So the clock does not follow every time:
//!
//! - A time more than a day after the machine's clock is never followed.
//! - A time more than a window ahead of the clock may be the end of a pause, or one broken line. It
//!   is followed if it is the first time since the store was opened, if it is not later than the
//!   machine's clock and at most a day earlier, as in a live feed, or if the time before it was
//!   ahead too and agrees with it.
//! - Any other time is followed.
//!
//! An observation whose time is not followed counts at the present step, like a late one. After a
//! pause within an old log that is one observation: its key can be forgotten early.
//!
//! **Invariant:** the result does not depend on how observations are divided into batches.

use std::ops::RangeInclusive;

use super::{Observation, WindowClock};

/// How far times may be ahead of the machine's clock: other machines' clocks and time zones
/// differ. A time that is so far behind it may be that of a live feed.
const DAY: u32 = 86_400;
/// How far the clocks of machines with a network are apart.
const MINUTE: u32 = 60;
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

/// Replaces the times that the clock must not follow.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClockGuard {
    /// Whether a time was followed since the store was opened.
    has_followed: bool,
    /// The last time, if it was too far ahead to be followed alone.
    unconfirmed: Option<u32>,
    report: ClockReport,
    admitted: Vec<Observation>,
}

impl ClockGuard {
    /// Returns how the times so far were handled.
    pub fn report(&self) -> ClockReport {
        self.report
    }

    /// Returns the observations with times that the clock may follow; the others have the tick 0.
    /// `present` is the step of the clock, `machine` the time of the machine's clock if it has one.
    pub fn admit(
        &mut self,
        clock: &WindowClock,
        mut present: u64,
        machine: Option<u32>,
        observations: &[Observation],
    ) -> &[Observation] {
        let machine = machine.filter(|&seconds| seconds >= CLOCK_IS_SET);
        let mut bounds = Bounds::at(clock, present, machine);
        let mut admitted = std::mem::take(&mut self.admitted);
        admitted.clear();
        admitted.extend_from_slice(observations);
        for observation in &mut admitted {
            let tick = observation.tick;
            if tick == 0 {
                continue;
            }
            if bounds.is_usual(tick) || self.is_plausible(&bounds, clock, tick) {
                self.has_followed = true;
                self.unconfirmed = None;
                self.report.late += u64::from(u64::from(tick) < bounds.begin);
            } else {
                self.unconfirmed = (tick <= bounds.latest).then_some(tick);
                self.report.ahead += 1;
                observation.tick = 0;
            }
            if u64::from(observation.tick) >= bounds.next {
                present = clock.step_of(tick);
                bounds = Bounds::at(clock, present, machine);
            }
        }
        self.admitted = admitted;
        &self.admitted
    }

    /// Whether all observations count at the present step, without a look at each of them: no time
    /// is after it. If so, they are counted as handled; if not, [`admit`](ClockGuard::admit) them.
    pub fn are_at_present(
        &mut self,
        clock: &WindowClock,
        present: u64,
        machine: Option<u32>,
        observations: &[Observation],
    ) -> bool {
        let machine = machine.filter(|&seconds| seconds >= CLOCK_IS_SET);
        let bounds = Bounds::at(clock, present, machine);
        let newest = observations
            .iter()
            .fold(0, |newest, it| it.tick.max(newest));
        if u64::from(newest) >= bounds.next || !bounds.is_usual(newest) {
            return false;
        }
        if newest > 0 {
            self.has_followed = true;
            self.unconfirmed = None;
        }
        let begin = u32::try_from(bounds.begin).unwrap_or(u32::MAX);
        let is_late = |it: &Observation| (it.tick != 0) & (it.tick < begin);
        let late = observations.iter().map(|it| u64::from(is_late(it)));
        self.report.late += late.sum::<u64>();
        true
    }

    /// Whether a time that is more than a window ahead, or after the machine's clock, is followed.
    #[cold]
    fn is_plausible(&self, bounds: &Bounds, clock: &WindowClock, tick: u32) -> bool {
        let agrees = |before: u32| {
            let window = (clock.age_limit() + 1).saturating_mul(clock.step());
            u64::from(before.abs_diff(tick)) <= window
        };
        tick <= bounds.latest
            && (!self.has_followed
                || bounds.live.contains(&tick)
                || self.unconfirmed.is_some_and(agrees))
    }
}

/// The ticks at which the present step begins and ends, and up to which a time is followed. They
/// save divisions per observation.
struct Bounds {
    begin: u64,
    next: u64,
    /// The last tick of the next window.
    last: u64,
    /// The last tick that the machine's clock allows.
    latest: u32,
    /// The times of a live feed.
    live: RangeInclusive<u32>,
}

impl Bounds {
    fn at(clock: &WindowClock, present: u64, machine: Option<u32>) -> Self {
        let begin_of = |step: u64| step.saturating_mul(clock.step());
        // Before the first step, nothing is too far ahead of it.
        let last = match present {
            0 => u64::MAX,
            _ => begin_of(present + clock.age_limit() + 2) - 1,
        };
        let live = machine.map(|now| now - DAY..=now.saturating_add(MINUTE));
        Bounds {
            begin: begin_of(present),
            next: begin_of(present + 1),
            last,
            latest: machine.map_or(u32::MAX, |now| now.saturating_add(DAY)),
            #[expect(clippy::reversed_empty_ranges, reason = "no time is known to be live")]
            live: live.unwrap_or(1..=0),
        }
    }

    /// Whether a time is within the next window, and the machine's clock allows it.
    #[inline(always)]
    fn is_usual(&self, tick: u32) -> bool {
        u64::from(tick) <= self.last && tick <= self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{AnyFilter, FilterSpec};
    use crate::fingerprint::Fingerprint;

    const NOW: u32 = 20_000 * DAY;

    fn clock() -> WindowClock {
        let spec: FilterSpec = "window:span=604800,step=86400".parse().expect("a filter");
        let filter = AnyFilter::build(&spec, 1024).expect("enough memory");
        *filter.window().expect("a window")
    }

    /// A guard and the clock that follows what it admits.
    struct Guarded {
        guard: ClockGuard,
        present: u64,
    }

    impl Guarded {
        /// Returns a guard that has followed a time at NOW.
        fn running() -> Self {
            let mut guarded = Guarded::opened(20_000);
            assert_eq!(guarded.admit(None, &[1]), [1]);
            guarded
        }

        fn opened(present: u64) -> Self {
            Guarded {
                guard: ClockGuard::default(),
                present,
            }
        }

        /// Returns the admitted days, relative to NOW; 0 for an observation at the present step.
        fn admit(&mut self, machine: Option<u32>, days: &[i64]) -> Vec<i64> {
            let observations: Vec<Observation> = days
                .iter()
                .map(|day| Observation {
                    fingerprint: Fingerprint(1),
                    tick: (i64::from(NOW) + day * i64::from(DAY)) as u32,
                    importance: 0,
                })
                .collect();
            let admitted = self
                .guard
                .admit(&clock(), self.present, machine, &observations);
            let days: Vec<i64> = admitted
                .iter()
                .map(|it| match it.tick {
                    0 => 0,
                    tick => (i64::from(tick) - i64::from(NOW)) / i64::from(DAY),
                })
                .collect();
            let ticks = admitted.iter().map(|it| clock().step_of(it.tick));
            self.present = ticks.fold(self.present, u64::max);
            days
        }
    }

    #[test]
    fn one_absurd_time_does_not_move_the_clock() {
        let mut guarded = Guarded::running();
        let admitted = guarded.admit(None, &[2, 9000, 3, 9000, 4, 2]);
        assert_eq!(admitted, [2, 0, 3, 0, 4, 2]);
        assert_eq!(guarded.guard.report(), ClockReport { late: 1, ahead: 2 });
    }

    #[test]
    fn a_pause_is_followed_from_the_second_time_on() {
        let mut guarded = Guarded::running();
        assert_eq!(guarded.admit(None, &[100, 100, 101]), [0, 100, 101]);
        assert_eq!(guarded.guard.report().ahead, 1);
    }

    #[test]
    fn times_that_disagree_do_not_confirm_each_other() {
        let mut guarded = Guarded::running();
        let admitted = guarded.admit(None, &[9000, 100, 8000, 60, 7000]);
        assert_eq!(admitted, [0, 0, 0, 0, 0]);
    }

    #[test]
    fn the_first_time_after_opening_is_followed() {
        let mut guarded = Guarded::opened(20_000);
        assert_eq!(guarded.admit(None, &[100, 9000, 101]), [100, 0, 101]);
    }

    #[test]
    fn a_live_feed_is_followed_after_a_pause() {
        let mut guarded = Guarded::running();
        let now = Some(NOW + 100 * DAY);
        assert_eq!(guarded.admit(now, &[98, 99, 100]), [0, 99, 100]);
        // Two hours after the machine's clock, it takes two times.
        let mut guarded = Guarded::running();
        let now = Some(NOW + 100 * DAY - 7200);
        assert_eq!(guarded.admit(now, &[100, 100]), [0, 100]);
    }

    #[test]
    fn times_after_the_machine_s_clock_are_never_followed() {
        let mut guarded = Guarded::opened(0);
        let admitted = guarded.admit(Some(NOW), &[9000, 9000, 9000, -30, 9000, -29]);
        assert_eq!(admitted, [0, 0, 0, -30, 0, -29]);
        assert_eq!(guarded.guard.report().ahead, 4);
        // A machine that does not know the time cannot object.
        let mut guarded = Guarded::opened(0);
        assert_eq!(guarded.admit(Some(5), &[9000]), [9000]);
    }

    #[test]
    fn times_within_the_next_window_are_followed() {
        assert_eq!(Guarded::running().admit(None, &[7, 15]), [7, 15]);
    }

    #[test]
    fn batches_make_no_difference() {
        let days = [1, 100, 3, 100, 101, 9000, 102, 99, 300, 301, 302, 2];
        let whole = Guarded::running().admit(None, &days);
        for length in 1..days.len() {
            let mut guarded = Guarded::running();
            let parts = days.chunks(length).flat_map(|it| guarded.admit(None, it));
            assert_eq!(parts.collect::<Vec<_>>(), whole, "{length}");
        }
    }
}
