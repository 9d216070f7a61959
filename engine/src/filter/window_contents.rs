//! What is in the window of a filter, and when it leaves.

use super::window_registers::WindowRegisters;
use super::{AnyFilter, ClockKind, Filter, Registers, WindowClock};
use crate::fingerprint::Fingerprint;

/// The largest number of parts into which the keys in a window are divided.
const MAX_PARTS: u64 = 32;

/// The keys in the window of a filter: those that were reported as New and are not yet forgotten.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowContents {
    /// The present step.
    pub step: u64,
    /// The oldest step whose keys are in the window.
    pub oldest_step: u64,
    /// The number of keys in the window. Approximate if the window has more than 30 steps: then
    /// several steps are counted together.
    pub keys: f64,
    /// The keys that leave the window together, the next ones first. Together they are all keys in
    /// the window.
    pub leaving: Vec<LeavingKeys>,
}

/// Keys that leave the window together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeavingKeys {
    /// The step in which the last of them has left the window.
    pub gone_at_step: u64,
    /// Their number.
    pub keys: f64,
}

impl AnyFilter {
    /// Returns what is in the window and when it leaves, from the counts in the registers; None if
    /// the filter has no window. Takes little time, whatever the size of the filter is.
    pub fn window_contents(&self, registers: &Registers) -> Option<WindowContents> {
        dispatch!(self, f => contents(f, registers))
    }

    /// Returns the step in which a key will be forgotten that is reported as Seen now. None if it
    /// is reported as New, or if the window is not measured in seconds.
    ///
    /// A filter for which another key's cells stand for this one answers for those.
    pub fn forgotten_at_step(
        &self,
        region: &[u8],
        registers: &Registers,
        fingerprint: Fingerprint,
    ) -> Option<u64> {
        let clock = self.tick_clock()?;
        let is_seen_at = |step: u64| {
            let mut moved = registers.clone();
            moved.advance_clock(step);
            self.contains(region, &moved, fingerprint).is_seen()
        };
        let mut seen = registers.clock();
        if !is_seen_at(seen) {
            return None;
        }
        // A key that has left the window does not come back, so the step is found by bisection.
        let mut forgotten = seen + clock.age_limit() + 1;
        while is_seen_at(forgotten) {
            forgotten += clock.age_limit() + 1;
        }
        while forgotten - seen > 1 {
            let middle = seen + (forgotten - seen) / 2;
            match is_seen_at(middle) {
                true => seen = middle,
                false => forgotten = middle,
            }
        }
        Some(forgotten)
    }
}

fn contents<F: Filter>(filter: &F, registers: &Registers) -> Option<WindowContents> {
    let clock: &WindowClock = filter.window()?;
    let (limit, counted) = (clock.age_limit(), filter.counted_age_limit());
    let step = clock.now(registers);
    let oldest_step = step.saturating_sub(limit);
    let steps_per_part = (limit + 1).div_ceil(MAX_PARTS);
    let mut leaving = Vec::new();
    let mut from = oldest_step;
    while from <= step {
        let to = (from + steps_per_part - 1).min(step);
        let keys = WindowRegisters::in_steps(registers, counted, from..=to);
        if keys > 0.0 {
            let gone_at_step = to + limit + 1;
            leaving.push(LeavingKeys { gone_at_step, keys });
        }
        from = to + 1;
    }
    Some(WindowContents {
        step,
        oldest_step,
        // Not sum(), which is -0 if there is nothing.
        keys: leaving.iter().fold(0.0, |sum, it| sum + it.keys),
        leaving,
    })
}

impl WindowClock {
    /// Returns when a step begins, in seconds since 1970; None if the clock counts something else.
    pub fn begin_of(&self, step: u64) -> Option<u64> {
        (self.kind() == ClockKind::Seconds).then(|| step.saturating_mul(self.step()))
    }

    /// Returns after which time at the latest a key is forgotten, counted from when it was last
    /// new, in units of the clock. The span is the earliest.
    pub fn longest_memory(&self) -> u64 {
        (self.age_limit() + 1).saturating_mul(self.step())
    }
}

#[cfg(test)]
mod tests {
    use crate::SeenSet;

    #[test]
    fn keys_leave_in_the_order_in_which_they_came() {
        for filter in ["window", "stamped", "apbf"] {
            let spec = format!("{filter}:span=600,step=100");
            let mut set = SeenSet::builder(spec.as_str())
                .expect("a filter")
                .memory("64KiB")
                .build()
                .expect("small");
            for (key, seconds) in [("a", 1000), ("b", 1010), ("c", 1299), ("d", 1600)] {
                assert!(set.observe_at(key, seconds).is_new(), "{filter}: {key}");
            }
            let contents = set.filter().window_contents(set.registers());
            let contents = contents.expect("a window");
            assert_eq!((contents.step, contents.oldest_step), (16, 10), "{filter}");
            let leaving: Vec<(u64, f64)> = contents
                .leaving
                .iter()
                .map(|it| (it.gone_at_step, it.keys))
                .collect();
            assert_eq!(leaving, [(17, 2.0), (19, 1.0), (23, 1.0)], "{filter}");
            assert_eq!(contents.keys, 4.0);

            let forgotten = |key: &str| {
                let fingerprint = set.hasher().fingerprint(key.as_bytes());
                let filter = set.filter();
                filter.forgotten_at_step(set.region(), set.registers(), fingerprint)
            };
            assert_eq!(forgotten("a"), Some(17), "{filter}");
            assert_eq!(forgotten("c"), Some(19), "{filter}");
            assert_eq!(forgotten("d"), Some(23), "{filter}");
            assert_eq!(forgotten("x"), None, "{filter}");
        }
    }

    #[test]
    fn a_window_of_observations_has_contents_and_no_times() {
        let builder = SeenSet::builder("window:span=600,step=100,clock=count").expect("a filter");
        let mut set = builder.memory("64KiB").build().expect("small");
        for key in 0..1000u32 {
            set.observe(key.to_le_bytes());
        }
        let contents = set.filter().window_contents(set.registers());
        let contents = contents.expect("a window");
        assert_eq!(contents.step, 10);
        assert_eq!(contents.keys, 600.0);
        let clock = set.filter().window().expect("a window");
        assert_eq!(clock.begin_of(contents.step), None);
        let fingerprint = set.hasher().fingerprint(&999u32.to_le_bytes());
        let forgotten =
            (set.filter()).forgotten_at_step(set.region(), set.registers(), fingerprint);
        assert_eq!(forgotten, None);
    }
}
