//! `dedupstore verify`: every checksum, the chain, the mark.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::{Directory, Finding, StoreError, verify};

use crate::error::Failure;
use crate::output::Output;

/// Read all of a store and print one line a finding, with file and offset
///
/// Exit code 0 if nothing is damaged, 1 if something is, 2 if it could not be read.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,
}

pub fn run(arguments: Arguments, quiet: bool) -> Result<(), Failure> {
    let path = &arguments.store;
    let medium = match Directory::open_undisturbed(path) {
        Err(StoreError::InUse { .. }) => {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{path} is in use by another process, whose writes would look like damage; \
                 wait for it to end, or check a copy: dedupstore backup {path} COPY && dedupstore verify COPY"
            )));
        }
        opened => opened.map_err(Failure::store(path))?,
    };
    let findings = verify(medium).map_err(Failure::store(path))?;
    let mut output = Output::standard()?;
    for finding in &findings {
        output.text(&format!("{finding}\n"))?;
    }
    output.flush()?;
    let damaged = findings
        .iter()
        .filter(|finding| finding.is_damage())
        .count();
    let path = path.display();
    match damaged {
        0 if quiet => {}
        0 => eprintln!("dedupstore: {path} is whole"),
        _ if quiet => {}
        1 => eprintln!("dedupstore: 1 place is damaged; to mend it: dedupstore repair {path}"),
        _ => eprintln!(
            "dedupstore: {damaged} places are damaged; to mend them: dedupstore repair {path}"
        ),
    }
    match findings.iter().any(Finding::is_damage) {
        true => Err(Failure::AnswerIsNo),
        false => Ok(()),
    }
}
