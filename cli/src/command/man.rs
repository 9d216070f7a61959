//! `dedupstore man`: the manual.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::arguments::Cli;
use crate::error::Failure;
use crate::output::Output;

/// Print the manual page, or write one a command into a directory
///
/// For example: dedupstore man | man -l -
#[derive(Debug, Args)]
pub struct Arguments {
    /// Write dedupstore.1, dedupstore-filter.1 and so on there
    #[arg(long, value_name = "DIRECTORY")]
    to: Option<PathBuf>,
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let command = Cli::command();
    if let Some(directory) = arguments.to {
        return clap_mangen::generate_to(command, &directory).map_err(|error| Failure::Create {
            path: directory,
            error,
        });
    }
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut page);
    rendered.map_err(Failure::Output)?;
    let mut output = Output::standard()?;
    output.put(&page)?;
    output.flush()
}
