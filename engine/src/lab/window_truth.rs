//! Exact truth for a filter with a window.
//!
//! An occurrence of a key is a repeat if and only if the filter itself delivered the key (said
//! New) within the span before it. So every filter has its own truth. If all were compared with the
//! same one, a wrong drop would turn the next, correct New of that key into a false negative.
//!
//! A filter forgets a key between its span and one step later. In between both verdicts are
//! right: a Seen counts as a repeat, and a New as a new key.

use super::open_table::{BURST, OpenTable, Slot};
use crate::filter::{ClockGuard, ClockKind, Observation, Verdict, WindowAge, WindowClock};

/// When a key was last delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Delivery {
    identity: u64,
    /// The time plus one; 0 in a free slot.
    after: u64,
}

impl Slot for Delivery {
    #[inline(always)]
    fn key(&self) -> Option<u64> {
        (self.after > 0).then_some(self.identity)
    }
}

/// The deliveries of one filter.
#[derive(Debug)]
pub(crate) struct WindowTruth {
    clock: WindowClock,
    last: OpenTable<Delivery>,
    /// Decides which times count, as that of the filter's set does.
    guard: ClockGuard,
    newest_tick: u64,
    observations: u64,
    deliveries: u64,
}

impl WindowTruth {
    pub fn new(clock: WindowClock) -> Self {
        WindowTruth {
            clock,
            last: OpenTable::default(),
            guard: ClockGuard::default(),
            newest_tick: 0,
            observations: 0,
            deliveries: 0,
        }
    }

    /// Returns whether the observation of a key was new to a filter that gave this verdict.
    pub fn is_new(&mut self, identity: u64, tick: u32, verdict: Verdict) -> bool {
        self.newest_tick = self.newest_tick.max(tick.into());
        let now = match self.clock.kind() {
            // A late observation counts at the newest time.
            ClockKind::Seconds => self.newest_tick,
            ClockKind::Count => self.observations,
            ClockKind::Deliveries => self.deliveries,
        };
        self.observations += 1;
        self.deliveries += u64::from(verdict.is_new());
        let delivered = self.last.get_mut(identity);
        let age = delivered.as_ref().map(|it| now + 1 - it.after);
        let is_new = match age.map(|age| self.clock.age(age)) {
            Some(WindowAge::Inside) => false,
            Some(WindowAge::Leaving) => verdict.is_new(),
            Some(WindowAge::Outside) | None => true,
        };
        if verdict.is_new() {
            let after = now + 1;
            match delivered {
                Some(known) => known.after = after,
                None => {
                    self.last.replace(identity, Delivery { identity, after });
                }
            }
        }
        is_new
    }

    /// Calls [`is_new`](WindowTruth::is_new) for many observations in order, and replaces the
    /// content of `new` by the answers. Times that a set does not follow do not count here either.
    pub fn are_new(
        &mut self,
        identities: &[u64],
        observations: &[Observation],
        verdicts: &[Verdict],
        new: &mut Vec<bool>,
    ) {
        new.clear();
        let mut guard = std::mem::take(&mut self.guard);
        let admitted = match self.clock.kind() {
            ClockKind::Seconds => {
                let present = self.clock.step_of(self.newest_tick as u32);
                guard.admit(&self.clock, present, None, observations)
            }
            ClockKind::Count | ClockKind::Deliveries => observations,
        };
        let bursts = identities.chunks(BURST).zip(admitted.chunks(BURST));
        for ((identities, observations), verdicts) in bursts.zip(verdicts.chunks(BURST)) {
            for &identity in identities {
                self.last.prefetch(identity);
            }
            let judged = identities.iter().zip(observations).zip(verdicts);
            new.extend(judged.map(|((&identity, observation), &verdict)| {
                self.is_new(identity, observation.tick, verdict)
            }));
        }
        self.guard = guard;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::AnyFilter;

    fn truth(filter: &str) -> WindowTruth {
        let spec = filter.parse().expect("a filter");
        let filter = AnyFilter::build(&spec, 1024).expect("small");
        WindowTruth::new(*filter.window().expect("a window"))
    }

    #[test]
    fn a_key_is_a_repeat_until_the_span_after_its_delivery() {
        use Verdict::{New, Seen};
        let mut truth = truth("window:span=100,step=10");
        let mut is_new = |tick, verdict| truth.is_new(7, tick, verdict);
        // Dropped: it was never delivered, so it stays new.
        assert!(is_new(1000, Seen));
        assert!(is_new(1050, New));
        assert!(!is_new(1149, Seen));
        // Within a step after the span, both verdicts are right.
        assert!(!is_new(1150, Seen));
        assert!(!is_new(1159, Seen));
        assert!(is_new(1160, Seen));
        assert!(is_new(1155, New));
        // The late observation counted at 1160, the newest time.
        assert!(!is_new(1259, New));
        assert!(!is_new(1358, Seen));
        assert!(is_new(1369, New));
    }

    #[test]
    fn a_window_of_deliveries_counts_new_verdicts() {
        let mut truth = truth("window:span=2,step=1,clock=deliveries");
        assert!(truth.is_new(1, 0, Verdict::New));
        for _ in 0..10 {
            assert!(!truth.is_new(1, 0, Verdict::Seen));
        }
        assert!(truth.is_new(2, 0, Verdict::New));
        assert!(truth.is_new(1, 0, Verdict::New));
        assert!(!truth.is_new(1, 0, Verdict::Seen));
    }
}
