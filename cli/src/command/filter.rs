//! `dedupstore filter`: prints each line whose key is new.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use dedupstore::store::{CreateOptions, Durability, StoreError};
use dedupstore::{ByteSize, DEFAULT_MEMORY, SeenSet};
use dedupstore_view::CreateCommand;

use crate::cli::GlobalArguments;
use crate::cluster_arguments::{self, AcknowledgementArguments};
use crate::default_filter;
use crate::error::Failure;
use crate::filter_arguments::FilterArguments;
use crate::filter_choice::WindowQuestion;
use crate::filter_run::FilterRun;
use crate::given_filter::{check_importance_is_used, check_times_are_used};
use crate::input::{InputArguments, Inputs};
use crate::key_arguments::KeyArguments;
use crate::lookup_backend::LookupBackend;
use crate::machine_clock::TimeSource;
use crate::memory_backend::MemoryBackend;
use crate::metrics;
use crate::open_store::{self, Opening};
use crate::remote_address::{RemoteAddress, address_of};
use crate::remote_backend::RemoteBackend;
use crate::remote_store::RemoteStore;
use crate::store_backend::StoreBackend;
use crate::value_parsers;
use crate::wait::Wait;
use crate::warc::WarcKey;

/// More threads would mostly wait: one of them decides about all keys.
const MOST_CHOSEN_THREADS: usize = 8;

/// Print each line whose key is new, in input order, bytes unchanged
#[derive(Debug, Args)]
#[command(long_about = long_about(), after_help = EXAMPLES)]
pub struct Arguments {
    /// A store, whose name ends in .dds, or the address of one on a server or on Redis, as in
    /// redis://127.0.0.1:6379/links; then files to read; `-` is standard input [default: standard
    /// input]
    #[arg(value_name = "STORE|FILE")]
    paths: Vec<PathBuf>,

    /// Print the repeated lines instead
    #[arg(short = 'd', long)]
    pub repeated: bool,

    /// Print every line, prefixed with `new` or `seen` and a tab
    #[arg(long, conflicts_with = "repeated")]
    pub annotate: bool,

    #[command(flatten)]
    pub key: KeyArguments,

    /// Read WARC records instead of lines, and pass them on whole. The key is the target URI, or
    /// the digest of the payload. Records of one page that follow each other, such as a request and
    /// its response, share a verdict; one without a key is passed on
    #[arg(long, value_name = "uri|digest", hide_possible_values = true, help_heading = "Key",
          conflicts_with_all = ["key", "null", "crlf", "annotate", "separated", "time_json_key",
                                "importance_json_key", "metrics", "line_buffered"])]
    pub warc: Option<WarcKey>,

    #[command(flatten)]
    filter: FilterArguments,

    #[command(flatten)]
    input: InputArguments,

    /// Stop with exit code 3 before the false positive rate exceeds P, like 0.01 or 1%: no line
    /// of the batch that would exceed it is printed or recorded. A store that this run creates
    /// records the limit for later runs. Overrides, for this run, the limit of an existing store;
    /// 1 lifts it
    #[arg(long, value_name = "P", value_parser = value_parsers::limit)]
    pub max_fpr: Option<f64>,

    /// Record nothing; print what a run would print now
    #[arg(long, conflicts_with = "sync")]
    pub dry_run: bool,

    /// Fail if there is no store, instead of creating one
    #[arg(long)]
    no_create: bool,

    #[command(flatten)]
    wait: Wait,

    /// Flush the output after every line
    #[arg(long)]
    pub line_buffered: bool,

    /// Number of threads: one decides about keys and prints, all read, decompress, extract,
    /// normalize and hash. The output does not depend on it. 0 chooses: as many as there are
    /// processors, at most 8
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parsers::threads)]
    threads: usize,

    /// When recorded keys are safe from a power loss: after every batch (every), at this
    /// interval, or whenever the system writes them (none). A crash of the process alone loses
    /// nothing [default: 1s]
    #[arg(long, value_name = "every|TIME|none", value_parser = value_parsers::durability)]
    sync: Option<Durability>,

    /// A local store in front of one on Redis: it answers repeats without a message. Created if it
    /// does not exist, with --memory or 64MiB
    #[arg(long, value_name = "STORE", help_heading = "Redis")]
    leaf: Option<PathBuf>,

    #[command(flatten)]
    acknowledgement: AcknowledgementArguments,

    /// Print statistics as one JSON object on standard error at the end
    #[arg(long, value_name = "FORMAT")]
    pub stats: Option<StatsFormat>,

    /// Write Prometheus metrics to FILE, replaced atomically
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,

    /// How often to write the metrics
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "metrics",
          value_parser = value_parsers::time)]
    pub metrics_every: Duration,
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
         With --window, a key is forgotten when its span has passed since it was last new, by the \
         clock of the machine or by the times of the lines (--time-field, --time-json-key). A late \
         line, whose time is in an earlier step, a line without a readable time, and a line whose \
         time is too far ahead count at the present step. A line with a time and without a key does \
         not move the clock.\n\n\
         With a store, keys are remembered across runs. A store that does not exist is created; \
         an existing one keeps its filter, memory, seed, key and time options, so later runs need none. \
         A line is written before its key is recorded: after a crash it may be printed again, \
         but it is never lost. That also holds for a store on a server. SIGINT and SIGTERM close the store first; SIGHUP takes a \
         checkpoint, and the run goes on.",
        default_filter::description()
    )
}

const EXAMPLES: &str = "\
Examples:
  dedupstore filter links.txt > new.txt
  dedupstore filter links.dds today.txt >> new.txt   only lines that no earlier run has seen
  dedupstore filter --field 7 --stats json access.log.*.gz
  dedupstore filter links.dds --json-key request.url --normalize crawl crawl.jsonl.zst
  dedupstore filter pages.dds --window 7d --field 7 --time-field 4 access.log
  dedupstore filter pages.dds --warc uri crawl-*.warc.gz > new.warc
  find . -type f -print0 | dedupstore filter -z
  dedupstore filter redis://127.0.0.1:6379/links links.txt   a store that `serve` has open
  dedupstore filter redis://127.0.0.1:7000/links --leaf local.dds   a store on Redis Cluster
  dedupstore filter -d links.txt | sort | uniq -c    count the repeats of each line";

/// What to say about options that a store elsewhere does not know.
struct OtherOptions {
    is_serve: bool,
    hint: &'static str,
}

const ON_A_SERVER: OtherOptions = OtherOptions {
    is_serve: true,
    hint: "is not for a store on a server; give it to `dedupstore serve`, or to BF.RESERVE",
};

const ON_REDIS: OtherOptions = OtherOptions {
    is_serve: false,
    hint: "is not for a store on Redis; `dedupstore create --help` shows what is recorded there",
};

/// The form of the statistics.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StatsFormat {
    Json,
}

pub fn run(mut arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let (store, files) = split_store(std::mem::take(&mut arguments.paths))?;
    let key = arguments.key.options();
    let inputs = Inputs::check(files)?.reading(&arguments.input);
    // Before a store is created.
    if let Some(path) = &arguments.metrics {
        metrics::check(path, store.as_deref())?;
    }
    let run = FilterRun::new(inputs, &arguments, store.as_deref(), global.quiet);
    let address = store.as_deref().and_then(address_of).transpose()?;
    let (outcome, rule) = match store {
        Some(_) if let Some(RemoteAddress::Serve(address)) = address.clone() => {
            arguments.check_remote(&ON_A_SERVER)?;
            let create = !arguments.no_create && !arguments.dry_run;
            let store = RemoteStore::open(address, create)?;
            let mut backend = RemoteBackend::new(store, arguments.dry_run);
            let rule = backend.rule(&key)?;
            (run.filter(&mut backend, &rule, None)?, rule)
        }
        Some(_) if let Some(RemoteAddress::Cluster(address, access)) = address.clone() => {
            arguments.check_remote(&ON_REDIS)?;
            let opening = cluster_arguments::Opening {
                filter: &arguments.filter,
                key: &arguments.key,
                leaf: arguments.leaf.as_deref(),
                acknowledgement: arguments.acknowledgement,
                create: !arguments.no_create && !arguments.dry_run,
                dry_run: arguments.dry_run,
                quiet: global.quiet,
            };
            let mut backend = opening.open(address, *access)?;
            let rule = backend.rule(&key)?;
            let outcome = run.filter(&mut backend, &rule, None);
            let closed = backend.close();
            let outcome = outcome?;
            closed?;
            (outcome, rule)
        }
        _ if let Some(option) = arguments.redis_option() => {
            return Err(Failure::Usage(format!(
                "{option} needs a store on Redis; name its address before the files, for example \
                 redis://127.0.0.1:7000/links"
            )));
        }
        None if let Some(option) = arguments.store_option() => {
            return Err(Failure::Usage(format!(
                "{option} needs a store; name one before the files, for example links.dds"
            )));
        }
        None => {
            let rule = key.rule()?;
            let time = TimeSource::of(&rule);
            let mut backend = MemoryBackend::new(new_set(&arguments)?, time);
            (run.filter(&mut backend, &rule, None)?, rule)
        }
        Some(path) if arguments.dry_run => match look_at(&path, &arguments)? {
            Some(mut store) => {
                let rule = store.parameters().key_rule(&key);
                let rule = rule.map_err(Failure::store(&path))?;
                store.follow(TimeSource::of(&rule));
                let like_it = store.like_it();
                (run.filter(&mut store, &rule, Some(&like_it))?, rule)
            }
            None => {
                let rule = key.rule()?;
                let time = TimeSource::of(&rule);
                let mut backend = MemoryBackend::new(new_set(&arguments)?, time);
                (run.filter(&mut backend, &rule, None)?, rule)
            }
        },
        Some(path) => {
            let exists = std::fs::symlink_metadata(&path).is_ok();
            let options = match exists || arguments.no_create {
                true => arguments.filter.options()?,
                false => new_options(&arguments)?,
            };
            let opening = Opening {
                options: &options.key(key.clone()),
                // A limit of 1 lifts any other; it is not one to remember.
                max_fpr: arguments.max_fpr.filter(|&rate| rate < 1.0),
                durability: arguments.sync.unwrap_or_default(),
                create: !arguments.no_create,
                wait: arguments.wait,
            };
            let store = open_store::open_or_create(&path, &opening, global.quiet);
            let store = store.map_err(|failure| arguments.with_options(failure))?;
            let rule = store.parameters().key_rule(&key);
            let rule = rule.map_err(Failure::store(&path))?;
            let like_it = CreateCommand::like(store.parameters(), store.max_fpr());
            let mut backend = StoreBackend::new(store, TimeSource::of(&rule));
            let outcome = run.filter(&mut backend, &rule, Some(&like_it));
            // Also if the output failed: the store keeps what was delivered before that.
            let closed = backend.close();
            match outcome {
                // The reader may have ended because of what it got; a store that fails to close
                // is worth a message even so.
                Err(Failure::ClosedPipe | Failure::Signal(_)) if closed.is_err() => {
                    return closed;
                }
                outcome => {
                    let outcome = outcome?;
                    closed?;
                    (outcome, rule)
                }
            }
        }
    };
    run.report(outcome, &rule)
}

impl Arguments {
    /// Returns the number of threads, chosen if none is given.
    pub fn threads(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, NonZero::get);
        match self.threads {
            0 => processors().min(MOST_CHOSEN_THREADS),
            given => given,
        }
    }

    /// Adds the given options to the command that creates a missing store; returns other failures
    /// unchanged.
    fn with_options(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Store {
                error: StoreError::NotFound { path },
                ..
            } => {
                let filter = self.filter.filter.as_ref();
                let command = CreateCommand {
                    window: self.filter.window,
                    filter: filter.map(|given| given.spec.clone()),
                    memory: self
                        .filter
                        .memory
                        .map(|it| ByteSize::from_bytes(it).to_string()),
                    seed: self.filter.seed.map(|seed| seed.to_string()),
                    key: self.key.rule().unwrap_or_default(),
                    max_fpr: self.max_fpr.filter(|&rate| rate < 1.0),
                    ..CreateCommand::new(path.display())
                };
                Failure::Usage(format!(
                    "there is no store at {}; to create one: {command}",
                    path.display()
                ))
            }
            failure => failure,
        }
    }

    /// Checks that no option is given that a server or Redis does not know.
    fn check_remote(&self, others: &OtherOptions) -> Result<(), Failure> {
        let given = [
            (self.sync.is_some(), "--sync"),
            (self.wait.is_given(), "--wait"),
            (self.max_fpr.is_some(), "--max-fpr"),
            (self.filter.window.is_some() && others.is_serve, "--window"),
            (self.filter.memory.is_some() && others.is_serve, "--memory"),
            (self.filter.filter.is_some() && others.is_serve, "--filter"),
            (self.filter.seed.is_some() && others.is_serve, "--seed"),
        ];
        let given = given
            .into_iter()
            .find_map(|(is_given, name)| is_given.then_some(name));
        match (given, self.redis_option().filter(|_| others.is_serve)) {
            (Some(option), _) => Err(Failure::Usage(format!("{option} {}", others.hint))),
            (None, Some(option)) => Err(Failure::Usage(format!(
                "{option} is for a store on Redis; this one is on a server of `dedupstore serve`"
            ))),
            (None, None) => Ok(()),
        }
    }

    /// Returns an option that was given and is only for a store on Redis.
    fn redis_option(&self) -> Option<&'static str> {
        match (&self.leaf, self.acknowledgement.is_given()) {
            (Some(_), _) => Some("--leaf"),
            (None, true) => Some("--replicas or --on-disk"),
            (None, false) => None,
        }
    }

    /// Returns an option that was given and has no meaning without a store.
    fn store_option(&self) -> Option<&'static str> {
        let given = [
            (self.sync.is_some(), "--sync"),
            (self.no_create, "--no-create"),
            (self.wait.is_given(), "--wait"),
        ];
        given
            .into_iter()
            .find_map(|(is_given, name)| is_given.then_some(name))
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

/// Returns the options of a new store or set: with a window, the filter is chosen.
fn new_options(arguments: &Arguments) -> Result<CreateOptions, Failure> {
    let mut options = arguments.filter.options()?;
    if let (Some(seconds), None) = (arguments.filter.window, options.spec()) {
        let memory = arguments.filter.memory.map(|bytes| bytes.saturating_mul(8));
        let memory_bits = memory.unwrap_or(DEFAULT_MEMORY.bits());
        let chosen = WindowQuestion::of(seconds).choose(memory_bits)?;
        options = options.filter(chosen.filter);
    }
    let spec = options.spec().cloned().unwrap_or_default();
    let key = arguments.key.options();
    check_times_are_used(&spec, key.time.is_some())?;
    check_importance_is_used(&spec, key.importance.is_some())?;
    Ok(options)
}

/// Creates an empty set in memory.
fn new_set(arguments: &Arguments) -> Result<SeenSet, Failure> {
    Ok(new_options(arguments)?.in_memory()?)
}

/// Opens a store that is only read; None if there is none and it would be created.
fn look_at(path: &Path, arguments: &Arguments) -> Result<Option<LookupBackend>, Failure> {
    if std::fs::symlink_metadata(path).is_err() && !arguments.no_create {
        return Ok(None);
    }
    let store = LookupBackend::open(path).map_err(|failure| arguments.with_options(failure))?;
    store
        .check_agreement(&arguments.filter.options()?.key(arguments.key.options()))
        .map_err(Failure::agreement(path, &store.like_it()))?;
    Ok(Some(store))
}
