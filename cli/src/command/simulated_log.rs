//! The log of `dedupstore simulate`.

use dedupstore::KeyHasher;
use dedupstore::lab::Simulation;
use dedupstore::lines::{KeyReader, KeyRule};

use super::simulate::WallClock;
use crate::error::Failure;
use crate::input::{Block, Inputs};
use crate::log_clock::{self, LogClock};
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
        let mut push = |line: &[u8], clock: &mut Option<LogClock>| match (keys.key(line), clock) {
            (None, _) => skipped.without_key += 1,
            (Some(key), None) => simulation.push_key(key, &wall),
            (Some(key), Some(clock)) => {
                clock.record(hasher.fingerprint(key), line, |fingerprint, tick| {
                    simulation.push_fingerprint_at(fingerprint, tick, &wall);
                });
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
