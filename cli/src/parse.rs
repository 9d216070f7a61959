//! Parses the command line, and prints help and errors of parsing.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches};

use crate::cli::Cli;
use crate::color;
use crate::error::Failure;
use crate::inherited;
use crate::standard_error;

/// Parses the arguments of this process. If there is nothing to run, prints help, the version or
/// an error and returns the exit code.
pub fn arguments() -> Result<Cli, ExitCode> {
    let colors = color::choose(std::env::args_os());
    let command = accept_negative_numbers(Cli::command()).color(colors.into());
    let parsed = command
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map_err(|mut error| {
        if error.use_stderr() {
            suggest_filter(&mut error);
            // Standard error that cannot be written is no reason to fail in another way.
            let _ = error.print();
            return ExitCode::from(2);
        }
        match print_help(&error) {
            Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
            Err(failure) => {
                standard_error::failure(&failure);
                ExitCode::from(2)
            }
        }
    })
}

fn print_help(help: &clap::Error) -> Result<(), Failure> {
    if inherited::stdout_is_closed() {
        return Err(Failure::ClosedOutput);
    }
    let printed = help.print().and_then(|()| io::stdout().flush());
    printed.map_err(Failure::writing)
}

/// Lets every option take a negative number, so that the option's own message says which values
/// are allowed. Clap would suggest `-- -5`, which makes -5 a file.
fn accept_negative_numbers(command: Command) -> Command {
    command
        .mut_args(|argument| {
            let takes_value = !argument.is_positional() && argument.get_action().takes_values();
            match takes_value {
                true => argument.allow_negative_numbers(true),
                false => argument,
            }
        })
        .mut_subcommands(accept_negative_numbers)
}

/// Suggests `filter` if a file stands where a subcommand is expected.
fn suggest_filter(error: &mut clap::Error) {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return;
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    if name == "-" || Path::new(name).exists() {
        let tip = StyledStr::from(format!("did you mean `dedupstore filter {name}`?"));
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
}
