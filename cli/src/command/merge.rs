//! `dedupstore merge`: creates the union of two stores.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::merge;

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::table::{percent, plural};
use crate::value_parsers;

/// Create a store that has seen every key of two others
///
/// The two stores need the same filter, memory, seed and key options, so create them with the
/// same --seed. The filter must be one that has a union, such as `bloom`. The two stores are not
/// changed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The path of the new store; it must not exist
    #[arg(value_name = "DEST")]
    destination: PathBuf,

    /// The first store
    #[arg(value_name = "A")]
    first: PathBuf,

    /// The second store
    #[arg(value_name = "B")]
    second: PathBuf,
}

const EXAMPLES: &str = "\
Example:
  dedupstore create east.dds --filter bloom --seed 7
  dedupstore create west.dds --filter bloom --seed 7
  dedupstore merge both.dds east.dds west.dds";

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let Arguments {
        destination,
        first,
        second,
    } = arguments;
    let report = merge(&destination, &first, &second)?;
    if !global.quiet {
        eprintln!(
            "dedupstore: created {}: {}, load {}, false positive rate {}, {} of disk",
            destination.display(),
            plural(report.observations, "observation"),
            percent(Some(report.load)),
            percent(Some(report.drop_chance)),
            value_parsers::show_bits(report.disk_bytes.saturating_mul(8)),
        );
    }
    Ok(())
}
