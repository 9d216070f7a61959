//! Reads a log for the adviser.

use std::path::PathBuf;

use dedupstore::advise::Sample;
use dedupstore::lab::Truth;
use dedupstore::{KeyHasher, Observation};

use crate::error::Failure;
use crate::input::{Block, Inputs};
use crate::key_arguments::KeyArguments;
use crate::log_clock::{self, LogClock, RecognizedTimes};
use crate::log_importance::LogImportance;
use crate::missing_keys;
use crate::standard_error;
use crate::table::plural;

/// What the adviser needs to know about a log.
pub struct LogSample {
    /// Some of its keys, with all their repeats.
    pub sample: Sample,
    /// The exact number of distinct keys.
    pub distinct: u64,
    /// Where its times were recognized; None if they were not read, or if the options say where
    /// they are.
    pub times: Option<RecognizedTimes>,
}

impl LogSample {
    /// Returns how many keys are in a window of so many seconds. If the log is shorter than that,
    /// its keys are taken to continue at the same rate.
    pub fn keys_in_window(&self, seconds: u64) -> u64 {
        let keys = self.sample.stream_keys_within(seconds);
        let windows = seconds as f64 / self.sample.seconds() as f64;
        (keys as f64 * windows.max(1.0)) as u64
    }
}

/// Reads a log, or standard input. Fails if it has no key. If a window is asked for, reads the
/// times of lines, too, and fails if they have none. If the options say where the importance of
/// lines is, the sample has it.
pub fn read(
    log: Option<PathBuf>,
    arguments: &KeyArguments,
    window: Option<u64>,
    quiet: bool,
) -> Result<LogSample, Failure> {
    let inputs = Inputs::check(log.into_iter().collect())?;
    let name = inputs.name();
    let rule = arguments.rule()?;
    let mut clock = window.map(|_| LogClock::new(&rule));
    let (mut keys, line_end) = arguments.reader()?;
    let hasher = KeyHasher::new(0);
    let mut truth = Truth::for_fingerprints();
    let mut sample = Sample::default();
    let mut lines = 0u64;
    let mut importance = LogImportance::new(&rule);
    let mut record = |line: &[u8], clock: &mut Option<LogClock>| {
        lines += 1;
        if let Some(key) = keys.key(line) {
            let weight = importance
                .as_mut()
                .map_or(0, |importance| importance.of(line));
            let observation = Observation {
                importance: weight,
                ..hasher.fingerprint(key).into()
            };
            truth.is_first(observation.fingerprint.0);
            match clock {
                None => sample.record_next(observation),
                Some(clock) => clock.record(observation, line, |it| sample.record_observation(it)),
            }
        }
    };
    let has_times = |clock: &mut Option<LogClock>, head: &[u8]| {
        let clock = clock.as_mut();
        match clock.is_none_or(|clock| clock.recognize_in(head)) {
            true => Ok(()),
            false => Err(log_clock::no_times(&name, &rule, window)),
        }
    };
    inputs.for_each_block(line_end, |block| {
        match block {
            Block::Lines(lines) => {
                has_times(&mut clock, lines.rest())?;
                lines.for_each(|line| record(line.content, &mut clock));
            }
            Block::Unterminated(line) => {
                has_times(&mut clock, line.content)?;
                record(line.content, &mut clock);
            }
            Block::LongLine(_) | Block::Pause => {}
        }
        Ok(())
    })?;
    if let Some(clock) = &clock {
        if truth.distinct() > 0 && !clock.has_times() {
            return Err(log_clock::no_times(&name, &rule, window));
        }
        if !quiet {
            clock.messages(&rule).for_each(standard_error::message);
        }
    }
    if let Some(message) = importance.and_then(|it| it.message(&rule))
        && !quiet
    {
        standard_error::message(message);
    }
    match (lines, truth.distinct()) {
        (0, _) => Err(Failure::Usage(format!(
            "{name} has no lines, so it does not show which filter is best; name a log with lines, \
             or give the number of keys with --expect N and no log"
        ))),
        (lines, 0) => Err(Failure::Usage(format!(
            "none of the {} of {name} has a key, so it does not show which filter is best; check \
             {}",
            plural(lines, "line"),
            missing_keys::selector_options(&arguments.rule()?),
        ))),
        (_, distinct) => Ok(LogSample {
            distinct,
            sample,
            times: clock.and_then(LogClock::into_recognized),
        }),
    }
}
