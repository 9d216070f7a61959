//! `dedupstore filter`: prints each line whose key is new.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use dedupstore::lines::{KeyReader, Normalization};
use dedupstore::store::{CreateOptions, Durability, ReadOnlyStore};
use dedupstore::{CreateError, Memory, SeenSet, SeenSetBuilder};
use dedupstore_view::{LimitReached, drop_chance_warning};
use serde_json::json;

use crate::cli::GlobalArguments;
use crate::default_filter;
use crate::drop_guard::{DropChance, FprLimit};
use crate::error::Failure;
use crate::filter_arguments::FilterArguments;
use crate::input::{Block, InputArguments, Inputs};
use crate::key_arguments::KeyArguments;
use crate::line_filter::{FilterSettings, LineFilter, Print, SeenKeys, Status};
use crate::metrics::{Metrics, Reading};
use crate::open_store;
use crate::progress::Progress;
use crate::store_backend::StoreBackend;
use crate::value_parsers;

/// Print each line whose key is new, in input order, bytes unchanged
#[derive(Debug, Args)]
#[command(long_about = long_about(), after_help = EXAMPLES)]
pub struct Arguments {
    /// A store, whose name ends in .dds, then files to read; `-` is standard input [default:
    /// standard input]
    #[arg(value_name = "STORE|FILE")]
    paths: Vec<PathBuf>,

    /// Print the repeated lines instead
    #[arg(short = 'd', long)]
    repeated: bool,

    /// Print every line, prefixed with `new` or `seen` and a tab
    #[arg(long, conflicts_with = "repeated")]
    annotate: bool,

    #[command(flatten)]
    key: KeyArguments,

    #[command(flatten)]
    filter: FilterArguments,

    #[command(flatten)]
    input: InputArguments,

    /// Stop with exit code 3 before the false positive rate exceeds P, like 0.01 or 1%: no line
    /// of the batch that would exceed it is printed or recorded. Overrides, for this run, the
    /// limit with which a store was created; 1 lifts it
    #[arg(long, value_name = "P", value_parser = value_parsers::limit)]
    max_fpr: Option<f64>,

    /// Record nothing; print what a run would print now
    #[arg(long, conflicts_with = "sync")]
    dry_run: bool,

    /// Flush the output after every line
    #[arg(long)]
    line_buffered: bool,

    /// Number of threads that decompress the input and extract, normalize and hash keys. The
    /// output does not depend on it. Helps with --normalize, --key-regex and --json-key; gains
    /// nothing if whole lines are the keys
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parsers::threads)]
    threads: usize,

    /// When recorded keys are safe from a power loss: after every batch (every), at this
    /// interval, or whenever the system writes them (none). A crash of the process alone loses
    /// nothing [default: 1s]
    #[arg(long, value_name = "every|TIME|none", value_parser = value_parsers::durability)]
    sync: Option<Durability>,

    /// Print statistics as one JSON object on standard error at the end
    #[arg(long, value_name = "FORMAT")]
    stats: Option<StatsFormat>,

    /// Write Prometheus metrics to FILE, replaced atomically
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,

    /// How often to write the metrics
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "metrics",
          value_parser = value_parsers::time)]
    metrics_every: Duration,
}

fn long_about() -> String {
    format!(
        "Print each line whose key is new, in input order, bytes unchanged\n\n\
         A filter remembers keys in a fixed amount of memory and is sometimes wrong: it can drop \
         a new line (false positive) or let a repeat through (false negative). {} A line without a key, such as \
         one with too few fields for --field, is printed as a new line and not recorded.\n\n\
         The fuller a filter is, the more new lines it drops. A warning on standard error says when \
         1 %, 10 % and 100 % of the new keys are dropped; --quiet suppresses it, and --max-fpr stops \
         the run instead.\n\n\
         With a store, keys are remembered across runs. A store that does not exist is created; \
         an existing one keeps its filter, memory, seed and normalization. \
         A line is written before its key is recorded: after a crash it may be printed again, \
         but it is never lost.",
        default_filter::description()
    )
}

const EXAMPLES: &str = "\
Examples:
  dedupstore filter links.txt > new.txt
  dedupstore filter links.dds today.txt >> new.txt   only lines that no earlier run has seen
  dedupstore filter --field 7 --stats json access.log.*.gz
  dedupstore filter links.dds --json-key request.url --normalize whatwg crawl.jsonl.zst
  find . -type f -print0 | dedupstore filter -z
  dedupstore filter -d links.txt | sort | uniq -c    count the repeats of each line";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StatsFormat {
    Json,
}

pub fn run(mut arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let (store, files) = split_store(std::mem::take(&mut arguments.paths))?;
    let selector = arguments.key.selector()?;
    let inputs = Inputs::check(files)?.reading(&arguments.input, arguments.threads > 1);
    let run = Run {
        started: Instant::now(),
        inputs,
        arguments,
        store: store.as_ref().map(|path| path.display().to_string()),
        quiet: global.quiet,
    };
    let requested = run.arguments.key.normalization();
    match store {
        None if run.arguments.sync.is_some() => Err(Failure::Usage(
            "--sync needs a store; name one before the files, for example links.dds".to_owned(),
        )),
        None => {
            let keys = KeyReader::new(selector, requested.unwrap_or_default());
            let mut set = run.new_set()?;
            run.filter(&mut set, keys, None)?.report(&run)
        }
        Some(path) if run.arguments.dry_run => {
            let Copied {
                mut set,
                normalization,
                max_fpr,
            } = run.copy_of(&path)?;
            let keys = KeyReader::new(selector, normalization);
            run.filter(&mut set, keys, max_fpr)?.report(&run)
        }
        Some(path) => {
            let durability = run.arguments.sync.unwrap_or_default();
            let options = run.store_options();
            let store = open_store::open_or_create(&path, &options, durability, run.quiet)?;
            let normalization = open_store::normalization(&path, store.parameters())?;
            let keys = KeyReader::new(selector, normalization);
            let max_fpr = store.max_fpr();
            let mut backend = StoreBackend::new(store);
            let outcome = run.filter(&mut backend, keys, max_fpr);
            // Also if the input failed: the store keeps what was delivered before that.
            let closed = backend.close();
            let outcome = outcome?;
            closed?;
            outcome.report(&run)
        }
    }
}

/// Splits the paths into the store, if the first one is a store, and the input files.
fn split_store(mut paths: Vec<PathBuf>) -> Result<(Option<PathBuf>, Vec<PathBuf>), Failure> {
    let store = match paths.first() {
        Some(first) if open_store::is_store(first) => Some(paths.remove(0)),
        _ => None,
    };
    let is_second_store = |path: &&PathBuf| path.is_dir() && open_store::is_store(path);
    match paths.iter().find(is_second_store) {
        Some(second) => Err(Failure::Usage(format!(
            "{0} is a store; name at most one store, before the files: dedupstore filter {0} FILE",
            second.display()
        ))),
        None => Ok((store, paths)),
    }
}

/// A run of the command, whatever remembers the keys.
struct Run {
    started: Instant,
    inputs: Inputs,
    arguments: Arguments,
    /// The store's path, for messages.
    store: Option<String>,
    quiet: bool,
}

/// A copy of a store in memory.
struct Copied {
    set: SeenSet,
    /// How its keys are normalized.
    normalization: Normalization,
    /// The limit with which it was created.
    max_fpr: Option<f64>,
}

impl Run {
    /// Returns the options of a new store, which an existing one must agree with.
    fn store_options(&self) -> CreateOptions {
        let options = self.arguments.filter.options();
        match self.arguments.key.normalization() {
            Some(normalization) => options.normalization(normalization.recorded()),
            None => options,
        }
    }

    /// Creates an empty set in memory.
    fn new_set(&self) -> Result<SeenSet, Failure> {
        Ok(self.arguments.filter.options().in_memory()?)
    }

    /// Copies a store's filter into memory. The set is empty if there is no store.
    fn copy_of(&self, path: &Path) -> Result<Copied, Failure> {
        let requested = self.arguments.key.normalization();
        if std::fs::symlink_metadata(path).is_err() {
            return Ok(Copied {
                set: self.new_set()?,
                normalization: requested.unwrap_or_default(),
                max_fpr: None,
            });
        }
        let store = ReadOnlyStore::open(path).map_err(Failure::store(path))?;
        store
            .check_agreement(&self.store_options())
            .map_err(Failure::store(path))?;
        let parameters = store.parameters();
        let normalization = open_store::normalization(path, parameters)?;
        let mut region = Memory::zeroed(store.filter_region().len()).map_err(CreateError::from)?;
        region.copy_from_slice(store.filter_region());
        let set = SeenSetBuilder::new(store.spec())
            .memory_bits(parameters.memory_bits)
            .seed(parameters.seed)
            .resume(region, store.registers().clone())?;
        Ok(Copied {
            set,
            normalization,
            max_fpr: store.max_fpr(),
        })
    }

    fn settings(&self, keys: KeyReader, limit: Option<FprLimit>) -> FilterSettings {
        FilterSettings {
            keys,
            print: match (self.arguments.annotate, self.arguments.repeated) {
                (true, _) => Print::All,
                (false, true) => Print::Repeats,
                (false, false) => Print::New,
            },
            line_end: self.arguments.key.line_end(),
            line_buffered: self.arguments.line_buffered,
            threads: self.arguments.threads,
            limit,
        }
    }

    /// Returns the limit of the false positive rate: that of the run, or else the store's.
    fn limit(&self, of_store: Option<f64>) -> Option<FprLimit> {
        let rate = self.arguments.max_fpr.or(of_store)?;
        Some(FprLimit {
            rate,
            is_of_store: self.arguments.max_fpr.is_none(),
        })
    }

    /// Completes the message about a limit.
    fn named(&self, limit: LimitReached) -> LimitReached {
        LimitReached {
            store: self.store.clone(),
            recorded: self.store.is_some() && !self.arguments.dry_run,
            ..limit
        }
    }

    /// Returns the warning that is due, if any.
    fn warning(&self, line_filter: &mut LineFilter<'_, impl SeenKeys>) -> Option<String> {
        let DropChance { rate, lines } = line_filter.guard().take_warning()?;
        let has_limit = line_filter.guard().has_limit();
        let warning = drop_chance_warning(self.store.as_deref(), rate, lines, has_limit);
        (!self.quiet).then(|| format!("dedupstore: {warning}"))
    }

    /// Reads all inputs and prints the lines asked for. `of_store` is the limit with which the
    /// store was created.
    fn filter(
        &self,
        seen: &mut impl SeenKeys,
        keys: KeyReader,
        of_store: Option<f64>,
    ) -> Result<Outcome, Failure> {
        if self.inputs.is_terminal() && !self.quiet {
            eprintln!("dedupstore: reading lines from the terminal; end with Ctrl-D");
        }
        let before = seen.status();
        let consumed = self.inputs.consumed();
        let reading = |now: Status, without_key| Reading {
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
        let settings = self.settings(keys, self.limit(of_store));
        let line_end = settings.line_end;
        let mut line_filter = match LineFilter::new(seen, settings) {
            Err(Failure::Limit(limit)) => return Err(Failure::Limit(self.named(limit))),
            created => created?,
        };
        let mut progress = Progress::new(&self.inputs, self.quiet);
        if let Some(warning) = self.warning(&mut line_filter) {
            progress.message(&warning);
        }
        let read = self.inputs.for_each_block(line_end, |block| {
            match block {
                Block::Lines(lines) => line_filter.lines(lines),
                Block::Unterminated(line) => line_filter.unterminated(line),
                Block::Pause => line_filter.flush(),
            }?;
            if let Some(warning) = self.warning(&mut line_filter) {
                progress.message(&warning);
            }
            progress.show(|| line_filter.line_count());
            match &mut metrics {
                Some(metrics) => metrics
                    .write_if_due(|| reading(line_filter.status(), line_filter.without_key())),
                None => Ok(()),
            }
        });
        drop(progress);
        // Also if the input failed: lines whose verdict is known are delivered.
        let flushed = match read {
            Err(Failure::ClosedPipe) => Ok(()),
            _ => line_filter.flush(),
        };
        let (bytes, stopped) = match read {
            Err(Failure::Limit(limit)) => (
                Ok(consumed.load(Ordering::Relaxed)),
                Some(self.named(limit)),
            ),
            read => (read, None),
        };
        let after = match stopped {
            Some(_) => line_filter.accepted_status(before),
            None => line_filter.status(),
        };
        let lines = line_filter.line_count();
        line_filter.guard().note(after.drop_chance, lines);
        if let Some(warning) = self.warning(&mut line_filter) {
            eprintln!("{warning}");
        }
        let without_key = line_filter.without_key();
        if let Some(metrics) = &metrics {
            metrics.write(&reading(after, without_key))?;
        }
        let bytes = bytes?;
        flushed?;
        Ok(Outcome {
            before,
            after,
            bytes,
            without_key,
            stopped,
        })
    }
}

/// The counts of a finished run.
struct Outcome {
    before: Status,
    after: Status,
    bytes: u64,
    without_key: u64,
    /// The limit at which the run stopped.
    stopped: Option<LimitReached>,
}

impl Outcome {
    fn new_count(&self) -> u64 {
        self.after.new - self.before.new
    }

    fn seen_count(&self) -> u64 {
        self.after.seen - self.before.seen
    }

    fn lines(&self) -> u64 {
        self.new_count() + self.seen_count() + self.without_key
    }

    fn report(&self, run: &Run) -> Result<(), Failure> {
        let missing = run.arguments.key.missing_keys(
            self.without_key,
            self.lines(),
            "treated as new, but not recorded",
        );
        if let Some(missing) = missing
            && !run.quiet
        {
            eprintln!("dedupstore: {missing}");
        }
        if let Some(StatsFormat::Json) = run.arguments.stats {
            eprintln!("{}", self.statistics(run.started));
        }
        match &self.stopped {
            Some(limit) => Err(Failure::Limit(limit.clone())),
            None => Ok(()),
        }
    }

    /// Counts are of this run; load and error rates depend on all runs.
    fn statistics(&self, started: Instant) -> serde_json::Value {
        let lines = self.lines();
        let seconds = started.elapsed().as_secs_f64();
        json!({
            "schema": 1,
            "lines": lines,
            "new": self.new_count(),
            "seen": self.seen_count(),
            "without_key": self.without_key,
            "bytes": self.bytes,
            "seconds": seconds,
            "lines_per_second": lines as f64 / seconds.max(1e-9),
            "load": self.after.load,
            "drop_chance": self.after.drop_chance,
            "stopped_at_limit": self.stopped.is_some(),
            "estimated_fpr": self.after.audited_fpr.map_or(self.after.drop_chance, |fpr| fpr.value),
            "estimated_fpr_interval": self.after.audited_fpr.map(|fpr| [fpr.low, fpr.high]),
            "estimated_fnr": self.after.audited_fnr.map(|fnr| fnr.value),
            "estimated_fnr_interval": self.after.audited_fnr.map(|fnr| [fnr.low, fnr.high]),
        })
    }
}
