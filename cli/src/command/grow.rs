//! `dedupstore grow`: raises the limit of a store whose filter grows.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::grow;

use crate::cleanup::CleanupOnSignal;
use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::leftovers;
use crate::local_path;
use crate::standard_error;
use crate::table::{grouped, percent};
use crate::value_parsers::{self, show_bits};
use crate::wait::Wait;

/// Raise the memory up to which a growing store can grow
///
/// For stores that were created with --grow-to. The state is copied into a new directory with larger
/// files, which is read back and compared; then the two exchange their names, and the old one is
/// removed. A crash at any moment leaves one complete store at the path. Until it ends, the command
/// needs disk space for both.
///
/// A filter grows by doubling, so the new limit is the largest one that fits into the given memory.
/// It stores no keys: fingerprints are as long as before, so twice as many keys have twice the false
/// positive rate. The report says which rate the full store will have.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// The memory up to which the store may grow
    #[arg(short, long, value_name = "SIZE", value_parser = value_parsers::size)]
    memory: u64,

    #[command(flatten)]
    wait: Wait,
}

const EXAMPLES: &str = "\
Example:
  dedupstore create links.dds --grow-to 4GiB --fpr 0.1%
  dedupstore grow links.dds --memory 8GiB";

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let path = &arguments.store;
    local_path::check_store("grow", path)?;
    leftovers::report(path, global.quiet);
    let _cleanup = CleanupOnSignal::start();
    let memory_bits = arguments.memory.saturating_mul(8);
    let report = arguments
        .wait
        .until_free(path, global.quiet, || grow(path, memory_bits))?;
    if !global.quiet {
        let when_full = match report.full_fpr {
            Some(rate) => format!(
                "; when it is full, its false positive rate is {}",
                percent(Some(rate))
            ),
            None => String::new(),
        };
        standard_error::message(format_args!(
            "{}: {} can grow to {} of memory, before to {}; room for about {} more keys{when_full}; \
             {} of disk",
            path.display(),
            report.filter,
            show_bits(report.memory_bits),
            show_bits(report.memory_bits_before),
            grouped(report.keys_left as u64),
            show_bits(report.disk_bytes.saturating_mul(8)),
        ));
    }
    Ok(())
}
