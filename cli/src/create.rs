//! `dedupstore create`: a store with nothing in it.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::OpenOptions;

use crate::error::Failure;
use crate::opening::{self, FilterArguments};
use crate::output::Output;
use crate::quantity;

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

    /// The size of each of its two logs, which are folded into the image when they are full
    /// [default: as large as the memory, from 1MiB to 2GiB]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    log_size: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  dedupstore create links.dds --memory 256MiB
  dedupstore create links.dds --memory 1GiB --filter stable:k=2,p=4,max=1";

pub fn run(arguments: Arguments, quiet: bool) -> Result<(), Failure> {
    let mut options = arguments.filter.choice()?;
    options.log_bytes = arguments.log_size;
    let (store, made) = opening::create(&arguments.store, &options, OpenOptions::default())?;
    store.close().map_err(Failure::store(&arguments.store))?;
    if quiet {
        return Ok(());
    }
    let mut output = Output::standard()?;
    output.text(&format!("{made}\n"))?;
    output.flush()
}
