//! `dedupstore`: which of these lines have I not met before?

mod arguments;
mod completions;
mod error;
mod filter;
mod filters;
mod generate;
mod input;
mod output;
mod quantity;
mod simulate;
mod table;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Cli, Command};
use error::Failure;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Filter(arguments) => filter::run(arguments, cli.quiet),
        Command::Simulate(arguments) => simulate::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Filters(arguments) => filters::run(arguments),
        Command::Completions(arguments) => completions::run(arguments),
    };
    match result {
        // A reader that has had enough, like `head`, is no error.
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("dedupstore: {failure}");
            ExitCode::from(2)
        }
    }
}
