//! The times of a log's lines, for `simulate` and the adviser.

use dedupstore::Observation;
use dedupstore::lab::{LineTime, LogTimes};
use dedupstore::lines::{KeyRule, LineClock, TimeReader, TimeRule, ValueSelector};
use dedupstore_view::span_option;

use crate::error::Failure;
use crate::machine_clock::unix_seconds;
use crate::missing_times::{self, MissingTimes, Treatment};
use crate::table::plural;

/// How far times may be ahead of the machine's clock, as for the engine.
const TOLERANCE_SECONDS: u64 = 86_400;

/// Finds the times of a log's lines: where the options say, or else where they are recognized.
pub struct LogClock {
    source: Source,
    /// The byte that separates the fields of the key.
    delimiter: Option<u8>,
    /// The rule for the times that were recognized, if they are in a field of their own.
    recognized: Option<TimeRule>,
    times: LogTimes,
    keys: u64,
    without_time: MissingTimes,
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
            delimiter: rule.selector.selected_fields().and_then(|it| it.1),
            recognized: None,
            times: LogTimes::until(i64::try_from(latest).unwrap_or(i64::MAX)),
            keys: 0,
            without_time: MissingTimes::default(),
            ahead: 0,
        }
    }

    /// Looks for times in the first lines of a log, unless it has done so or the options say where
    /// they are. Returns false if there are none.
    pub fn recognize_in(&mut self, head: &[u8]) -> bool {
        if matches!(self.source, Source::Unknown) && !head.is_empty() {
            self.source = match LineClock::of(head) {
                Some(mut clock) => {
                    self.recognized = clock.rule_in(head, self.delimiter);
                    Source::Recognized(Box::new(clock))
                }
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
        record: impl FnMut(Observation),
    ) {
        self.keys += 1;
        let seconds = match &mut self.source {
            Source::Given(times) => times.seconds(line),
            Source::Recognized(clock) => clock.seconds(line),
            Source::Unknown | Source::None => None,
        };
        match self.times.record(observation, seconds, record) {
            LineTime::Used => {}
            LineTime::Missing => self.without_time.add(self.keys),
            LineTime::Ahead => self.ahead += 1,
        }
    }

    /// Returns where the times of lines were recognized; None if the options say where they are.
    pub fn into_recognized(self) -> Option<RecognizedTimes> {
        match self.source {
            Source::Recognized(_) => Some(RecognizedTimes {
                rule: self.recognized,
            }),
            _ => None,
        }
    }

    /// Returns whether any line had a key.
    pub fn has_keys(&self) -> bool {
        self.keys > 0
    }

    /// Returns whether any line had a time.
    pub fn has_times(&self) -> bool {
        self.times.has_times()
    }

    /// Returns messages about lines whose time was not used.
    pub fn messages(&self, rule: &KeyRule) -> impl Iterator<Item = String> {
        let missing = match rule.time {
            Some(_) => {
                missing_times::message(rule, self.without_time, self.keys, Treatment::Counted)
            }
            None => None,
        };
        let (times, were) = match self.ahead {
            1 => ("time of 1 line is".to_owned(), "was"),
            lines => (format!("times of {} are", plural(lines, "line")), "were"),
        };
        let ahead = (self.ahead > 0).then(|| {
            format!("the {times} more than a day ahead of the machine's clock and {were} ignored")
        });
        missing.into_iter().chain(ahead)
    }
}

/// Times that were found in a log without being asked for.
pub struct RecognizedTimes {
    /// The rule that finds them; None if they are in no field of their own.
    pub rule: Option<TimeRule>,
}

impl RecognizedTimes {
    /// Says that a store of the machine's clock does not use the times.
    pub fn unused(&self) -> String {
        let options = self.rule.as_ref().map(|rule| {
            let mut times = KeyRule::default();
            times.time = Some(rule.clone());
            missing_times::time_options(&times)
        });
        match (&self.rule, options) {
            (Some(TimeRule { selector, .. }), Some(options)) => {
                let place = match selector {
                    ValueSelector::Field { index, .. } => format!("field {}", index + 1),
                    ValueSelector::Json(path) => format!("the JSON value {path}"),
                };
                format!(
                    "note: the log has times in {place}, and the store's clock is that of the \
                     machine: to use the times of the lines, create it with {options}"
                )
            }
            _ => "note: the log has times, and the store's clock is that of the machine: to use \
                  the times of the lines, say where they are with --time-field N or --time-json-key \
                  PATH"
                .to_owned(),
        }
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
