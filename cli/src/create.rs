//! `dedupstore create`: a store with nothing in it.

use std::path::{Path, PathBuf};

use clap::Args;
use dedupstore::lab::Truth;
use dedupstore::store::{CreateOptions, OpenOptions};
use dedupstore::{KeyHasher, lines::KeyReader};

use crate::error::Failure;
use crate::input::{Block, Inputs};
use crate::keys::KeyArguments;
use crate::opening::{self, FilterArguments};
use crate::output::Output;
use crate::quantity;
use crate::sizing;

/// Make a store: a memory that survives crashes and restarts
///
/// A store is a directory. All the disk that it will ever need is taken now, so a full disk
/// can fail this command, and none after it. `filter` makes a store by itself where it finds
/// none; this is for those who want to choose first.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Where; there must be nothing yet. `filter` knows a store by the ending .dds
    #[arg(value_name = "STORE")]
    store: PathBuf,

    #[command(flatten)]
    filter: FilterArguments,

    /// Choose a filter for this many distinct keys
    #[arg(long, value_name = "N", value_parser = quantity::count, conflicts_with = "filter",
          help_heading = "Filter")]
    expect: Option<u64>,

    /// The share of new keys that may be dropped then [default: 0.001]
    #[arg(long, value_name = "P", value_parser = quantity::share, conflicts_with_all = ["filter", "memory"],
          help_heading = "Filter")]
    fpr: Option<f64>,

    /// Choose a filter for as many distinct keys as this log has; key options say which they are
    #[arg(long = "for", value_name = "LOG", conflicts_with_all = ["filter", "expect"],
          help_heading = "Filter")]
    log: Option<PathBuf>,

    #[command(flatten)]
    key: KeyArguments,

    /// The size of each of its two logs, which are folded into the image when they are full
    /// [default: as large as the memory, from 1MiB to 2GiB]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    log_size: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  dedupstore create links.dds --memory 256MiB
  dedupstore create links.dds --expect 100M --fpr 0.001
  dedupstore create links.dds --for last-month.txt.gz --normalize whatwg
  dedupstore create links.dds --memory 1GiB --filter stable:k=2,p=4,max=1";

pub fn run(arguments: Arguments, quiet: bool) -> Result<(), Failure> {
    let (mut options, why) = choice(&arguments)?;
    options.log_bytes = arguments.log_size;
    options.normalization = arguments
        .key
        .normalization()
        .unwrap_or_default()
        .recorded()
        .to_owned();
    let (store, made) = opening::create(&arguments.store, &options, OpenOptions::default())?;
    store.close().map_err(Failure::store(&arguments.store))?;
    if quiet {
        return Ok(());
    }
    let mut output = Output::standard()?;
    output.text(&format!("{made}\n"))?;
    if let Some(why) = why {
        output.text(&format!("{why}\n"))?;
    }
    output.flush()
}

/// What to make, and, where it was not said, why.
fn choice(arguments: &Arguments) -> Result<(CreateOptions, Option<String>), Failure> {
    let distinct = match (&arguments.expect, &arguments.log) {
        (Some(expected), _) => Some(*expected),
        (None, Some(log)) => Some(distinct(log, arguments.key.reader()?, &arguments.key)?),
        (None, None) => None,
    };
    let Some(distinct) = distinct else {
        return match arguments.fpr {
            None => Ok((arguments.filter.choice()?, None)),
            Some(_) => Err(Failure::Usage(
                "--fpr needs to know for how many distinct keys: give --expect N, or --for LOG"
                    .to_owned(),
            )),
        };
    };
    let fpr = arguments.fpr.unwrap_or(sizing::DEFAULT_FPR);
    let memory_bits = arguments.filter.memory.map(|bytes| bytes.saturating_mul(8));
    let chosen = sizing::choose(distinct, fpr, memory_bits)?;
    let mut options = CreateOptions::new(chosen.filter, chosen.memory_bits);
    options.seed = arguments.filter.seed;
    Ok((options, Some(chosen.why)))
}

/// How many distinct keys a log has, exactly.
fn distinct(log: &Path, mut keys: KeyReader, arguments: &KeyArguments) -> Result<u64, Failure> {
    let inputs = Inputs::check(vec![log.to_owned()])?;
    let hasher = KeyHasher::new(0);
    let mut truth = Truth::for_fingerprints();
    let mut meet = |line: &[u8]| {
        if let Some(key) = keys.key(line) {
            truth.is_first(hasher.fingerprint(key).0);
        }
    };
    inputs.for_each_block(arguments.line_end(), |block| {
        match block {
            Block::Lines(lines) => lines.for_each(|line| meet(line.content)),
            Block::Unterminated(line) => meet(line.content),
            Block::Pause => {}
        }
        Ok(())
    })?;
    Ok(truth.distinct())
}
