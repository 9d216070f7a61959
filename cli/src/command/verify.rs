//! `dedupstore verify`: checks every checksum of a store.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::{Finding, StoreError, verify};

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::output::Output;
use crate::standard_error;
use crate::table::plural;

/// Check a whole store and print one line per finding, with file and offset
///
/// The exit code is 0 if nothing is corrupt, 1 if something is, and 2 if the store cannot be
/// read.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,
}

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let path = &arguments.store;
    let findings = match verify(path) {
        Err(StoreError::InUse { .. }) => {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{path} is in use by another process, whose writes would look like corruption; \
                 wait until it ends, or verify a copy: dedupstore backup {path} COPY.dds && dedupstore verify COPY.dds"
            )));
        }
        verified => verified.map_err(Failure::store(path))?,
    };
    let mut output = Output::standard()?;
    for finding in &findings {
        output.text(&format!("{finding}\n"))?;
    }
    output.flush()?;
    let corrupt = findings
        .iter()
        .filter(|finding| finding.is_damage())
        .count();
    let path = path.display();
    match corrupt {
        0 if global.quiet => {}
        0 => standard_error::message(format_args!("{path} is intact")),
        _ if global.quiet => {}
        _ => standard_error::message(format_args!(
            "{path} is corrupt ({}); repair it: dedupstore repair {path}",
            plural(corrupt as u64, "finding")
        )),
    }
    match findings.iter().any(Finding::is_damage) {
        true => Err(Failure::AnswerIsNo),
        false => Ok(()),
    }
}
