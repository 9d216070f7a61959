//! `dedupstore verify`: checks every checksum of a store.

use std::path::{Path, PathBuf};

use clap::Args;
use dedupstore::store::{Finding, Severity, StoreError, verify};
use serde_json::{Value, json};

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::leftovers;
use crate::local_path;
use crate::output::Output;
use crate::standard_error;
use crate::table::plural;
use crate::wait::Wait;

/// Check a whole store and print one line per finding, with file and offset
///
/// The exit code is 0 if nothing is corrupt, 1 if something is, and 2 if the store cannot be
/// read.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    wait: Wait,
}

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let path = &arguments.store;
    local_path::check_store("verify", path)?;
    leftovers::report(path, global.quiet);
    let verify = || verify(path);
    let findings = match arguments.wait.until_free(path, global.quiet, verify) {
        Err(Failure::Store {
            error: error @ StoreError::InUse { .. },
            ..
        }) => {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{error}, whose writes would look like corruption; wait until it ends (with \
                 --wait, the command waits), or verify a copy: dedupstore backup {path} COPY.dds \
                 && dedupstore verify COPY.dds"
            )));
        }
        verified => verified?,
    };
    let mut output = Output::standard()?;
    if arguments.json {
        output.text(&format!("{}\n", as_json(path, &findings)))?;
    } else {
        for finding in &findings {
            output.text(&format!("{finding}\n"))?;
        }
    }
    output.flush()?;
    let corrupt = findings
        .iter()
        .filter(|finding| finding.is_damage())
        .count();
    let path = path.display();
    match corrupt {
        _ if global.quiet || arguments.json => {}
        0 => standard_error::message(format_args!("{path} is intact")),
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

fn as_json(path: &Path, findings: &[Finding]) -> Value {
    let object = |finding: &Finding| {
        json!({
            "file": finding.damage.file,
            "offset": finding.damage.offset,
            "expected": finding.damage.expected,
            "found": finding.damage.found,
            "severity": match finding.severity {
                Severity::Information => "information",
                Severity::Covered => "covered",
                _ => "refused",
            },
        })
    };
    json!({
        "schema": 1,
        "store": path.display().to_string(),
        "intact": !findings.iter().any(Finding::is_damage),
        "findings": findings.iter().map(object).collect::<Vec<_>>(),
    })
}
