//! `dedupstore filter`: the main job.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use dedupstore::audit::AuditedFilter;
use dedupstore::lines::KeyReader;
use dedupstore::store::{Durability, Parameters, Store};
use dedupstore::{CreateError, Memory, SeenSet};
use serde_json::json;

use crate::error::Failure;
use crate::input::{Block, InputArguments, Inputs};
use crate::keys::KeyArguments;
use crate::metrics::{Metrics, Reading};
use crate::opening::{self, FilterArguments};
use crate::progress::Progress;
use crate::quantity;
use crate::sieve::{Manner, Print, Remembers, Sieve, Tally};
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

    #[command(flatten)]
    input: InputArguments,

    /// Look without recording: prints what a run would print now
    #[arg(long, conflicts_with = "sync")]
    dry_run: bool,

    /// Write every line out at once, also while more is at hand
    #[arg(long)]
    line_buffered: bool,

    /// How many threads unpack, find, normalize and hash keys; the output is the same. Try it
    /// with --normalize, --key-regex and --json-key: on plain lines it gains nothing
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = quantity::threads)]
    threads: usize,

    /// When lines met are safe from a power cut: before the next ones are read (every), at
    /// this interval, or when the system likes (none). A crash of the process alone loses
    /// nothing [default: 1s]
    #[arg(long, value_name = "every|TIME|none", value_parser = opening::durability)]
    sync: Option<Durability>,

    /// End with one object of statistics on standard error
    #[arg(long, value_name = "FORMAT")]
    stats: Option<StatsFormat>,

    /// Write how the run goes to a file, in Prometheus' text form, whole at every moment
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,

    /// How often
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "metrics",
          value_parser = quantity::time)]
    metrics_every: Duration,
}

const EXAMPLES: &str = "\
Examples:
  dedupstore filter links.txt > new.txt
  dedupstore filter links.dds today.txt >> new.txt   remembers what yesterday brought
  dedupstore filter --field 7 --stats json access.log.*.gz
  dedupstore filter links.dds --json-key request.url --normalize whatwg crawl.jsonl.zst
  find . -type f -print0 | dedupstore filter -z
  dedupstore filter -d links.txt | sort | uniq -c    what came more than once";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StatsFormat {
    Json,
}

pub fn run(mut arguments: Arguments, quiet: bool) -> Result<(), Failure> {
    let mut paths = std::mem::take(&mut arguments.paths);
    let store = match paths.first() {
        Some(first) if opening::is_store(first) => Some(paths.remove(0)),
        _ => None,
    };
    if let Some(second) = paths
        .iter()
        .find(|path| path.is_dir() && opening::is_store(path))
    {
        return Err(Failure::Usage(format!(
            "{0} is a store; there can be one, before the files: dedupstore filter {0} FILE",
            second.display()
        )));
    }
    let keys = arguments.key.reader()?;
    let inputs = Inputs::check(paths)?.reading(&arguments.input, arguments.threads > 1);
    let mut run = Run {
        started: Instant::now(),
        inputs,
        keys,
        arguments,
        quiet,
    };
    let Some(path) = store else {
        if run.arguments.sync.is_some() {
            return Err(Failure::Usage(
                "--sync is about a store, and none is named; put one before the files, like links.dds".to_owned(),
            ));
        }
        let mut set = run.fresh_set()?;
        return run.over(&mut set)?.report(&run);
    };
    if run.arguments.dry_run {
        let mut set = run.copy_of(&path)?;
        return run.over(&mut set)?.report(&run);
    }
    let (asked, sync) = (run.arguments.key.normalization(), run.arguments.sync);
    let filter = &run.arguments.filter;
    let store = opening::open_or_create(&path, filter, asked, sync.unwrap_or_default(), quiet)?;
    run.normalize_like(&path, store.parameters())?;
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
    keys: KeyReader,
    arguments: Arguments,
    quiet: bool,
}

impl Run {
    /// A memory that ends with the process.
    fn fresh_set(&self) -> Result<SeenSet, Failure> {
        let choice = self.arguments.filter.choice()?;
        let seed = choice.seed.unwrap_or(0);
        Ok(SeenSet::audited(
            &choice.filter,
            choice.memory_bits,
            seed,
            AuditedFilter::default_audit_bytes(choice.memory_bits),
        )?)
    }

    /// What a store remembers, in memory that ends with the process.
    fn copy_of(&mut self, path: &Path) -> Result<SeenSet, Failure> {
        if std::fs::symlink_metadata(path).is_err() {
            return self.fresh_set();
        }
        let store = Store::open_read_only(path).map_err(Failure::store(path))?;
        self.arguments.filter.agree_with(path, store.parameters())?;
        self.normalize_like(path, store.parameters())?;
        let mut region = Memory::zeroed(store.filter_region().len()).map_err(CreateError::from)?;
        region.copy_from_slice(store.filter_region());
        let parameters = store.parameters();
        Ok(SeenSet::resume(
            store.spec(),
            parameters.memory_bits,
            parameters.seed,
            region,
            store.registers().clone(),
        )?)
    }

    fn normalize_like(&mut self, path: &Path, store: &Parameters) -> Result<(), Failure> {
        let asked = self.arguments.key.normalization();
        let normalization = opening::normalization(path, store, asked)?;
        self.keys = self.arguments.key.reader_with(normalization)?;
        Ok(())
    }

    fn manner(&self) -> Manner {
        Manner {
            keys: self.keys.clone(),
            print: match (self.arguments.annotate, self.arguments.repeated) {
                (true, _) => Print::All,
                (false, true) => Print::Repeats,
                (false, false) => Print::New,
            },
            line_end: self.arguments.key.line_end(),
            line_buffered: self.arguments.line_buffered,
            threads: self.arguments.threads,
        }
    }

    /// Reads all there is.
    fn over(&self, memory: &mut impl Remembers) -> Result<Outcome, Failure> {
        if self.inputs.is_terminal() && !self.quiet {
            eprintln!("dedupstore: reading lines from the terminal; end with Ctrl-D");
        }
        let before = memory.tally();
        let consumed = self.inputs.consumed();
        let reading = |now: Tally, without_key| Reading {
            before,
            now,
            without_key,
            consumed_bytes: consumed.load(Ordering::Relaxed),
        };
        let mut metrics = match &self.arguments.metrics {
            Some(path) => Some(Metrics::start(
                path,
                self.arguments.metrics_every,
                &reading(before, 0),
            )?),
            None => None,
        };
        let mut progress = Progress::new(&self.inputs, self.quiet);
        let manner = self.manner();
        let line_end = manner.line_end;
        let mut sieve = Sieve::new(memory, manner)?;
        let read = self.inputs.for_each_block(line_end, |block| {
            match block {
                Block::Lines(lines) => sieve.lines(lines),
                Block::Unterminated(line) => sieve.unterminated(line),
                Block::Pause => sieve.flush(),
            }?;
            progress.show(|| {
                let now = sieve.tally();
                now.new + now.seen - before.new - before.seen + sieve.without_key()
            });
            match &mut metrics {
                Some(metrics) => metrics.offer(|| reading(sieve.tally(), sieve.without_key())),
                None => Ok(()),
            }
        });
        drop(progress);
        // Also when the input failed: what was judged until then is delivered.
        let flushed = match read {
            Err(Failure::ClosedPipe) => Ok(()),
            _ => sieve.flush(),
        };
        let without_key = sieve.without_key();
        let after = memory.tally();
        if let Some(metrics) = &metrics {
            metrics.write(&reading(after, without_key))?;
        }
        let bytes = read?;
        flushed?;
        Ok(Outcome {
            before,
            after,
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
            let lacking = run.arguments.key.lacking();
            match without_key {
                1 => eprintln!("dedupstore: 1 line had no such {lacking} and was passed on as new"),
                _ => eprintln!(
                    "dedupstore: {without_key} lines had no such {lacking} and were passed on as new"
                ),
            }
        }
        if let Some(StatsFormat::Json) = run.arguments.stats {
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
            "drop_chance": self.after.drop_chance,
            "estimated_fpr": self.after.audited_fpr.map_or(self.after.drop_chance, |fpr| fpr.value),
            "estimated_fpr_interval": self.after.audited_fpr.map(|fpr| [fpr.low, fpr.high]),
            "estimated_fnr": self.after.audited_fnr.map(|fnr| fnr.value),
            "estimated_fnr_interval": self.after.audited_fnr.map(|fnr| [fnr.low, fnr.high]),
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
