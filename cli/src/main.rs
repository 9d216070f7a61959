//! `dedupstore`: which of these lines have I not met before?

mod advise;
mod ahead;
mod arguments;
mod backup;
mod checkpoint;
mod colour;
mod completions;
mod contains;
mod create;
mod error;
mod explain;
mod filter;
mod filters;
mod generate;
mod hashing;
mod input;
mod inspect;
mod interruption;
mod keys;
mod man;
mod merge;
mod metrics;
mod opening;
mod output;
mod pipe;
mod playground;
mod progress;
mod quantity;
mod repair;
mod report;
mod reproduce;
mod responder;
mod sampling;
mod sieve;
mod simulate;
mod sizing;
mod source;
mod stored;
mod table;
mod verify;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use arguments::{Cli, Command};
use colour::Colour;
use error::Failure;

fn main() -> ExitCode {
    let colours = colour::choose(std::env::args_os());
    let matches = Cli::command().color(colours.into()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = match cli.command {
        Command::Filter(arguments) => filter::run(arguments, cli.quiet),
        Command::Create(arguments) => create::run(arguments, cli.quiet),
        Command::Contains(arguments) => contains::run(arguments, cli.quiet),
        Command::Simulate(arguments) => simulate::run(arguments),
        Command::Advise(arguments) => advise::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Reproduce(arguments) => reproduce::run(arguments, cli.quiet),
        Command::Filters(arguments) => filters::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Verify(arguments) => verify::run(arguments, cli.quiet),
        Command::Repair(arguments) => repair::run(arguments, cli.quiet),
        Command::Backup(arguments) => backup::run(arguments, cli.quiet),
        Command::Checkpoint(arguments) => checkpoint::run(arguments, cli.quiet),
        Command::Merge(arguments) => merge::run(arguments, cli.quiet),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Playground(arguments) => playground::run(arguments),
        Command::Completions(arguments) => completions::run(arguments),
        Command::Man(arguments) => man::run(arguments),
    };
    match result {
        // A reader that has had enough, like `head`, is no error.
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::AnswerIsNo) => ExitCode::from(1),
        Err(Failure::Signal(code)) => ExitCode::from(code),
        Err(failure) => {
            let name = colour::on_stderr(Colour::Red, "dedupstore:");
            eprintln!("{name} {failure}");
            ExitCode::from(2)
        }
    }
}
