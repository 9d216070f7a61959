//! Parses the command line, and prints help and errors of parsing.

use std::ffi::OsString;
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
use crate::value_parsers;

/// Parses the arguments of this process. If there is nothing to run, prints help, the version or
/// an error and returns the exit code.
pub fn arguments() -> Result<Cli, ExitCode> {
    let colors = color::choose(std::env::args_os());
    if let Some(advice) = separate_time(std::env::args_os()) {
        standard_error::failure(&Failure::Usage(advice));
        return Err(ExitCode::from(2));
    }
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

/// The options whose time may be left out, so that it must follow an equals sign.
const OPTIONAL_TIMES: [&str; 2] = ["--watch", "--wait"];

/// Finds a time that is a word of its own after one of these options. It would be taken for a
/// store or a file. Returns how to write it.
fn separate_time(arguments: impl Iterator<Item = OsString>) -> Option<String> {
    let arguments: Vec<OsString> = arguments.take_while(|argument| argument != "--").collect();
    arguments.windows(2).find_map(|pair| {
        let (option, value) = (pair[0].to_str()?, pair[1].to_str()?);
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let time = match is_number {
            true => format!("{value}s"),
            false => value.to_owned(),
        };
        let is_time = value_parsers::time(&time).is_ok() && !Path::new(value).exists();
        (OPTIONAL_TIMES.contains(&option) && is_time).then(|| {
            format!(
                "the time of {option} follows an equals sign: write {option}={time} instead of \
                 {option} {value}"
            )
        })
    })
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
