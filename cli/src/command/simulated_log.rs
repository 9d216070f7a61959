//! The log of `dedupstore simulate`.

use dedupstore::lab::Simulation;
use dedupstore::lines::{KeyReader, KeyRule};
use dedupstore::{KeyHasher, Observation};

use super::simulated_stream::WallClock;
use crate::error::Failure;
use crate::input::{Block, Inputs};
use crate::log_clock::{self, LogClock};
use crate::log_importance::LogImportance;
use crate::standard_error;

/// Whether the times of lines are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Times {
    Unused,
    /// They are used if there are any; otherwise there is one key per second.
    IfRecognized,
    Required,
}

/// A log, and how its lines are read.
pub struct SimulatedLog<'a> {
    pub inputs: &'a Inputs,
    pub rule: KeyRule,
    pub times: Times,
    /// The value of --window, for messages.
    pub window: Option<u64>,
    pub quiet: bool,
}

/// The numbers of lines that a simulation skips.
#[derive(Default)]
pub struct Skipped {
    pub without_key: u64,
    pub too_long: u64,
}

impl SimulatedLog<'_> {
    /// Runs the simulation over the log.
    pub fn run(&self, simulation: &mut Simulation) -> Result<Skipped, Failure> {
        let wall = WallClock::start();
        let mut keys = KeyReader::of(self.rule.clone());
        let hasher: KeyHasher = simulation.hasher();
        let mut skipped = Skipped::default();
        let mut clock = (self.times != Times::Unused).then(|| LogClock::new(&self.rule));
        let mut importance = LogImportance::new(&self.rule);
        let mut push = |line: &[u8], clock: &mut Option<LogClock>| {
            let Some(key) = keys.key(line) else {
                skipped.without_key += 1;
                return;
            };
            let weight = importance.as_mut().map(|importance| importance.of(line));
            let observation = Observation {
                importance: weight.unwrap_or(0),
                ..hasher.fingerprint(key).into()
            };
            let mut observe = |observation: Observation, is_timed: bool| {
                let fingerprint = observation.fingerprint;
                match (weight.is_some(), is_timed) {
                    (true, _) => {
                        let tick = is_timed.then_some(observation.tick);
                        simulation.push_weighted(fingerprint, observation.importance, tick, &wall);
                    }
                    (false, true) => {
                        simulation.push_fingerprint_at(fingerprint, observation.tick, &wall);
                    }
                    (false, false) => simulation.push_fingerprint(fingerprint, &wall),
                }
            };
            match clock {
                None => observe(observation, false),
                Some(clock) => clock.record(observation, line, |timed| observe(timed, true)),
            }
        };
        self.inputs
            .for_each_block(self.rule.line_end.byte(), |block| {
                match block {
                    Block::Lines(lines) => {
                        self.recognize(&mut clock, lines.rest())?;
                        lines.for_each(|line| push(line.content, &mut clock));
                    }
                    Block::Unterminated(line) => {
                        self.recognize(&mut clock, line.content)?;
                        push(line.content, &mut clock);
                    }
                    Block::LongLine(piece) => skipped.too_long += u64::from(piece.is_first),
                    Block::Pause => {}
                }
                Ok(())
            })?;
        simulation.flush(&wall);
        if let Some(clock) = &clock {
            if clock.has_keys() && !clock.has_times() {
                return Err(self.no_times());
            }
            if !self.quiet {
                clock.messages(&self.rule).for_each(standard_error::message);
            }
        }
        if let Some(message) = importance.and_then(|it| it.message(&self.rule))
            && !self.quiet
        {
            standard_error::message(message);
        }
        Ok(skipped)
    }

    /// Looks for times in the first lines.
    fn recognize(&self, clock: &mut Option<LogClock>, head: &[u8]) -> Result<(), Failure> {
        let is_recognized = clock.as_mut().is_none_or(|clock| clock.recognize_in(head));
        match (is_recognized, self.times) {
            (true, _) => Ok(()),
            (false, Times::Required) => Err(self.no_times()),
            (false, _) => {
                *clock = None;
                if !self.quiet {
                    standard_error::message(format_args!(
                        "no times are recognized in {}, so filters with a window count one second \
                         per key; --time-field N or --time-json-key PATH says where times are",
                        self.inputs.name()
                    ));
                }
                Ok(())
            }
        }
    }

    fn no_times(&self) -> Failure {
        log_clock::no_times(&self.inputs.name(), &self.rule, self.window)
    }
}
