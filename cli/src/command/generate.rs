//! `dedupstore generate`: prints a synthetic stream.

use std::io::Write;

use clap::Args;
use dedupstore::lab::{LogFormat, STREAM_FORMS, StreamSpec};

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::output::Output;
use crate::table::definitions;
use crate::value_parsers;

/// Print the keys of a synthetic stream, one per line
///
/// The same stream, count and seed give the same keys on every machine. In the streams
/// `importance-…`, the importance follows the key after a tab.
#[derive(Debug, Args)]
#[command(after_help = streams_help())]
pub struct Arguments {
    /// The stream; see below
    #[arg(value_name = "STREAM")]
    stream: StreamSpec,

    /// The number of keys
    #[arg(short = 'n', long, value_name = "N", default_value = "10000", value_parser = value_parsers::count)]
    count: u64,

    /// The seed of the stream
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The form of a line: the key alone, a web server's combined log with the key as the path,
    /// or a JSON object that describes a click
    #[arg(long = "as", value_name = "keys|access-log|clicks", default_value_t)]
    form: LogFormat,

    /// Print the time before each key, in seconds since the start of the stream, and a tab. Keys
    /// come one per second, except in `burst`
    #[arg(long)]
    with_time: bool,

    /// Print the importance after each key and a tab; of a crawl, the link depth: the number of
    /// links from the start to where the page was first found. Read it with --importance-field 2
    /// --importance-format depth
    #[arg(long)]
    with_importance: bool,
}

/// Returns the list of streams for the help.
pub fn streams_help() -> String {
    let rows = STREAM_FORMS.iter();
    let rows = rows.map(|(form, meaning)| (*form, (*meaning).to_owned()));
    format!("Streams:\n{}", definitions(rows))
}

pub fn run(arguments: Arguments, _global: &GlobalArguments) -> Result<(), Failure> {
    if arguments.with_time && arguments.form != LogFormat::Keys {
        return Err(Failure::Usage(format!(
            "--with-time is for keys; the lines of --as {} have a time already",
            arguments.form
        )));
    }
    if arguments.with_importance && arguments.form != LogFormat::Keys {
        return Err(Failure::Usage(format!(
            "--with-importance is for keys; the lines of --as {} have no importance",
            arguments.form
        )));
    }
    if arguments.with_importance && !arguments.stream.has_importance() {
        return Err(Failure::Usage(format!(
            "the keys of {} have no importance; use importance-linear:X, importance-exponential:X \
             or crawl:S:P, or omit --with-importance",
            arguments.stream
        )));
    }
    let mut output = Output::standard()?;
    let mut stream = arguments.stream.open(arguments.count, arguments.seed);
    let mut line = Vec::new();
    loop {
        if arguments.with_time {
            // Writing to a vector cannot fail.
            let _ = write!(line, "{}\t", stream.next_second());
        }
        let appended = match arguments.with_importance {
            true => LogFormat::append_key_and_importance(&mut stream, &mut line),
            false => arguments.form.append_line(&mut stream, &mut line),
        };
        if !appended {
            break;
        }
        output.put(&line)?;
        line.clear();
    }
    output.flush()
}
