//! `dedupstore backup`: copies a store and verifies the copy.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::backup;

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::standard_error;
use crate::table::plural;
use crate::value_parsers;

/// Copy a store, even while it is in use, and verify the copy
///
/// The copy holds at least every observation that was durable when the backup started. It is
/// a store like any other.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store to copy
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// The path of the copy; it must not exist
    #[arg(value_name = "DEST")]
    destination: PathBuf,
}

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let Arguments { store, destination } = arguments;
    let report = backup(&store, &destination).map_err(Failure::store(&store))?;
    if !global.quiet {
        standard_error::message(format_args!(
            "created {}: {}, {}; the copy was verified",
            destination.display(),
            plural(report.observations, "observation"),
            value_parsers::show_bits(report.disk_bytes.saturating_mul(8))
        ));
    }
    Ok(())
}
