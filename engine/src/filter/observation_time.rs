//! Decides at which step observations count, for sets and stores.

use super::{ClockGuard, ClockReport, Observation, WindowClock};

/// The times of so many observations are looked at together: few enough for the first-level cache.
const BLOCK: usize = 1024;

/// Decides at which step observations count.
#[derive(Debug)]
pub(crate) struct ObservationTime {
    /// None if the filter needs no time: then everything counts at step 0.
    clock: Option<WindowClock>,
    guard: ClockGuard,
    /// The step that the next observation counts at, at least.
    floor: u64,
    /// A buffer for the next runs.
    runs: Vec<Run>,
}

/// The step of some observations, and the index after the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub step: u64,
    pub end: usize,
}

impl ObservationTime {
    pub fn new(clock: Option<&WindowClock>) -> Self {
        ObservationTime {
            clock: clock.copied(),
            guard: ClockGuard::default(),
            floor: 0,
            runs: Vec::new(),
        }
    }

    pub fn is_needed(&self) -> bool {
        self.clock.is_some()
    }

    /// Moves the clock to a time that needs no confirmation.
    pub fn advance(&mut self, tick: u32) {
        if let Some(clock) = &self.clock {
            self.floor = self.floor.max(clock.step_of(tick));
        }
    }

    /// Returns the step at which an observation counts that only asks.
    pub fn step_of(&self, tick: u32) -> u64 {
        let step = self.clock.map_or(0, |clock| clock.step_of(tick));
        step.max(self.floor)
    }

    /// Returns how the times so far were handled.
    pub fn report(&self) -> ClockReport {
        self.guard.report()
    }

    /// Divides observations into runs that count at one step each. `present` is the step of the
    /// filter's clock, `machine` the time of the machine's clock if it has one. Give the runs
    /// back with [`reuse`](ObservationTime::reuse).
    pub fn runs(
        &mut self,
        present: u64,
        machine: impl FnOnce() -> Option<u32>,
        observations: &[Observation],
    ) -> Vec<Run> {
        let mut runs = std::mem::take(&mut self.runs);
        let Some(clock) = self.clock else {
            let end = observations.len();
            runs.push(Run { step: 0, end });
            return runs;
        };
        let (mut step, mut end) = (present.max(self.floor), 0);
        let machine = machine();
        for mut block in observations.chunks(BLOCK) {
            if self.guard.are_at_present(&clock, step, machine, block) {
                end += block.len();
                extend(&mut runs, Run { step, end });
                continue;
            }
            block = self.guard.admit(&clock, step, machine, block);
            while !block.is_empty() {
                let (next, length) = clock.run(step, block);
                (step, end) = (next, end + length);
                block = &block[length..];
                extend(&mut runs, Run { step, end });
            }
        }
        runs
    }

    /// Takes the memory of runs back.
    pub fn reuse(&mut self, mut runs: Vec<Run>) {
        runs.clear();
        self.runs = runs;
    }
}

/// Adds a run, or its observations to the last one if that has the same step.
fn extend(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut() {
        Some(last) if last.step == run.step => last.end = run.end,
        _ => runs.push(run),
    }
}

/// Returns a time in seconds since 1970 as a tick. Times after the year 2106 are the last tick.
pub(crate) fn tick_of(seconds: u64) -> u32 {
    u32::try_from(seconds).unwrap_or(u32::MAX)
}
