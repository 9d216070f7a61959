//! `dedupstore checkpoint`: fold the log into an image.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::{Durability, OpenOptions, Store};

use crate::error::Failure;
use crate::table::grouped;

/// Fold a store's log into its image, so that it opens faster
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,
}

pub fn run(arguments: Arguments, quiet: bool) -> Result<(), Failure> {
    let path = &arguments.store;
    let options = OpenOptions {
        durability: Durability::None,
        ..OpenOptions::default()
    };
    let store = Store::open(path, options).map_err(Failure::store(path))?;
    let (folded, sequence) = (store.recovery().replayed, store.sequence());
    store.close().map_err(Failure::store(path))?;
    if !quiet {
        eprintln!(
            "dedupstore: {}: {} observations folded; {} in all",
            path.display(),
            grouped(folded),
            grouped(sequence)
        );
    }
    Ok(())
}
