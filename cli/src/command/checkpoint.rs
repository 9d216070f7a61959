//! `dedupstore checkpoint`: writes the state to an image.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::{Durability, OpenOptions};

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::local_path;
use crate::standard_error;
use crate::table::{grouped, plural};
use crate::wait::Wait;

/// Apply a store's log to its image, so that the store opens faster
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    #[command(flatten)]
    wait: Wait,
}

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let path = &arguments.store;
    local_path::check_store("checkpoint", path)?;
    let options = OpenOptions::new().durability(Durability::None);
    let open = || options.open(path);
    let store = arguments.wait.until_free(path, global.quiet, open)?;
    let (replayed, sequence) = (store.recovery().replayed, store.sequence());
    store.close().map_err(Failure::store(path))?;
    if !global.quiet {
        standard_error::message(format_args!(
            "{}: {} applied from the log; {} in total",
            path.display(),
            plural(replayed, "observation"),
            grouped(sequence)
        ));
    }
    Ok(())
}
