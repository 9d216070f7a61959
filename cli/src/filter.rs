//! `dedupstore filter`: the main job.

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use dedupstore::lines::{KeySelector, Line};
use dedupstore::{FilterSpec, Observation, SeenSet, Verdict};
use serde_json::json;

use crate::error::Failure;
use crate::input::{Block, Inputs, KeyArguments};
use crate::output::Output;
use crate::quantity;

/// Print each line whose key is new, in order, bytes untouched
///
/// A filter answers "met before?" in the memory you give it and is sometimes wrong; which
/// way, and how often, is up to the filter. The default, a Bloom filter, never lets a
/// repeat through, and drops a new line only when it has seen so many that its memory is
/// full: at 64 MiB its chance of dropping one passes 1 in 100,000 at 7.7 million distinct lines and
/// 1 in 1,000 at 26 million.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Files to read [default: standard input]; `-` is standard input
    #[arg(value_name = "FILE")]
    paths: Vec<PathBuf>,

    /// Print the repeats instead
    #[arg(short = 'd', long)]
    repeated: bool,

    /// Print every line behind `new` or `seen` and a tab
    #[arg(long, conflicts_with = "repeated")]
    annotate: bool,

    #[command(flatten)]
    key: KeyArguments,

    /// Memory for the filter
    #[arg(short, long, value_name = "SIZE", default_value = "64MiB", value_parser = quantity::size,
          help_heading = "Filter")]
    memory: u64,

    /// Which filter, as name:parameter=value,…; `dedupstore filters` lists them
    #[arg(
        short,
        long,
        value_name = "SPEC",
        default_value = "bloom:k=4",
        help_heading = "Filter"
    )]
    filter: FilterSpec,

    /// Seed of the hash and of the filter's choices
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Filter")]
    seed: u64,

    /// End with one object of statistics on standard error
    #[arg(long, value_name = "FORMAT")]
    stats: Option<StatsFormat>,
}

const EXAMPLES: &str = "\
Examples:
  dedupstore filter links.txt > new.txt
  zcat access.log.gz | dedupstore filter --field 7 --stats json
  find . -type f -print0 | dedupstore filter -z
  dedupstore filter -d links.txt | sort | uniq -c    what came more than once";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StatsFormat {
    Json,
}

pub fn run(arguments: Arguments, quiet: bool) -> Result<(), Failure> {
    let started = Instant::now();
    let selector = arguments.key.selector()?;
    let inputs = Inputs::check(arguments.paths)?;
    let mut set = SeenSet::in_memory(
        &arguments.filter,
        arguments.memory.saturating_mul(8),
        arguments.seed,
    )?;
    if inputs.is_terminal() && !quiet {
        eprintln!("dedupstore: reading lines from the terminal; end with Ctrl-D");
    }
    let line_end = arguments.key.line_end();
    let mut sieve = Sieve {
        selector,
        set: &mut set,
        print: match (arguments.annotate, arguments.repeated) {
            (true, _) => Print::All,
            (false, true) => Print::Repeats,
            (false, false) => Print::New,
        },
        line_end,
        owes_line_end: false,
        output: Output::standard()?,
        without_key: 0,
    };
    let bytes = inputs.for_each_block(line_end, |block| match block {
        Block::Lines(lines) => sieve.lines(lines),
        Block::Unterminated(line) => sieve.unterminated(line),
        Block::Pause => sieve.output.flush(),
    })?;
    sieve.output.flush()?;
    let without_key = sieve.without_key;
    if without_key > 0 && !quiet {
        eprintln!("dedupstore: {without_key} lines had no such field and were passed on as new");
    }
    if let Some(StatsFormat::Json) = arguments.stats {
        eprintln!("{}", statistics(&set, bytes, without_key, started));
    }
    Ok(())
}

fn statistics(set: &SeenSet, bytes: u64, without_key: u64, started: Instant) -> serde_json::Value {
    let registers = set.registers();
    let lines = registers.observations() + without_key;
    let seconds = started.elapsed().as_secs_f64();
    json!({
        "schema": 1,
        "lines": lines,
        "new": registers.new_count(),
        "seen": registers.seen_count(),
        "without_key": without_key,
        "bytes": bytes,
        "seconds": seconds,
        "lines_per_second": lines as f64 / seconds.max(1e-9),
        "load": set.load(),
        "estimated_fpr": set.drop_chance(),
        "estimated_fnr": null,
    })
}

/// Which lines come out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Print {
    New,
    Repeats,
    /// With their verdict before them.
    All,
}

/// How many lines are judged at a time: enough to hide the latency of memory.
const BATCH: usize = 256;

/// Judges lines and prints those asked for.
struct Sieve<'a> {
    selector: KeySelector,
    set: &'a mut SeenSet,
    print: Print,
    line_end: u8,
    /// The last line printed was one that nothing ended; if another follows, we must.
    owes_line_end: bool,
    output: Output,
    without_key: u64,
}

impl Sieve<'_> {
    fn lines<'b>(&mut self, mut lines: impl Iterator<Item = Line<'b>>) -> Result<(), Failure> {
        let mut batch = [Line::default(); BATCH];
        loop {
            let mut count = 0;
            for (place, line) in batch.iter_mut().zip(&mut lines) {
                *place = line;
                count += 1;
            }
            self.batch(&batch[..count])?;
            if count < BATCH {
                return Ok(());
            }
        }
    }

    fn unterminated(&mut self, line: Line<'_>) -> Result<(), Failure> {
        let printed = self.batch(&[line])?;
        self.owes_line_end |= printed > 0;
        Ok(())
    }

    /// Returns how many lines were printed.
    fn batch(&mut self, lines: &[Line<'_>]) -> Result<usize, Failure> {
        let hasher = self.set.hasher();
        let mut observations = [Observation::default(); BATCH];
        let mut verdicts = [Verdict::New; BATCH];
        let mut keyed = 0;
        for line in lines {
            if let Some(key) = self.selector.key(line.content) {
                observations[keyed] = hasher.fingerprint(key).into();
                keyed += 1;
            }
        }
        self.set
            .observe_batch(&observations[..keyed], &mut verdicts[..keyed]);
        if keyed == lines.len() {
            return self.write(lines.iter().zip(verdicts));
        }
        self.without_key += (lines.len() - keyed) as u64;
        let mut judged = verdicts[..keyed].iter();
        let selector = self.selector.clone();
        self.write(lines.iter().map(|line| match selector.key(line.content) {
            Some(_) => (line, judged.next().copied().unwrap_or(Verdict::New)),
            None => (line, Verdict::New),
        }))
    }

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

#[cfg(test)]
mod tests {
    /// The figures in this command's help, by the Bloom filter's formula.
    #[test]
    fn the_help_tells_the_truth_about_the_default() {
        let chance = |distinct: f64| {
            let load = 1.0 - (-4.0 * distinct / f64::from(64 << 23)).exp();
            load.powi(4)
        };
        assert!(chance(7.7e6) < 1e-5 && chance(7.9e6) > 1e-5);
        assert!(chance(26.0e6) < 1e-3 && chance(26.5e6) > 1e-3);
    }
}
