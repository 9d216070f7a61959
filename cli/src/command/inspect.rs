//! `dedupstore inspect`: shows the state of a store.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use dedupstore::store::{Inspection, inspect};
use dedupstore_view::inspection_report;
use serde_json::{Value, json};

use crate::cli::GlobalArguments;
use crate::closed_pipe;
use crate::color::{self, Color};
use crate::error::Failure;
use crate::output::Output;
use crate::value_parsers;

/// Show a store's filter, sizes, counts and error rates, even while it is in use
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Repeat until interrupted, every 2 seconds or at this interval
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "2s",
          require_equals = true, value_parser = value_parsers::time)]
    watch: Option<Duration>,
}

pub fn run(arguments: Arguments, _global: &GlobalArguments) -> Result<(), Failure> {
    let path = &arguments.store;
    let mut output = Output::standard()?;
    loop {
        let inspection = inspect(path).map_err(Failure::store(path))?;
        let text = match arguments.json {
            true => format!("{}\n", as_json(&inspection)),
            false => {
                let green = |text: &str| color::on_stdout(Color::Green, text);
                inspection_report(&inspection, &path.display().to_string(), green)
            }
        };
        let Some(interval) = arguments.watch else {
            output.text(&text)?;
            return output.flush();
        };
        if io::stdout().is_terminal() && !arguments.json {
            // Moves to the top left corner and clears the screen.
            output.text("\x1b[H\x1b[J")?;
        }
        output.text(&text)?;
        output.flush()?;
        wait(interval)?;
    }
}

/// Waits for the interval; fails if the reader of the output closes the pipe.
fn wait(interval: Duration) -> Result<(), Failure> {
    let until = Instant::now() + interval;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if closed_pipe::stdout_is_closed() {
            return Err(Failure::ClosedPipe);
        }
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(Duration::from_millis(100)));
    }
}

fn as_json(inspection: &Inspection) -> Value {
    let mut object = json!({"schema": 1});
    if let (Some(object), Ok(Value::Object(fields))) =
        (object.as_object_mut(), serde_json::to_value(inspection))
    {
        object.extend(fields);
    }
    object
}
