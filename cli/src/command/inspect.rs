//! `dedupstore inspect`: what a store says of itself.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use dedupstore::store::{Inspection, inspect};
use serde_json::{Value, json};

use crate::colour::{self, Colour};
use crate::error::Failure;
use crate::output::Output;
use crate::pipe;
use crate::quantity;

/// Show a store's filter, sizes, counts and health; works beside a running writer
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// Print one object
    #[arg(long)]
    json: bool,

    /// Again and again, until interrupted; every 2 seconds, or as often as said
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "2s",
          require_equals = true, value_parser = quantity::time)]
    watch: Option<Duration>,
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let path = &arguments.store;
    let mut output = Output::standard()?;
    loop {
        let inspection = inspect(path).map_err(Failure::store(path))?;
        let text = match arguments.json {
            true => format!("{}\n", as_json(&inspection)),
            false => {
                let green = |text: &str| colour::on_stdout(Colour::Green, text);
                inspection.report(&path.display().to_string(), green)
            }
        };
        let Some(interval) = arguments.watch else {
            output.text(&text)?;
            return output.flush();
        };
        if io::stdout().is_terminal() && !arguments.json {
            // To the top left corner, and clear what is below.
            output.text("\x1b[H\x1b[J")?;
        }
        output.text(&text)?;
        output.flush()?;
        wait(interval)?;
    }
}

/// Waits, unless the reader leaves.
fn wait(interval: Duration) -> Result<(), Failure> {
    let until = Instant::now() + interval;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if pipe::reader_is_gone() {
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
