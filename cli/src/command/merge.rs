//! `dedupstore merge`: two memories made one.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::{MergeError, merge};

use crate::error::Failure;
use crate::quantity;
use crate::table::{grouped, percent};

/// Make a store that has met what either of two others has
///
/// Only where that can be: a Bloom filter's two states have a union if filter, memory, seed
/// and normalization are the same. So make stores that will be merged with one --seed. The
/// two are only read.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Where the union goes; nothing may be there yet
    #[arg(value_name = "DEST")]
    destination: PathBuf,

    /// The one
    #[arg(value_name = "A")]
    first: PathBuf,

    /// The other
    #[arg(value_name = "B")]
    second: PathBuf,
}

const EXAMPLES: &str = "\
Example:
  dedupstore create east.dds --seed 7 && dedupstore create west.dds --seed 7
  dedupstore merge both.dds east.dds west.dds";

pub fn run(arguments: Arguments, quiet: bool) -> Result<(), Failure> {
    let Arguments {
        destination,
        first,
        second,
    } = arguments;
    let report = merge(&destination, &first, &second).map_err(failure)?;
    if !quiet {
        eprintln!(
            "dedupstore: made {}: {} observations, load {}, {} of new keys taken for seen, {} of disk",
            destination.display(),
            grouped(report.observations),
            percent(Some(report.load)),
            percent(Some(report.drop_chance)),
            quantity::show_bits(report.disk_bytes.saturating_mul(8)),
        );
    }
    Ok(())
}

fn failure(error: MergeError) -> Failure {
    match error {
        MergeError::Store { path, error } => Failure::Store { path, error },
        error => {
            let next = "nothing was made. What can be merged is a Bloom filter with the same \
                        filter, memory, seed and normalization: see `dedupstore inspect` of each; \
                        else feed both logs to one store";
            Failure::Usage(format!("{error}; {next}"))
        }
    }
}
