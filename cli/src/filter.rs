//! `dedupstore filter`: the main job.

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use dedupstore::SeenSet;
use dedupstore::lines::KeySelector;
use dedupstore::store::Durability;
use serde_json::json;

use crate::error::Failure;
use crate::input::{Block, Inputs, KeyArguments};
use crate::opening::{self, FilterArguments};
use crate::sieve::{Print, Remembers, Sieve, Tally};
use crate::stored::Stored;

/// Print each line whose key is new, in order, bytes untouched
///
/// A filter answers "met before?" in the memory you give it and is sometimes wrong; which
/// way, and how often, is up to the filter. The default, a Bloom filter, never lets a
/// repeat through, and drops a new line only when it has seen so many that its memory is
/// full: at 64 MiB its chance of dropping one passes 1 in 100,000 at 7.7 million distinct lines and
/// 1 in 1,000 at 26 million.
///
/// With a store, what was met is remembered for the next run; a store that is not there is
/// made. A line is written out before it is recorded: a crash may print it again, and never
/// loses it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A store, if its name ends in .dds, and files to read [default: standard input]; `-` is
    /// standard input
    #[arg(value_name = "STORE|FILE")]
    paths: Vec<PathBuf>,

    /// Print the repeats instead
    #[arg(short = 'd', long)]
    repeated: bool,

    /// Print every line behind `new` or `seen` and a tab
    #[arg(long, conflicts_with = "repeated")]
    annotate: bool,

    #[command(flatten)]
    key: KeyArguments,

    #[command(flatten)]
    filter: FilterArguments,

    /// When lines met are safe from a power cut: before the next ones are read (every), at
    /// this interval, or when the system likes (none). A crash of the process alone loses
    /// nothing [default: 1s]
    #[arg(long, value_name = "every|TIME|none", value_parser = opening::durability)]
    sync: Option<Durability>,

    /// End with one object of statistics on standard error
    #[arg(long, value_name = "FORMAT")]
    stats: Option<StatsFormat>,
}

const EXAMPLES: &str = "\
Examples:
  dedupstore filter links.txt > new.txt
  dedupstore filter links.dds today.txt >> new.txt   remembers what yesterday brought
  zcat access.log.gz | dedupstore filter --field 7 --stats json
  find . -type f -print0 | dedupstore filter -z
  dedupstore filter -d links.txt | sort | uniq -c    what came more than once";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StatsFormat {
    Json,
}

pub fn run(arguments: Arguments, quiet: bool) -> Result<(), Failure> {
    let selector = arguments.key.selector()?;
    let mut paths = arguments.paths;
    let store = match paths.first() {
        Some(first) if opening::is_store(first) => Some(paths.remove(0)),
        _ => None,
    };
    if let Some(second) = paths
        .iter()
        .find(|path| path.is_dir() && opening::is_store(path))
    {
        return Err(Failure::Usage(format!(
            "{} is a store; there can be one, before the files",
            second.display()
        )));
    }
    let run = Run {
        started: Instant::now(),
        inputs: Inputs::check(paths)?,
        print: match (arguments.annotate, arguments.repeated) {
            (true, _) => Print::All,
            (false, true) => Print::Repeats,
            (false, false) => Print::New,
        },
        selector,
        line_end: arguments.key.line_end(),
        stats: arguments.stats,
        quiet,
    };
    let Some(path) = store else {
        if arguments.sync.is_some() {
            return Err(Failure::Usage(
                "--sync is about a store, and none is named; put one before the files, like links.dds".to_owned(),
            ));
        }
        let choice = arguments.filter.choice()?;
        let seed = choice.seed.unwrap_or(0);
        let mut set = SeenSet::in_memory(&choice.filter, choice.memory_bits, seed)?;
        return run.over(&mut set)?.report(&run);
    };
    let durability = arguments.sync.unwrap_or_default();
    let store = opening::open_or_create(&path, &arguments.filter, durability, quiet)?;
    let mut stored = Stored::new(store);
    let outcome = run.over(&mut stored);
    // Also when the input failed: what was delivered until then is kept.
    let closed = stored.close();
    let outcome = outcome?;
    closed?;
    outcome.report(&run)
}

/// What is the same for every kind of memory.
struct Run {
    started: Instant,
    inputs: Inputs,
    selector: KeySelector,
    print: Print,
    line_end: u8,
    stats: Option<StatsFormat>,
    quiet: bool,
}

impl Run {
    /// Reads all there is.
    fn over(&self, memory: &mut impl Remembers) -> Result<Outcome, Failure> {
        if self.inputs.is_terminal() && !self.quiet {
            eprintln!("dedupstore: reading lines from the terminal; end with Ctrl-D");
        }
        let before = memory.tally();
        let mut sieve = Sieve::new(memory, self.selector.clone(), self.print, self.line_end)?;
        let bytes = self
            .inputs
            .for_each_block(self.line_end, |block| match block {
                Block::Lines(lines) => sieve.lines(lines),
                Block::Unterminated(line) => sieve.unterminated(line),
                Block::Pause => sieve.flush(),
            })?;
        sieve.flush()?;
        let without_key = sieve.without_key();
        Ok(Outcome {
            before,
            after: memory.tally(),
            bytes,
            without_key,
        })
    }
}

/// What a run has come to.
struct Outcome {
    before: Tally,
    after: Tally,
    bytes: u64,
    without_key: u64,
}

impl Outcome {
    fn report(&self, run: &Run) -> Result<(), Failure> {
        let without_key = self.without_key;
        if without_key > 0 && !run.quiet {
            eprintln!(
                "dedupstore: {without_key} lines had no such field and were passed on as new"
            );
        }
        if let Some(StatsFormat::Json) = run.stats {
            eprintln!("{}", self.statistics(run.started));
        }
        Ok(())
    }

    /// The counts are of this run; how full it is, is up to all runs.
    fn statistics(&self, started: Instant) -> serde_json::Value {
        let new = self.after.new - self.before.new;
        let seen = self.after.seen - self.before.seen;
        let lines = new + seen + self.without_key;
        let seconds = started.elapsed().as_secs_f64();
        json!({
            "schema": 1,
            "lines": lines,
            "new": new,
            "seen": seen,
            "without_key": self.without_key,
            "bytes": self.bytes,
            "seconds": seconds,
            "lines_per_second": lines as f64 / seconds.max(1e-9),
            "load": self.after.load,
            "estimated_fpr": self.after.drop_chance,
            "estimated_fnr": null,
        })
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
