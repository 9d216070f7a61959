//! `dedupstore completions`: prints a completion script.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::{Cli, GlobalArguments};
use crate::error::Failure;
use crate::output::Output;

/// Print a completion script for a shell
///
/// For example: dedupstore completions bash > ~/.local/share/bash-completion/completions/dedupstore
#[derive(Debug, Args)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

pub fn run(arguments: Arguments, _global: &GlobalArguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Cli::command(),
        "dedupstore",
        &mut script,
    );
    let mut output = Output::standard()?;
    output.put(&script)?;
    output.flush()
}
