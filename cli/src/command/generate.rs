//! `dedupstore generate`: keys of a synthetic stream.

use clap::Args;
use dedupstore::lab::{LogForm, STREAM_FORMS, StreamSpec};

use crate::error::Failure;
use crate::output::Output;
use crate::quantity;

/// Print the keys of a synthetic stream, one a line
///
/// The same stream, count and seed give the same keys on every machine. Where keys have
/// an importance it follows after a tab.
#[derive(Debug, Args)]
#[command(after_help = streams_help())]
pub struct Arguments {
    /// Which stream; see below
    #[arg(value_name = "STREAM")]
    stream: StreamSpec,

    /// How many keys
    #[arg(short = 'n', long, value_name = "N", default_value = "10000", value_parser = quantity::count)]
    count: u64,

    /// Seed of the stream
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// What lines look like: the keys alone, a web server's combined log with the key as
    /// path, or JSON lines of clicks
    #[arg(long = "as", value_name = "keys|access-log|clicks", default_value_t)]
    form: LogForm,
}

/// The forms of a stream, for the help of every command that takes one.
pub fn streams_help() -> String {
    let width = STREAM_FORMS.iter().map(|(form, _)| form.len()).max();
    let width = width.unwrap_or(0);
    let rows = STREAM_FORMS
        .iter()
        .map(|(form, meaning)| format!("  {form:width$}  {meaning}\n"));
    format!("Streams:\n{}", rows.collect::<String>())
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let mut output = Output::standard()?;
    let mut stream = arguments.stream.open(arguments.count, arguments.seed);
    let mut line = Vec::new();
    while arguments.form.append_line(&mut stream, &mut line) {
        output.put(&line)?;
        line.clear();
    }
    output.flush()
}
