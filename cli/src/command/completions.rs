//! `dedupstore completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments::Cli;
use crate::error::Failure;
use crate::output::Output;

/// Print a completion script for a shell
///
/// For example: dedupstore completions bash > ~/.local/share/bash-completion/completions/dedupstore
#[derive(Debug, Args)]
pub struct Arguments {
    /// Which shell
    shell: Shell,
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
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
