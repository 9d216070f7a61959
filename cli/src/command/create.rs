//! `dedupstore create`: a store with nothing in it.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::{CreateOptions, OpenOptions};

use crate::advise::Prefer;
use crate::error::Failure;
use crate::keys::KeyArguments;
use crate::opening::{self, FilterArguments};
use crate::output::Output;
use crate::quantity;
use crate::sampling;
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

    /// Choose a filter for a stream like this log; key options say what its keys are
    #[arg(long = "for", value_name = "LOG", conflicts_with_all = ["filter", "expect"],
          help_heading = "Filter")]
    log: Option<PathBuf>,

    /// Which error is worse, where the filter is chosen for a memory; see `advise`
    /// [default: balanced]
    #[arg(long, value_name = "WHICH", conflicts_with_all = ["filter", "fpr"], help_heading = "Filter")]
    prefer: Option<Prefer>,

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
    let known = match &arguments.log {
        Some(log) => Some(sampling::read(Some(log.clone()), &arguments.key)?),
        None => None,
    };
    let distinct = arguments.expect.or(known.as_ref().map(|it| it.distinct));
    let memory_bits = arguments.filter.memory.map(|bytes| bytes.saturating_mul(8));
    let chosen = match (distinct, memory_bits, arguments.prefer) {
        (None, _, None) if arguments.fpr.is_some() => {
            return Err(Failure::Usage(
                "--fpr needs to know for how many distinct keys: give --expect N, or --for LOG"
                    .to_owned(),
            ));
        }
        (None, _, None) => return Ok((arguments.filter.choice()?, None)),
        (Some(distinct), None, None) => {
            sizing::for_share(distinct, arguments.fpr.unwrap_or(sizing::DEFAULT_FPR))?
        }
        (_, memory_bits, preference) => {
            let memory_bits = match memory_bits {
                Some(bits) => bits,
                None => arguments.filter.choice()?.memory_bits,
            };
            let preference = preference.unwrap_or_default().into();
            sizing::in_memory(memory_bits, distinct, known.as_ref(), preference)?
        }
    };
    let mut options = CreateOptions::new(chosen.filter, chosen.memory_bits);
    options.seed = arguments.filter.seed;
    Ok((options, Some(chosen.why)))
}
