//! The `dedupstore` command: deduplicates lines in bounded memory.

mod batch_hasher;
mod block_source;
mod cleanup;
mod cli;
mod closed_pipe;
mod cluster_arguments;
mod cluster_backend;
mod cluster_report;
mod color;
mod command;
mod compression;
mod decoder;
mod decompress;
mod default_filter;
mod drop_guard;
mod error;
mod filter_arguments;
mod filter_choice;
mod filter_run;
mod given_filter;
mod growing_filter;
mod hashed_block;
mod html_report;
mod http_content;
mod http_server;
mod importance_arguments;
mod inherited;
mod input;
mod interruptible_file;
mod json_bytes;
mod key_arguments;
mod key_report;
mod leftovers;
mod line_filter;
mod line_times;
mod local_path;
mod log_clock;
mod log_importance;
mod log_sample;
mod lookup_backend;
mod lookup_time;
mod machine_clock;
mod memory_backend;
mod metrics;
mod metrics_text;
mod missing_importance;
mod missing_keys;
mod missing_times;
mod open_store;
mod output;
mod parse;
mod pipeline;
mod progress;
mod remote_address;
mod remote_backend;
mod remote_lookup;
mod remote_store;
mod reserved_filter;
mod server_log;
mod server_metrics;
mod service_notification;
#[cfg(unix)]
mod signal_mask;
mod signals;
mod standard_error;
mod store_backend;
mod table;
mod time_arguments;
mod torn_output;
mod value_parsers;
mod wait;
mod warc;

use std::process::ExitCode;

use cli::Cli;
use error::Failure;

fn main() -> ExitCode {
    signals::report_large_files_as_errors();
    let cli = match parse::arguments() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    match run(cli) {
        // A reader such as `head` that closes the pipe is not an error.
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::AnswerIsNo) => ExitCode::from(1),
        Err(Failure::Signal(code)) => ExitCode::from(code),
        Err(failure) => {
            standard_error::failure(&failure);
            ExitCode::from(match failure {
                Failure::Limit(_) => 3,
                _ => 2,
            })
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    if cli.command.prints_data(&cli.global) && inherited::stdout_is_closed() {
        return Err(Failure::ClosedOutput);
    }
    cli.command.run(&cli.global)
}
