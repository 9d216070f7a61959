//! Reads lines, decides about their keys and prints the lines asked for.
//!
//! The same code serves a set in memory and a store: both implement [`SeenKeys`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dedupstore::audit::Estimate;
use dedupstore::filter::{AnyFilter, ClockReport, Registers};
use dedupstore::lines::{Line, Lines, Part, Piece};
use dedupstore::{KeyHasher, Observation, Verdict};

use crate::batch_hasher::{BatchHasher, HashedBatch, LineReader};
use crate::closed_pipe;
use crate::drop_guard::{DropGuard, FprLimit};
use crate::error::Failure;
use crate::hashed_block::HashedBlock;
use crate::line_times::{FirstTime, Unreadable};
use crate::metrics::Metrics;
use crate::output::Output;

/// The keys seen so far.
pub trait SeenKeys {
    /// Whether lines must be written out before their keys are recorded.
    const DELIVERS_BEFORE_RECORDING: bool;

    /// Returns the largest number of observations per batch.
    fn batch_limit(&self) -> usize;

    /// Returns the hasher of the keys.
    fn hasher(&self) -> KeyHasher;

    /// Decides about keys in order, passes the verdicts and the counters after them to `deliver`,
    /// and records the keys if `deliver` succeeds. Returns the value of `deliver`.
    fn observe_then<T>(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        deliver: impl FnOnce(&[Verdict], &Registers) -> Result<T, Failure>,
    ) -> Result<T, Failure>;

    /// Returns the filter's geometry.
    fn filter(&self) -> AnyFilter;

    /// Returns counts, load and error rates.
    fn status(&mut self) -> Status;

    /// Returns a function for another thread that returns the status, or None while a batch uses
    /// the keys.
    fn look(&self) -> impl Fn() -> Option<Status> + Send + 'static;

    /// Takes over to write the last metrics after the keys are closed; returns false if there is
    /// nothing to close.
    fn finish_metrics_at_close(&mut self, _metrics: &Arc<Metrics>) -> bool {
        false
    }
}

/// Counts of a run that no filter holds. The metrics read them while the run counts.
#[derive(Debug, Default)]
pub struct RunCounts {
    /// The number of lines without a key.
    pub without_key: AtomicU64,
    /// The number of lines that are too long to be judged.
    pub too_long: AtomicU64,
    /// The number of lines with a key and without a readable time, if lines have their own.
    pub without_time: AtomicU64,
    /// The number of the first such line, from 1.
    pub first_without_time: AtomicU64,
    /// The number of lines with a key and without a readable importance, if lines have one.
    pub without_importance: AtomicU64,
    /// The number of the first such line, from 1.
    pub first_without_importance: AtomicU64,
    /// The number of bytes read from all inputs for the blocks handled so far, before
    /// decompression.
    pub consumed_bytes: AtomicU64,
}

/// Counts, load and error rates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Status {
    pub new: u64,
    pub seen: u64,
    pub load: f64,
    pub drop_chance: f64,
    /// How the times of lines were handled in this run.
    pub clock: ClockReport,
    /// When the present step of a window's clock began, in seconds since 1970. None if the filter
    /// has no window in seconds, or if there was no time yet.
    pub clock_unix_seconds: Option<u64>,
    /// The false positive rate, measured by the audit.
    pub audited_fpr: Option<Estimate>,
    /// The false negative rate, measured by the audit.
    pub audited_fnr: Option<Estimate>,
    pub store: Option<StoreStatus>,
}

impl Status {
    /// Returns the status with the counts, load and drop chance of other counters.
    fn at(self, filter: &AnyFilter, registers: &Registers) -> Self {
        Status {
            new: registers.new_count(),
            seen: registers.seen_count(),
            load: filter.load(registers),
            drop_chance: filter.false_positive_rate(registers),
            clock_unix_seconds: clock_unix_seconds(filter, registers),
            ..self
        }
    }
}

/// Returns when the present step of a window's clock began; None as for
/// [`Status::clock_unix_seconds`].
pub fn clock_unix_seconds(filter: &AnyFilter, registers: &Registers) -> Option<u64> {
    let clock = filter.tick_clock()?;
    let step = Some(registers.clock()).filter(|&step| step > 0);
    clock.begin_of(step?)
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
    pub reader: LineReader,
    pub print: Print,
    pub line_end: u8,
    /// Whether every line is flushed.
    pub line_buffered: bool,
    /// The limit of the false positive rate.
    pub limit: Option<FprLimit>,
}

/// Decides about lines and prints those asked for.
pub struct LineFilter<'a, S> {
    seen: &'a mut S,
    hasher: BatchHasher,
    /// The batch of a block whose keys are not hashed yet.
    batch: HashedBatch,
    /// Present if lines have their own time.
    first_time: Option<FirstTime>,
    printer: Printer,
    guard: DropGuard,
    counts: Arc<RunCounts>,
    /// The number of lines handled so far.
    lines: u64,
    verdicts: Vec<Verdict>,
}

impl<'a, S: SeenKeys> LineFilter<'a, S> {
    pub fn new(
        seen: &'a mut S,
        settings: FilterSettings,
        counts: Arc<RunCounts>,
    ) -> Result<Self, Failure> {
        let drop_chance = seen.status().drop_chance;
        let guard = DropGuard::new(settings.limit, seen.filter(), drop_chance)?;
        let mut limit = seen.batch_limit();
        match guard.batch_limit() {
            Some(guarded) if S::DELIVERS_BEFORE_RECORDING => limit = limit.min(guarded),
            Some(guarded) => limit = guarded,
            None => {}
        }
        let output = Output::standard()?;
        Ok(LineFilter {
            first_time: settings.reader.times.is_some().then(FirstTime::default),
            hasher: BatchHasher::new(seen.hasher(), settings.reader, limit),
            batch: HashedBatch::default(),
            seen,
            printer: Printer {
                print: settings.print,
                line_end: settings.line_end,
                line_buffered: settings.line_buffered,
                owes_line_end: output.begins_within_line(settings.line_end),
                output,
            },
            guard,
            counts,
            lines: 0,
            verdicts: vec![Verdict::New; limit],
        })
    }

    /// Returns the hasher of batches, for other threads.
    pub fn hasher(&self) -> &BatchHasher {
        &self.hasher
    }

    /// Handles a block of lines. Hashes their keys, if that is not done.
    pub fn block(&mut self, block: &mut HashedBlock) -> Result<(), Failure> {
        check_output()?;
        let (lines, batches) = block.parts();
        let mut batches = batches.map(<[HashedBatch]>::iter_mut);
        for part in lines.parts() {
            match (part, &mut batches) {
                (Part::LongLine(piece), _) => self.long_line(piece)?,
                (Part::Lines(lines), None) => self.lines(lines)?,
                (Part::Lines(lines), Some(batches)) => {
                    let limit = self.verdicts.len();
                    for batch in batches {
                        self.batch(lines.text(), batch)?;
                        if batch.len() < limit {
                            break;
                        }
                    }
                }
            }
        }
        match lines.last_line() {
            Some(line) => self.unterminated(line),
            None => Ok(()),
        }
    }

    /// Handles lines that end with a delimiter.
    fn lines(&mut self, mut lines: Lines<'_>) -> Result<(), Failure> {
        let text = lines.text();
        let mut batch = std::mem::take(&mut self.batch);
        let mut more = true;
        while more {
            more = self.hasher.hash(&mut lines, &mut batch);
            self.batch(text, &mut batch)?;
        }
        self.batch = batch;
        Ok(())
    }

    /// Handles the last line of an input, which has no delimiter.
    fn unterminated(&mut self, line: Line<'_>) -> Result<(), Failure> {
        let mut batch = HashedBatch::default();
        self.hasher.hash_unterminated(line, &mut batch);
        let printed = self.batch(line.content, &mut batch)?;
        self.printer.owes_line_end |= printed > 0;
        Ok(())
    }

    /// Handles a piece of a line that is too long to be judged. It is treated as new, but not
    /// recorded.
    fn long_line(&mut self, piece: Piece<'_>) -> Result<(), Failure> {
        check_output()?;
        if piece.is_first {
            self.lines += 1;
            self.counts.too_long.fetch_add(1, Ordering::Relaxed);
        }
        self.printer.write_piece(piece)
    }

    /// Writes buffered lines.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.printer.output.flush()
    }

    /// Returns the number of lines handled so far.
    pub fn line_count(&self) -> u64 {
        self.lines
    }

    /// Returns the status of the seen keys.
    pub fn status(&mut self) -> Status {
        self.seen.status()
    }

    /// Returns the status after the last batch that did not exceed the limit, given that before
    /// the first one.
    pub fn accepted_status(&mut self, before: Status) -> Status {
        match self.guard.accepted() {
            Some(registers) => self.seen.status().at(self.guard.filter(), registers),
            None => before,
        }
    }

    /// Returns the guard of the false positive rate.
    pub fn guard(&mut self) -> &mut DropGuard {
        &mut self.guard
    }

    /// Handles a batch of a text; returns the number of lines printed.
    fn batch(&mut self, text: &[u8], batch: &mut HashedBatch) -> Result<usize, Failure> {
        if batch.len() == 0 {
            return Ok(0);
        }
        if S::DELIVERS_BEFORE_RECORDING {
            check_output()?;
        }
        if let Some(first_time) = &mut self.first_time {
            first_time.apply(&mut batch.observations);
        }
        let batch = &*batch;
        let HashedBatch {
            observations,
            without_key,
            without_time,
            without_importance,
            ..
        } = batch;
        let (guard, printer) = (&mut self.guard, &mut self.printer);
        let numbers = self.lines..self.lines + batch.len() as u64;
        let deliver = |verdicts: &[Verdict], registers: &Registers| {
            guard.check(registers, numbers)?;
            let (lines, verdicts) = (batch.lines(text), verdicts.iter().copied());
            let printed = match &without_key[..] {
                [] => printer.write(lines.zip(verdicts))?,
                gaps => printer.write(lines.zip(with_gaps(verdicts, gaps)))?,
            };
            if S::DELIVERS_BEFORE_RECORDING {
                printer.output.flush()?;
            }
            Ok(printed)
        };
        let verdicts = &mut self.verdicts[..observations.len()];
        let printed = self.seen.observe_then(observations, verdicts, deliver)?;
        let counts = &self.counts;
        count_lines(
            *without_time,
            self.lines,
            &counts.without_time,
            &counts.first_without_time,
        );
        count_lines(
            *without_importance,
            self.lines,
            &counts.without_importance,
            &counts.first_without_importance,
        );
        self.lines += batch.len() as u64;
        if !without_key.is_empty() {
            let count = without_key.len() as u64;
            self.counts.without_key.fetch_add(count, Ordering::Relaxed);
        }
        Ok(printed)
    }
}

/// Counts the lines of a batch without a readable value, and notes the first of them. `before` is
/// the number of lines before the batch.
fn count_lines(without: Unreadable, before: u64, count: &AtomicU64, first: &AtomicU64) {
    if without.count > 0 && count.fetch_add(without.count, Ordering::Relaxed) == 0 {
        first.store(before + u64::from(without.first) + 1, Ordering::Relaxed);
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
    /// Whether the last line printed, or the file to which the output is appended, has no
    /// delimiter at its end. One is written before the next line.
    owes_line_end: bool,
    output: Output,
}

impl Printer {
    /// Prints the lines asked for; returns their number.
    fn write<'b>(
        &mut self,
        decided: impl Iterator<Item = (&'b [u8], Verdict)>,
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
            self.end_last_line()?;
            if self.print == Print::All {
                self.output.put(match verdict {
                    Verdict::New => b"new\t",
                    Verdict::Seen => b"seen\t",
                })?;
            }
            self.output.put(line)?;
            if self.line_buffered {
                self.output.flush()?;
            }
        }
        Ok(printed)
    }

    /// Prints a piece of a line whose verdict would be New.
    fn write_piece(&mut self, piece: Piece<'_>) -> Result<(), Failure> {
        if self.print == Print::Repeats {
            return Ok(());
        }
        if piece.is_first {
            self.end_last_line()?;
            if self.print == Print::All {
                self.output.put(b"new\t")?;
            }
        }
        self.owes_line_end = !piece.bytes.ends_with(&[self.line_end]);
        self.output.put(piece.bytes)
    }

    /// Writes the delimiter that the last line lacks.
    #[inline]
    fn end_last_line(&mut self) -> Result<(), Failure> {
        if self.owes_line_end {
            self.owes_line_end = false;
            self.output.put(&[self.line_end])?;
        }
        Ok(())
    }
}
