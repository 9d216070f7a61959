//! The times of the observations of a log, with those that are missing.

use crate::filter::Observation;

/// Gives each observation of a log a time. One without a readable time has that of the observation
/// before it. Those before the first time have the first time.
#[derive(Clone, Debug)]
pub struct LogTimes {
    /// A later time is not believed.
    latest: i64,
    last: Option<u32>,
    /// The observations before the first time.
    before: Vec<Observation>,
}

/// What became of the time of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineTime {
    /// It is that of the observation.
    Used,
    /// The line has none.
    Missing,
    /// It is later than any time that is believed.
    Ahead,
}

impl LogTimes {
    /// Creates the times of a log, none of which is believed if it is after `latest`, in seconds
    /// since 1970.
    pub fn until(latest: i64) -> Self {
        LogTimes {
            latest,
            last: None,
            before: Vec::new(),
        }
    }

    /// Passes an observation with its time to `record`, given the time of its line in seconds since
    /// 1970. Observations before the first time are passed with it.
    pub fn record(
        &mut self,
        observation: Observation,
        seconds: Option<i64>,
        mut record: impl FnMut(Observation),
    ) -> LineTime {
        let (tick, time) = match seconds {
            Some(seconds) if seconds > self.latest => (self.last, LineTime::Ahead),
            Some(seconds) => {
                let tick = seconds.clamp(1, i64::from(u32::MAX)) as u32;
                (Some(tick), LineTime::Used)
            }
            None => (self.last, LineTime::Missing),
        };
        let Some(tick) = tick else {
            self.before.push(observation);
            return time;
        };
        for observation in self.before.drain(..) {
            record(Observation {
                tick,
                ..observation
            });
        }
        self.last = Some(tick);
        record(Observation {
            tick,
            ..observation
        });
        time
    }

    /// Returns whether any line had a time.
    pub fn has_times(&self) -> bool {
        self.last.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprint;

    #[test]
    fn lines_without_a_time_have_that_of_their_neighbour() {
        let mut times = LogTimes::until(1000);
        let mut recorded = Vec::new();
        let mut read = |key: u64, seconds| {
            times.record(Fingerprint(key).into(), seconds, |it| {
                recorded.push((it.fingerprint.0, it.tick));
            })
        };
        assert_eq!(read(1, None), LineTime::Missing);
        assert_eq!(read(2, Some(1001)), LineTime::Ahead);
        assert_eq!(read(3, Some(500)), LineTime::Used);
        assert_eq!(read(4, None), LineTime::Missing);
        assert_eq!(read(5, Some(-3)), LineTime::Used);
        assert_eq!(read(6, Some(2000)), LineTime::Ahead);
        let expected = [(1, 500), (2, 500), (3, 500), (4, 500), (5, 1), (6, 1)];
        assert_eq!(recorded, expected);
        assert!(times.has_times());
    }
}
