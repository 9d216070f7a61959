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
/// The same stream, count and seed give the same keys on every machine. If keys have an
/// importance, it follows the key after a tab.
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
    let mut output = Output::standard()?;
    let mut stream = arguments.stream.open(arguments.count, arguments.seed);
    let mut line = Vec::new();
    loop {
        if arguments.with_time {
            // Writing to a vector cannot fail.
            let _ = write!(line, "{}\t", stream.next_second());
        }
        if !arguments.form.append_line(&mut stream, &mut line) {
            break;
        }
        output.put(&line)?;
        line.clear();
    }
    output.flush()
}
