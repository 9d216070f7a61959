//! Reads lines, decides about their keys and prints the lines asked for.
//!
//! The same code serves a set in memory and a store: both implement [`SeenKeys`].

use dedupstore::audit::Estimate;
use dedupstore::filter::{AnyFilter, Registers};
use dedupstore::lines::{KeyReader, Line};
use dedupstore::{KeyHasher, Observation, SeenSet, Verdict};

use crate::batch_hasher::{BatchHasher, HashedBatch, MIN_PARALLEL_LINES};
use crate::closed_pipe;
use crate::drop_guard::{DropGuard, FilterState, FprLimit};
use crate::error::Failure;
use crate::output::Output;

/// The keys seen so far.
pub trait SeenKeys {
    /// Whether lines must be written out before their keys are recorded.
    const DELIVERS_BEFORE_RECORDING: bool;

    /// Returns the largest number of observations per batch.
    fn batch_limit(&self) -> usize;

    /// Returns the hasher of the keys.
    fn hasher(&self) -> KeyHasher;

    /// Decides about keys in order, passes the verdicts and the state after them to `deliver`,
    /// and records the keys if `deliver` succeeds. Returns the value of `deliver`.
    fn observe_then<T>(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        deliver: impl FnOnce(&[Verdict], FilterState<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure>;

    /// Returns the number of cells of the filter.
    fn cells(&self) -> u64;

    /// Returns counts, load and error rates.
    fn status(&mut self) -> Status;

    /// Returns the same for earlier counters.
    fn status_at(&mut self, registers: &Registers) -> Status;
}

/// Counts, load and error rates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Status {
    pub new: u64,
    pub seen: u64,
    pub load: f64,
    pub drop_chance: f64,
    /// The false positive rate, measured by the audit.
    pub audited_fpr: Option<Estimate>,
    /// The false negative rate, measured by the audit.
    pub audited_fnr: Option<Estimate>,
    pub store: Option<StoreStatus>,
}

impl Status {
    /// Returns the status with the counts, load and drop chance of other counters.
    pub fn at(self, filter: &AnyFilter, registers: &Registers) -> Self {
        Status {
            new: registers.new_count(),
            seen: registers.seen_count(),
            load: filter.load(registers),
            drop_chance: filter.false_positive_rate(registers),
            ..self
        }
    }
}

/// The part of [`Status`] that only a store has.
#[derive(Clone, Copy, Debug)]
pub struct StoreStatus {
    pub generation: u64,
    pub checkpoint_unix_seconds: u64,
    /// The number of durable observations.
    pub durable: u64,
    /// The number of observations replayed from the log when the store was opened.
    pub recovered: u64,
}

/// The set ends with the process, so nothing is lost if keys are recorded first.
impl SeenKeys for SeenSet {
    const DELIVERS_BEFORE_RECORDING: bool = false;

    /// Large enough to hide memory latency, small enough for the first-level cache.
    fn batch_limit(&self) -> usize {
        256
    }

    fn hasher(&self) -> KeyHasher {
        SeenSet::hasher(self)
    }

    fn observe_then<T>(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        deliver: impl FnOnce(&[Verdict], FilterState<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.observe_batch(observations, verdicts);
        let state = FilterState {
            filter: self.filter(),
            registers: self.registers(),
        };
        deliver(verdicts, state)
    }

    fn cells(&self) -> u64 {
        self.filter().cells()
    }

    fn status(&mut self) -> Status {
        let audit = self.audit();
        Status {
            audited_fpr: audit.as_ref().and_then(|audit| audit.fpr),
            audited_fnr: audit.as_ref().and_then(|audit| audit.fnr),
            new: self.registers().new_count(),
            seen: self.registers().seen_count(),
            load: self.load(),
            drop_chance: self.false_positive_rate(),
            store: None,
        }
    }

    fn status_at(&mut self, registers: &Registers) -> Status {
        self.status().at(self.filter(), registers)
    }
}

/// Which lines to print.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Print {
    New,
    Repeats,
    /// Every line, with its verdict before it.
    All,
}

/// How lines are read and printed.
#[derive(Clone)]
pub struct FilterSettings {
    pub keys: KeyReader,
    pub print: Print,
    pub line_end: u8,
    /// Whether every line is flushed.
    pub line_buffered: bool,
    /// The number of threads that extract and hash keys.
    pub threads: usize,
    /// The limit of the false positive rate.
    pub limit: Option<FprLimit>,
}

/// Decides about lines and prints those asked for.
pub struct LineFilter<'a, S> {
    seen: &'a mut S,
    hasher: BatchHasher,
    printer: Printer,
    guard: DropGuard,
    lines: u64,
    without_key: u64,
    verdicts: Vec<Verdict>,
}

impl<'a, S: SeenKeys> LineFilter<'a, S> {
    pub fn new(seen: &'a mut S, settings: FilterSettings) -> Result<Self, Failure> {
        let guard = DropGuard::new(settings.limit, seen.cells(), seen.status().drop_chance)?;
        let mut limit = seen.batch_limit();
        match guard.batch_limit() {
            Some(guarded) if S::DELIVERS_BEFORE_RECORDING => limit = limit.min(guarded),
            Some(guarded) => limit = guarded,
            // In smaller batches, distributing the work costs more than the work.
            None if settings.threads > 1 => limit = limit.max(MIN_PARALLEL_LINES),
            None => {}
        }
        Ok(LineFilter {
            hasher: BatchHasher::new(seen.hasher(), settings.keys, limit, settings.threads)?,
            seen,
            printer: Printer {
                print: settings.print,
                line_end: settings.line_end,
                line_buffered: settings.line_buffered,
                owes_line_end: false,
                output: Output::standard()?,
            },
            guard,
            lines: 0,
            without_key: 0,
            verdicts: vec![Verdict::New; limit],
        })
    }

    /// Handles lines that end with a delimiter.
    pub fn lines<'b>(&mut self, mut lines: impl Iterator<Item = Line<'b>>) -> Result<(), Failure> {
        let limit = self.verdicts.len();
        let mut batch = Vec::with_capacity(limit);
        let mut checked = false;
        loop {
            batch.extend(lines.by_ref().take(limit));
            // Once per block; before every batch if the batch would be recorded.
            if !checked || S::DELIVERS_BEFORE_RECORDING {
                checked = true;
                check_output()?;
            }
            if !batch.is_empty() {
                self.batch(&batch)?;
            }
            if batch.len() < limit {
                return Ok(());
            }
            batch.clear();
        }
    }

    /// Handles the last line of an input, which has no delimiter.
    pub fn unterminated(&mut self, line: Line<'_>) -> Result<(), Failure> {
        check_output()?;
        let printed = self.batch(&[line])?;
        self.printer.owes_line_end |= printed > 0;
        Ok(())
    }

    /// Writes buffered lines.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.printer.output.flush()
    }

    /// Returns the number of lines handled so far.
    pub fn line_count(&self) -> u64 {
        self.lines
    }

    /// Returns the number of lines without a key.
    pub fn without_key(&self) -> u64 {
        self.without_key
    }

    /// Returns the status of the seen keys.
    pub fn status(&mut self) -> Status {
        self.seen.status()
    }

    /// Returns the status after the last batch that did not exceed the limit, given that before
    /// the first one.
    pub fn accepted_status(&mut self, before: Status) -> Status {
        match self.guard.accepted() {
            Some(registers) => self.seen.status_at(registers),
            None => before,
        }
    }

    /// Returns the guard of the false positive rate.
    pub fn guard(&mut self) -> &mut DropGuard {
        &mut self.guard
    }

    /// Handles a batch; returns the number of lines printed.
    fn batch(&mut self, lines: &[Line<'_>]) -> Result<usize, Failure> {
        let HashedBatch {
            observations,
            without_key,
        } = self.hasher.hash(lines);
        let guard = &mut self.guard;
        let numbers = self.lines..self.lines + lines.len() as u64;
        let printer = &mut self.printer;
        let deliver = |verdicts: &[Verdict], state: FilterState<'_>| {
            guard.check(state, numbers)?;
            let verdicts = verdicts.iter().copied();
            let printed = match without_key {
                [] => printer.write(lines.iter().zip(verdicts))?,
                _ => printer.write(lines.iter().zip(with_gaps(verdicts, without_key)))?,
            };
            if S::DELIVERS_BEFORE_RECORDING {
                printer.output.flush()?;
            }
            Ok(printed)
        };
        let verdicts = &mut self.verdicts[..observations.len()];
        let printed = self.seen.observe_then(observations, verdicts, deliver)?;
        self.lines += lines.len() as u64;
        self.without_key += without_key.len() as u64;
        Ok(printed)
    }
}

/// Fails if the reader has closed the output pipe, so that nothing more is printed or recorded.
fn check_output() -> Result<(), Failure> {
    match closed_pipe::stdout_is_closed() {
        true => Err(Failure::ClosedPipe),
        false => Ok(()),
    }
}

/// Inserts `New` at the gaps, which are the lines without a key.
fn with_gaps(
    mut verdicts: impl Iterator<Item = Verdict>,
    gaps: &[u32],
) -> impl Iterator<Item = Verdict> {
    let mut gaps = gaps.iter().peekable();
    (0..).map_while(move |line| match gaps.next_if_eq(&&line) {
        Some(_) => Some(Verdict::New),
        None => verdicts.next(),
    })
}

struct Printer {
    print: Print,
    line_end: u8,
    line_buffered: bool,
    /// Whether the last line printed had no delimiter. One is written before the next line.
    owes_line_end: bool,
    output: Output,
}

impl Printer {
    /// Prints the lines asked for; returns their number.
    fn write<'b>(
        &mut self,
        decided: impl Iterator<Item = (&'b Line<'b>, Verdict)>,
    ) -> Result<usize, Failure> {
        let mut printed = 0;
        for (line, verdict) in decided {
            let wanted = match self.print {
                Print::New => verdict == Verdict::New,
                Print::Repeats => verdict == Verdict::Seen,
                Print::All => true,
            };
            if !wanted {
                continue;
            }
            printed += 1;
            if self.owes_line_end {
                self.output.put(&[self.line_end])?;
                self.owes_line_end = false;
            }
            if self.print == Print::All {
                self.output.put(match verdict {
                    Verdict::New => b"new\t",
                    Verdict::Seen => b"seen\t",
                })?;
            }
            self.output.put(line.with_delimiter)?;
            if self.line_buffered {
                self.output.flush()?;
            }
        }
        Ok(printed)
    }
}
