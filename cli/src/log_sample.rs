//! Reads a log for the adviser.

use std::path::PathBuf;

use dedupstore::KeyHasher;
use dedupstore::advise::Sample;
use dedupstore::lab::Truth;

use crate::error::Failure;
use crate::input::{Block, Inputs};
use crate::key_arguments::KeyArguments;
use crate::missing_keys;
use crate::table::plural;

/// What the adviser needs to know about a log.
pub struct LogSample {
    /// Some of its keys, with all their repeats.
    pub sample: Sample,
    /// The exact number of distinct keys.
    pub distinct: u64,
}

/// Reads a log, or standard input. Fails if it has no key.
pub fn read(log: Option<PathBuf>, arguments: &KeyArguments) -> Result<LogSample, Failure> {
    let inputs = Inputs::check(log.into_iter().collect())?;
    let name = inputs.name();
    let (mut keys, line_end) = arguments.reader()?;
    let hasher = KeyHasher::new(0);
    let mut truth = Truth::for_fingerprints();
    let mut sample = Sample::default();
    let mut lines = 0u64;
    let mut record = |line: &[u8]| {
        lines += 1;
        if let Some(key) = keys.key(line) {
            let fingerprint = hasher.fingerprint(key);
            truth.is_first(fingerprint.0);
            sample.record(fingerprint);
        }
    };
    inputs.for_each_block(line_end, |block| {
        match block {
            Block::Lines(lines) => lines.for_each(|line| record(line.content)),
            Block::Unterminated(line) => record(line.content),
            Block::LongLine(_) | Block::Pause => {}
        }
        Ok(())
    })?;
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
        (_, distinct) => Ok(LogSample { distinct, sample }),
    }
}
