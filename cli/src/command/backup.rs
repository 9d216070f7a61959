//! `dedupstore backup`: copies a store and verifies the copy.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::backup;
use serde_json::json;

use crate::cleanup::CleanupOnSignal;
use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::leftovers;
use crate::local_path;
use crate::output::Output;
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

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let Arguments {
        store,
        destination,
        json,
    } = arguments;
    for path in [&store, &destination] {
        local_path::check_store("backup", path)?;
    }
    leftovers::report(&destination, global.quiet);
    let _cleanup = CleanupOnSignal::start();
    let report = backup(&store, &destination).map_err(Failure::store(&store))?;
    if json {
        let object = json!({
            "schema": 1,
            "store": store.display().to_string(),
            "destination": destination.display().to_string(),
            "observations": report.observations,
            "digest": format!("{:016x}", report.digest),
            "disk_bytes": report.disk_bytes,
        });
        let mut output = Output::standard()?;
        output.text(&format!("{object}\n"))?;
        return output.flush();
    }
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
