//! Lines in, verdicts, lines out: one path for every kind of memory.

use dedupstore::lines::{KeySelector, Line};
use dedupstore::{KeyHasher, Observation, SeenSet, Verdict};

use crate::error::Failure;
use crate::output::Output;

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
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    pub new: u64,
    pub seen: u64,
    pub load: f64,
    pub drop_chance: f64,
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
        Tally {
            new: self.registers().new_count(),
            seen: self.registers().seen_count(),
            load: self.load(),
            drop_chance: self.drop_chance(),
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

/// Judges lines and prints those asked for.
pub struct Sieve<'a, R> {
    memory: &'a mut R,
    selector: KeySelector,
    printer: Printer,
    without_key: u64,
    observations: Vec<Observation>,
    verdicts: Vec<Verdict>,
}

impl<'a, R: Remembers> Sieve<'a, R> {
    pub fn new(
        memory: &'a mut R,
        selector: KeySelector,
        print: Print,
        line_end: u8,
    ) -> Result<Self, Failure> {
        let limit = memory.batch_limit();
        Ok(Sieve {
            memory,
            selector,
            printer: Printer {
                print,
                line_end,
                owes_line_end: false,
                output: Output::standard()?,
            },
            without_key: 0,
            observations: vec![Observation::default(); limit],
            verdicts: vec![Verdict::New; limit],
        })
    }

    /// Judges lines that a delimiter ends.
    pub fn lines<'b>(&mut self, mut lines: impl Iterator<Item = Line<'b>>) -> Result<(), Failure> {
        let limit = self.observations.len();
        let mut batch = Vec::with_capacity(limit);
        loop {
            batch.extend(lines.by_ref().take(limit));
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
        let printed = self.batch(&[line])?;
        self.printer.owes_line_end |= printed > 0;
        Ok(())
    }

    /// Writes what is held back.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.printer.output.flush()
    }

    /// How many lines had no key.
    pub fn without_key(&self) -> u64 {
        self.without_key
    }

    /// Returns how many lines were printed.
    fn batch(&mut self, lines: &[Line<'_>]) -> Result<usize, Failure> {
        let hasher = self.memory.hasher();
        let mut keyed = 0;
        for line in lines {
            if let Some(key) = self.selector.key(line.content) {
                self.observations[keyed] = hasher.fingerprint(key).into();
                keyed += 1;
            }
        }
        self.without_key += (lines.len() - keyed) as u64;
        let (selector, printer) = (&self.selector, &mut self.printer);
        let deliver = |verdicts: &[Verdict]| {
            let mut verdicts = verdicts.iter().copied();
            let printed = if keyed == lines.len() {
                printer.write(lines.iter().zip(verdicts))?
            } else {
                printer.write(lines.iter().map(|line| match selector.key(line.content) {
                    Some(_) => (line, verdicts.next().unwrap_or(Verdict::New)),
                    None => (line, Verdict::New),
                }))?
            };
            if R::DELIVERS_FIRST {
                printer.output.flush()?;
            }
            Ok(printed)
        };
        self.memory.judge(
            &self.observations[..keyed],
            &mut self.verdicts[..keyed],
            deliver,
        )
    }
}

struct Printer {
    print: Print,
    line_end: u8,
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
        }
        Ok(printed)
    }
}
