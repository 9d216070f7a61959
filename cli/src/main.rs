//! The `dedupstore` command: deduplicates lines in bounded memory.

mod batch_hasher;
mod cli;
mod closed_pipe;
mod color;
mod command;
mod decompress;
mod default_filter;
mod drop_guard;
mod error;
mod filter_arguments;
mod filter_choice;
mod html_report;
mod http_server;
mod input;
mod key_arguments;
mod line_filter;
mod log_sample;
mod metrics;
mod open_store;
mod output;
mod progress;
mod read_ahead;
mod signals;
mod store_backend;
mod table;
mod value_parsers;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use cli::Cli;
use color::Color;
use error::Failure;

fn main() -> ExitCode {
    let colors = color::choose(std::env::args_os());
    let matches = Cli::command().color(colors.into()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match cli.command.run(&cli.global) {
        // A reader such as `head` that closes the pipe is not an error.
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::AnswerIsNo) => ExitCode::from(1),
        Err(Failure::Signal(code)) => ExitCode::from(code),
        Err(failure) => {
            let name = color::on_stderr(Color::Red, "dedupstore:");
            eprintln!("{name} {failure}");
            ExitCode::from(match failure {
                Failure::Limit(_) => 3,
                _ => 2,
            })
        }
    }
}
