//! `dedupstore merge`: creates the union of stores.

use std::path::PathBuf;

use clap::Args;
use dedupstore::filter::filters_that_merge;
use dedupstore::store::merge;

use crate::cleanup::CleanupOnSignal;
use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::leftovers;
use crate::local_path;
use crate::standard_error;
use crate::table::{percent, plural};
use crate::value_parsers;

/// Create a store that has seen every key of several others
///
/// The stores need the same filter, memory, seed and key options, so create them with the same
/// --seed. They are not changed.
#[derive(Debug, Args)]
#[command(after_help = examples())]
pub struct Arguments {
    /// The path of the new store; it must not exist
    #[arg(value_name = "DEST")]
    destination: PathBuf,

    /// The stores to merge, at least two
    #[arg(value_name = "STORE", num_args = 2.., required = true)]
    stores: Vec<PathBuf>,
}

fn examples() -> String {
    format!(
        "Filters that can be merged: {}\n\n\
         Example:\n  \
         dedupstore create east.dds --seed 7\n  \
         dedupstore create west.dds --seed 7\n  \
         dedupstore merge both.dds east.dds west.dds",
        filters_that_merge().join(", ")
    )
}

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let Arguments {
        destination,
        stores,
    } = arguments;
    for path in stores.iter().chain([&destination]) {
        local_path::check_store("merge", path)?;
    }
    leftovers::report(&destination, global.quiet);
    let _cleanup = CleanupOnSignal::start();
    let report = merge(&destination, &stores)?;
    if !global.quiet {
        standard_error::message(format_args!(
            "created {}: {}, load {}, false positive rate {}, {} of disk",
            destination.display(),
            plural(report.observations, "observation"),
            percent(Some(report.load)),
            percent(Some(report.drop_chance)),
            value_parsers::show_bits(report.disk_bytes.saturating_mul(8)),
        ));
    }
    Ok(())
}
