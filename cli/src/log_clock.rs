//! The times of a log's lines, for `simulate` and the adviser.

use dedupstore::Observation;
use dedupstore::lines::{KeyRule, LineClock, TimeReader};
use dedupstore_view::span_option;

use crate::error::Failure;
use crate::machine_clock::unix_seconds;
use crate::missing_times;

/// How far times may be ahead of the machine's clock, as for the engine.
const TOLERANCE_SECONDS: u64 = 86_400;

/// Finds the times of a log's lines: where the options say, or else where they are recognized.
pub struct LogClock {
    source: Source,
    /// A later time is not believed.
    latest: i64,
    /// The time of the last line that has one.
    last: Option<u32>,
    /// The keys before the first time. They count at it.
    before: Vec<Observation>,
    keys: u64,
    without_time: u64,
    first_without_time: u64,
    ahead: u64,
}

enum Source {
    Given(TimeReader),
    /// No line has been read.
    Unknown,
    Recognized(Box<LineClock>),
    None,
}

impl LogClock {
    pub fn new(rule: &KeyRule) -> Self {
        let latest = unix_seconds().saturating_add(TOLERANCE_SECONDS);
        LogClock {
            source: match &rule.time {
                Some(time) => Source::Given(TimeReader::new(time.clone())),
                None => Source::Unknown,
            },
            latest: i64::try_from(latest).unwrap_or(i64::MAX),
            last: None,
            before: Vec::new(),
            keys: 0,
            without_time: 0,
            first_without_time: 0,
            ahead: 0,
        }
    }

    /// Looks for times in the first lines of a log, unless it has done so or the options say where
    /// they are. Returns false if there are none.
    pub fn recognize_in(&mut self, head: &[u8]) -> bool {
        if matches!(self.source, Source::Unknown) && !head.is_empty() {
            self.source = match LineClock::of(head) {
                Some(clock) => Source::Recognized(Box::new(clock)),
                None => Source::None,
            };
        }
        !matches!(self.source, Source::None)
    }

    /// Passes an observation with its time to `record`. A line without a readable time has that of the line
    /// before; keys before the first time are passed with it.
    pub fn record(
        &mut self,
        observation: Observation,
        line: &[u8],
        mut record: impl FnMut(Observation),
    ) {
        self.keys += 1;
        let seconds = match &mut self.source {
            Source::Given(times) => times.seconds(line),
            Source::Recognized(clock) => clock.seconds(line),
            Source::Unknown | Source::None => None,
        };
        let tick = match seconds {
            Some(seconds) if seconds > self.latest => {
                self.ahead += 1;
                self.last
            }
            Some(seconds) => Some(seconds.clamp(1, i64::from(u32::MAX)) as u32),
            None => {
                self.without_time += 1;
                if self.without_time == 1 {
                    self.first_without_time = self.keys;
                }
                self.last
            }
        };
        match tick {
            Some(tick) => {
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
            }
            None => self.before.push(observation),
        }
    }

    /// Returns whether any line had a key.
    pub fn has_keys(&self) -> bool {
        self.keys > 0
    }

    /// Returns whether any line had a time.
    pub fn has_times(&self) -> bool {
        self.last.is_some()
    }

    /// Returns messages about lines whose time was not used.
    pub fn messages(&self, rule: &KeyRule) -> impl Iterator<Item = String> {
        let missing = match rule.time {
            Some(_) => {
                missing_times::message(rule, self.without_time, self.first_without_time, self.keys)
            }
            None => None,
        };
        let ahead = (self.ahead > 0).then(|| {
            let lines = crate::table::plural(self.ahead, "line");
            format!(
                "the times of {lines} are more than a day ahead of the machine's clock and were \
                 ignored"
            )
        });
        missing.into_iter().chain(ahead)
    }
}

/// The error for a log without times. `window` is the value of `--window`.
pub fn no_times(name: &str, rule: &KeyRule, window: Option<u64>) -> Failure {
    let cause = match &rule.time {
        Some(_) => format!(
            "no line of {name} has a readable time; check {}",
            missing_times::time_options(rule)
        ),
        None => format!(
            "no times are recognized in {name}; say where they are with --time-field N or \
             --time-json-key PATH"
        ),
    };
    let window = match window {
        Some(seconds) => format!(" instead of --window {}", span_option(seconds)),
        None => String::new(),
    };
    Failure::Usage(format!(
        "{cause}. A window can also count keys{window}: --filter window:span=10000,clock=count"
    ))
}
