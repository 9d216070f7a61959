//! `dedupstore`: which of these lines have I not met before?

mod arguments;
mod backup;
mod checkpoint;
mod completions;
mod contains;
mod create;
mod error;
mod filter;
mod filters;
mod generate;
mod input;
mod inspect;
mod interruption;
mod opening;
mod output;
mod quantity;
mod repair;
mod reproduce;
mod sieve;
mod simulate;
mod stored;
mod table;
mod verify;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Cli, Command};
use error::Failure;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Filter(arguments) => filter::run(arguments, cli.quiet),
        Command::Create(arguments) => create::run(arguments, cli.quiet),
        Command::Contains(arguments) => contains::run(arguments, cli.quiet),
        Command::Simulate(arguments) => simulate::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Reproduce(arguments) => reproduce::run(arguments, cli.quiet),
        Command::Filters(arguments) => filters::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Verify(arguments) => verify::run(arguments, cli.quiet),
        Command::Repair(arguments) => repair::run(arguments, cli.quiet),
        Command::Backup(arguments) => backup::run(arguments, cli.quiet),
        Command::Checkpoint(arguments) => checkpoint::run(arguments, cli.quiet),
        Command::Completions(arguments) => completions::run(arguments),
    };
    match result {
        // A reader that has had enough, like `head`, is no error.
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::AnswerIsNo) => ExitCode::from(1),
        Err(Failure::Signal(code)) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("dedupstore: {failure}");
            ExitCode::from(2)
        }
    }
}
