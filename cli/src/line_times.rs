//! The times of a batch of lines.

use dedupstore::Observation;

use crate::machine_clock::unix_seconds;

/// How far the first time may be ahead of the machine's clock, as for the engine.
const TOLERANCE_SECONDS: u64 = 86_400;

/// Lines with a key and without a readable time or importance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unreadable {
    pub count: u64,
    /// The index of the first one in the batch.
    pub first: u32,
}

impl Unreadable {
    /// Counts a line by its index.
    #[inline]
    pub fn add(&mut self, line: u32) {
        if self.count == 0 {
            self.first = line;
        }
        self.count += 1;
    }
}

/// Gives the lines before the first readable time a time.
///
/// A line without a time has the tick 0 and counts at the present step. Before the first time there
/// is no present step. A header, for example, then counts at the first time that follows it in its
/// batch, if that is not after the machine's clock.
#[derive(Debug, Default)]
pub struct FirstTime {
    is_known: bool,
}

impl FirstTime {
    #[inline]
    pub fn apply(&mut self, observations: &mut [Observation]) {
        if !self.is_known {
            self.search(observations, unix_seconds());
        }
    }

    fn search(&mut self, observations: &mut [Observation], now: u64) {
        let is_time = |it: &Observation| {
            it.tick > 0 && u64::from(it.tick) <= now.saturating_add(TOLERANCE_SECONDS)
        };
        let Some(first) = observations.iter().position(is_time) else {
            return;
        };
        self.is_known = true;
        let tick = observations[first].tick;
        let before = observations[..first].iter_mut();
        for observation in before.filter(|it| it.tick == 0) {
            observation.tick = tick;
        }
    }
}

#[cfg(test)]
mod tests {
    use dedupstore::Fingerprint;

    use super::*;

    #[test]
    fn lines_before_the_first_time_count_at_it() {
        let now = 1_800_000_000;
        let mut times = FirstTime::default();
        let mut fill = |ticks: &[u32]| {
            let mut observations: Vec<Observation> = ticks
                .iter()
                .map(|&tick| Observation {
                    tick,
                    ..Fingerprint(1).into()
                })
                .collect();
            if !times.is_known {
                times.search(&mut observations, now);
            }
            observations.iter().map(|it| it.tick).collect::<Vec<_>>()
        };
        assert_eq!(fill(&[0, 0]), [0, 0]);
        assert_eq!(fill(&[0, u32::MAX, 0, 7, 0]), [7, u32::MAX, 7, 7, 0]);
        assert_eq!(fill(&[0, 9]), [0, 9]);
    }
}
