//! `dedupstore generate`: keys of a synthetic stream.

use clap::Args;
use dedupstore::lab::{STREAM_FORMS, StreamSpec};

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
    while let Some(arrival) = stream.next_arrival() {
        output.put(arrival.key)?;
        if let Some(importance) = arrival.importance {
            output.put(format!("\t{importance}").as_bytes())?;
        }
        output.put(b"\n")?;
    }
    output.flush()
}
