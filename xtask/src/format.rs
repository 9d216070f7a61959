//! Formatting. The modules of the filters are declared by a macro, and rustfmt does not follow
//! such declarations, so their files are named.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use crate::step::{self, Outcome, cargo, root};

/// Formats all sources.
pub fn write() -> Outcome {
    step::run("format", rustfmt(&[])?)
}

/// Checks the format of all sources.
pub fn check() -> Outcome {
    step::run("format", rustfmt(&["--check"])?)
}

fn rustfmt(options: &[&str]) -> Outcome<Command> {
    let mut command = cargo(&["fmt", "--all", "--"]);
    command.args(options).args(filter_files()?);
    Ok(command)
}

fn filter_files() -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in root().join("engine/src/filter").read_dir()? {
        files.push(entry?.path());
    }
    files.retain(|file| file.extension() == Some(OsStr::new("rs")));
    files.sort();
    Ok(files)
}
