//! Lines in, verdicts, lines out: one path for every kind of memory.

use dedupstore::audit::Estimate;
use dedupstore::lines::{KeyReader, Line};
use dedupstore::{KeyHasher, Observation, SeenSet, Verdict};

use crate::error::Failure;
use crate::hashing::{Hashed, Hashing, LINES_WORTH_SHARING};
use crate::output::Output;
use crate::pipe;

/// What remembers the keys.
pub trait Remembers {
    /// Whether what is printed must be out of our hands before it is recorded.
    const DELIVERS_FIRST: bool;

    /// How many lines are judged at a time at the most.
    fn batch_limit(&self) -> usize;

    /// What hashes the keys.
    fn hasher(&self) -> KeyHasher;

    /// Decides about keys in order, hands the verdicts to `deliver`, and records the keys
    /// if that went well. Returns what `deliver` did.
    fn judge<T>(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        deliver: impl FnOnce(&[Verdict]) -> Result<T, Failure>,
    ) -> Result<T, Failure>;

    /// How it stands now.
    fn tally(&mut self) -> Tally;
}

/// What a memory has met, and how full it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub new: u64,
    pub seen: u64,
    pub load: f64,
    pub drop_chance: f64,
    /// New keys taken for seen, as the audit found.
    pub audited_fpr: Option<Estimate>,
    /// Repeats taken for new, as the audit found.
    pub audited_fnr: Option<Estimate>,
    pub store: Option<StoreTally>,
}

/// What there is to say of a store.
#[derive(Clone, Copy, Debug)]
pub struct StoreTally {
    pub generation: u64,
    pub checkpoint_unix_seconds: u64,
    /// Observations that are durable.
    pub durable: u64,
    /// Observations that opening it brought back from its log.
    pub recovered: u64,
}

/// Memory that ends with the process: nothing is lost by recording early.
impl Remembers for SeenSet {
    const DELIVERS_FIRST: bool = false;

    /// Enough to hide the latency of memory, and few enough to stay in the first cache.
    fn batch_limit(&self) -> usize {
        256
    }

    fn hasher(&self) -> KeyHasher {
        SeenSet::hasher(self)
    }

    fn judge<T>(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        deliver: impl FnOnce(&[Verdict]) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.observe_batch(observations, verdicts);
        deliver(verdicts)
    }

    fn tally(&mut self) -> Tally {
        let audit = self.audit();
        Tally {
            audited_fpr: audit.as_ref().and_then(|audit| audit.fpr),
            audited_fnr: audit.as_ref().and_then(|audit| audit.fnr),
            new: self.registers().new_count(),
            seen: self.registers().seen_count(),
            load: self.load(),
            drop_chance: self.drop_chance(),
            store: None,
        }
    }
}

/// Which lines come out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Print {
    New,
    Repeats,
    /// With their verdict before them.
    All,
}

/// How lines come in and go out.
#[derive(Clone)]
pub struct Manner {
    pub keys: KeyReader,
    pub print: Print,
    pub line_end: u8,
    /// Every line goes out at once.
    pub line_buffered: bool,
    /// How many threads find and hash keys.
    pub threads: usize,
}

/// Judges lines and prints those asked for.
pub struct Sieve<'a, R> {
    memory: &'a mut R,
    hashing: Hashing,
    printer: Printer,
    without_key: u64,
    verdicts: Vec<Verdict>,
}

impl<'a, R: Remembers> Sieve<'a, R> {
    pub fn new(memory: &'a mut R, manner: Manner) -> Result<Self, Failure> {
        let mut limit = memory.batch_limit();
        if manner.threads > 1 {
            // Else handing out the work would cost more than the work.
            limit = limit.max(LINES_WORTH_SHARING);
        }
        Ok(Sieve {
            hashing: Hashing::new(memory.hasher(), manner.keys, limit, manner.threads)?,
            memory,
            printer: Printer {
                print: manner.print,
                line_end: manner.line_end,
                line_buffered: manner.line_buffered,
                owes_line_end: false,
                output: Output::standard()?,
            },
            without_key: 0,
            verdicts: vec![Verdict::New; limit],
        })
    }

    /// Judges lines that a delimiter ends.
    pub fn lines<'b>(&mut self, mut lines: impl Iterator<Item = Line<'b>>) -> Result<(), Failure> {
        let limit = self.verdicts.len();
        let mut batch = Vec::with_capacity(limit);
        let mut looked = false;
        loop {
            batch.extend(lines.by_ref().take(limit));
            // Once a block; before every batch where it would be recorded.
            if !looked || R::DELIVERS_FIRST {
                looked = true;
                self.check_reader()?;
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

    /// Judges the last line of an input, which nothing ends.
    pub fn unterminated(&mut self, line: Line<'_>) -> Result<(), Failure> {
        self.check_reader()?;
        let printed = self.batch(&[line])?;
        self.printer.owes_line_end |= printed > 0;
        Ok(())
    }

    /// What nobody would read is neither printed nor recorded.
    fn check_reader(&self) -> Result<(), Failure> {
        match pipe::reader_is_gone() {
            true => Err(Failure::ClosedPipe),
            false => Ok(()),
        }
    }

    /// Writes what is held back.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.printer.output.flush()
    }

    /// How many lines had no key.
    pub fn without_key(&self) -> u64 {
        self.without_key
    }

    /// How the memory stands.
    pub fn tally(&mut self) -> Tally {
        self.memory.tally()
    }

    /// Returns how many lines were printed.
    fn batch(&mut self, lines: &[Line<'_>]) -> Result<usize, Failure> {
        let Hashed {
            observations,
            without_key,
        } = self.hashing.hash(lines);
        self.without_key += without_key.len() as u64;
        let printer = &mut self.printer;
        let deliver = |verdicts: &[Verdict]| {
            let verdicts = verdicts.iter().copied();
            let printed = match without_key {
                [] => printer.write(lines.iter().zip(verdicts))?,
                _ => printer.write(lines.iter().zip(with_gaps(verdicts, without_key)))?,
            };
            if R::DELIVERS_FIRST {
                printer.output.flush()?;
            }
            Ok(printed)
        };
        let verdicts = &mut self.verdicts[..observations.len()];
        self.memory.judge(observations, verdicts, deliver)
    }
}

/// A line without a key is New.
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
    /// The last line printed was one that nothing ended; if another follows, we must.
    owes_line_end: bool,
    output: Output,
}

impl Printer {
    /// Returns how many lines were printed.
    fn write<'b>(
        &mut self,
        judged: impl Iterator<Item = (&'b Line<'b>, Verdict)>,
    ) -> Result<usize, Failure> {
        let mut printed = 0;
        for (line, verdict) in judged {
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
