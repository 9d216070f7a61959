//! `dedupstore backup`: a copy that was read back.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::backup;

use crate::error::Failure;
use crate::quantity;
use crate::table::grouped;

/// Copy a store, beside its writer or not, and check the copy
///
/// The copy holds at least every observation that was durable when the copying began. It
/// is a store of its own.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// Where the copy goes; nothing may be there yet
    #[arg(value_name = "DEST")]
    destination: PathBuf,
}

pub fn run(arguments: Arguments, quiet: bool) -> Result<(), Failure> {
    let Arguments { store, destination } = arguments;
    let report = backup(&store, &destination).map_err(Failure::store(&store))?;
    if !quiet {
        eprintln!(
            "dedupstore: {}: {} observations, {}, read back and equal",
            destination.display(),
            grouped(report.observations),
            quantity::show_bits(report.disk_bytes.saturating_mul(8))
        );
    }
    Ok(())
}
