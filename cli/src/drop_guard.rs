//! Watches the chance that a new key is dropped: the false positive rate of the filter.
//!
//! A filter that is too full reports almost every new key as Seen, and nothing would be printed.
//! The guard warns when the rate passes 1 %, 10 % and 100 %, and stops a run that has a limit
//! before the batch that would exceed it.

use std::ops::Range;

use dedupstore::filter::{AnyFilter, Registers};
use dedupstore_view::LimitReached;

use crate::error::Failure;

/// The rates that are reported, each once per run: 1 %, 10 %, and what is shown as 100 %.
const LEVELS: [f64; 3] = [0.01, 0.1, 0.9995];
/// Without a limit, the rate is computed only if the load has grown by one part in this many.
const LOAD_STEPS: u64 = 1024;
/// With a limit, a batch has at most one observation for this many cells, so that the run ends
/// close to the limit.
const CELLS_PER_OBSERVATION: u64 = 1024;
const MIN_BATCH: u64 = 64;
const MAX_BATCH: u64 = 16 << 10;

/// Watches the false positive rate of a run.
pub struct DropGuard {
    limit: Option<FprLimit>,
    /// The number of cells in use from which the rate is computed again.
    next_check: u64,
    filter: AnyFilter,
    /// How many of the levels were reported.
    passed: usize,
    warning: Option<DropChance>,
    /// The counters after the last accepted batch, if there is a limit.
    accepted: Option<Registers>,
}

/// A false positive rate to warn of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropChance {
    pub rate: f64,
    /// The number of lines after which it was found.
    pub lines: u64,
}

/// A limit of the false positive rate.
#[derive(Clone, Copy, Debug)]
pub struct FprLimit {
    pub rate: f64,
    /// Whether the store was created with it.
    pub is_of_store: bool,
}

impl DropGuard {
    /// Watches a filter, which has the rate `rate` now. Fails if that is above the limit.
    pub fn new(limit: Option<FprLimit>, filter: AnyFilter, rate: f64) -> Result<Self, Failure> {
        let mut guard = DropGuard {
            limit,
            next_check: 0,
            filter,
            passed: 0,
            warning: None,
            accepted: None,
        };
        guard.check_rate(rate, 0..0)?;
        Ok(guard)
    }

    /// Returns the largest batch that may be checked as one; None without a limit.
    pub fn batch_limit(&self) -> Option<usize> {
        let batch = (self.filter.cells() / CELLS_PER_OBSERVATION).clamp(MIN_BATCH, MAX_BATCH);
        self.limit.map(|_| batch as usize)
    }

    /// Checks the rate after a batch of lines. Fails if it is above the limit.
    fn check_rate(&mut self, rate: f64, lines: Range<u64>) -> Result<(), Failure> {
        match self.limit {
            Some(limit) if rate > limit.rate => Err(Failure::Limit(LimitReached {
                store: None,
                larger: String::new(),
                limit: limit.rate,
                is_of_store: limit.is_of_store,
                rate,
                lines: lines.start,
                recorded: false,
            })),
            _ => {
                self.note(rate, lines.end);
                Ok(())
            }
        }
    }

    /// Checks the counters after a batch of lines. Fails if the batch exceeds the limit.
    pub fn check(&mut self, registers: &Registers, lines: Range<u64>) -> Result<(), Failure> {
        if self.limit.is_some() {
            self.check_rate(self.filter.false_positive_rate(registers), lines)?;
            self.accepted = Some(registers.clone());
            return Ok(());
        }
        // Rates grow with the number of cells in use.
        let (occupied, cells) = (registers.occupied(), self.filter.cells());
        if occupied >= self.next_check {
            let next = occupied + (cells / LOAD_STEPS).max(1);
            // The last step may be shorter, and there is none after it.
            self.next_check = match occupied < cells {
                true => next.min(cells),
                false => u64::MAX,
            };
            self.note(self.filter.false_positive_rate(registers), lines.end);
        }
        Ok(())
    }

    /// Remembers to warn if the rate after so many lines has passed another level.
    pub fn note(&mut self, rate: f64, lines: u64) {
        let passed = LEVELS.iter().filter(|level| rate >= **level).count();
        if passed > self.passed {
            self.passed = passed;
            self.warning = Some(DropChance { rate, lines });
        }
    }

    /// Returns the rate to warn of, once.
    pub fn take_warning(&mut self) -> Option<DropChance> {
        self.warning.take()
    }

    /// Returns the filter's geometry.
    pub fn filter(&self) -> &AnyFilter {
        &self.filter
    }

    /// Returns whether there is a limit.
    pub fn has_limit(&self) -> bool {
        self.limit.is_some()
    }

    /// Returns the counters after the last accepted batch, if there is a limit.
    pub fn accepted(&self) -> Option<&Registers> {
        self.accepted.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use dedupstore::SeenSet;

    use super::*;

    const BATCH: u64 = 50;

    /// Fills a filter until the guard stops it. Returns the lines accepted, the rates warned of,
    /// and the rate after the last accepted batch.
    fn fill(limit: Option<f64>) -> (u64, Vec<f64>, f64) {
        let builder = SeenSet::builder("bloom:k=2").expect("a filter");
        let mut set = builder.memory_bits(20_000).build().expect("small");
        let limit = limit.map(|rate| FprLimit {
            rate,
            is_of_store: false,
        });
        let mut guard = DropGuard::new(limit, set.filter().clone(), 0.0).expect("empty");
        let (mut lines, mut warnings) = (0, Vec::new());
        for _ in 0..8000 {
            let before = set.false_positive_rate();
            for key in lines..lines + BATCH {
                set.observe(key.to_le_bytes());
            }
            if guard.check(set.registers(), lines..lines + BATCH).is_err() {
                return (lines, warnings, before);
            }
            lines += BATCH;
            let warning = guard.take_warning();
            assert!(warning.is_none_or(|warning| warning.lines == lines));
            warnings.extend(warning.map(|warning| warning.rate));
        }
        (lines, warnings, set.false_positive_rate())
    }

    #[test]
    fn a_warning_comes_once_per_power_of_ten() {
        let (lines, warnings, rate) = fill(None);
        assert_eq!((lines, rate), (400_000, 1.0));
        let [first, second, third] = warnings[..] else {
            panic!("{warnings:?}");
        };
        assert!((0.01..0.011).contains(&first), "{first}");
        assert!((0.1..0.105).contains(&second), "{second}");
        assert!((0.9995..=1.0).contains(&third), "{third}");
    }

    #[test]
    fn a_limit_stops_before_the_batch_that_exceeds_it() {
        let (lines, warnings, rate) = fill(Some(0.02));
        // (1 − e^(−2n/20,000))² is 0.02 after 1,523 keys.
        assert!((1400..1600).contains(&lines), "{lines}");
        assert!((0.018..=0.02).contains(&rate), "{rate}");
        assert_eq!(warnings.len(), 1);
    }
}
