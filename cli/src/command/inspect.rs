//! `dedupstore inspect`: shows the state of a store.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use dedupstore::store::{Inspection, StoreError, inspect, inspect_exactly};
use dedupstore_cluster::ClusterStore;
use dedupstore_server::Client;
use dedupstore_view::{Rates, inspection_report, printable_json};
use serde_json::{Value, json};

use crate::cli::GlobalArguments;
use crate::closed_pipe;
use crate::cluster_report;
use crate::color::{self, Color};
use crate::error::Failure;
use crate::leftovers;
use crate::output::Output;
use crate::remote_address::{RemoteAddress, address_of};
use crate::value_parsers;

/// Show a store's filter, sizes, counts and error rates, even while it is in use
///
/// Observations since the last checkpoint are in the log. Their number is always shown. In a
/// small store, the log is also replayed into memory, to show the present counts and load; in a
/// large one, only with --exact.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store, or the address of one on a server, as in redis://127.0.0.1:6379/links
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Replay the log into memory, which takes as much memory as the store, and show all figures
    /// as they are now, error rates included
    #[arg(long)]
    exact: bool,

    /// Repeat until interrupted, every 2 seconds or at this interval, and show rates
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "2s",
          require_equals = true, value_parser = interval)]
    watch: Option<Duration>,
}

/// Without a pause, reading the store would take a whole processor.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

/// Parses the interval of --watch.
fn interval(text: &str) -> Result<Duration, String> {
    match value_parsers::time(text)? {
        time if time < SHORTEST_INTERVAL => Err(format!(
            "expected a time of at least 10ms, like 2s; found `{text}`"
        )),
        time => Ok(time),
    }
}

/// The size up to which a region and a log are read without being asked to. In the time that
/// takes, nobody loses patience.
const SMALL_BYTES: u64 = 128 << 20;

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let path = &arguments.store;
    if let Some(address) = address_of(path).transpose()? {
        return inspect_remote(address, &arguments);
    }
    leftovers::report(path, global.quiet);
    let mut output = Output::standard()?;
    let mut before: Option<(Instant, Inspection)> = None;
    loop {
        let at = Instant::now();
        let inspection = inspected(path, arguments.exact).map_err(Failure::store(path))?;
        let rates = before.map(|(then, before)| rates(&before, &inspection, at - then));
        let text = match arguments.json {
            true => {
                let watched = arguments.watch.map(|_| rates);
                let json = as_json(&inspection, watched).to_string();
                printable_json(&json) + "\n"
            }
            false => {
                let green = |text: &str| color::on_stdout(Color::Green, text);
                inspection_report(&inspection, &path.display().to_string(), rates, green)
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
        before = Some((at, inspection));
        wait(interval)?;
    }
}

/// Shows a store on a server.
fn inspect_remote(address: RemoteAddress, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.watch.is_some() || arguments.exact {
        let text =
            "--watch and --exact are not for a store on a server, whose figures are those of now";
        return Err(Failure::Usage(text.to_owned()));
    }
    let text = match address {
        RemoteAddress::Serve(address) => {
            let failed = |error| Failure::server(&address)(error);
            let mut client = Client::connect(&address).map_err(failed)?;
            client.inspect(arguments.json).map_err(failed)?
        }
        RemoteAddress::Cluster(address, access) => {
            let failed = |error| Failure::cluster(&address)(error);
            let mut store = ClusterStore::open(&address, *access).map_err(failed)?;
            let warnings = store.warnings();
            let inspection = store.inspect().map_err(failed)?;
            match arguments.json {
                true => inspection.to_json(&address, &warnings).to_string(),
                false => cluster_report::as_text(&address, &inspection, &warnings),
            }
        }
    };
    let mut output = Output::standard()?;
    output.text(&text)?;
    if !text.ends_with('\n') {
        output.text("\n")?;
    }
    output.flush()
}

/// Inspects a store. Replays the log for the live figures if that takes little, and for all
/// figures if that is wanted.
fn inspected(path: &Path, exact: bool) -> Result<Inspection, StoreError> {
    if exact {
        return inspect_exactly(path);
    }
    let mut inspection = inspect(path)?;
    let is_small =
        inspection.region_bytes <= SMALL_BYTES && inspection.log_used_bytes <= SMALL_BYTES;
    if inspection.exact || !is_small {
        return Ok(inspection);
    }
    match inspect_exactly(path) {
        Ok(exact) => inspection.set_live(&exact),
        // What is known is better than nothing.
        Err(StoreError::Corrupt(_) | StoreError::OutOfMemory { .. }) => {}
        Err(error) => return Err(error),
    }
    Ok(inspection)
}

fn rates(before: &Inspection, now: &Inspection, elapsed: Duration) -> Rates {
    let seconds = elapsed.as_secs_f64().max(1e-9);
    let per_second = |before: u64, now: u64| now.saturating_sub(before) as f64 / seconds;
    let new = before.live_new.zip(now.live_new);
    Rates {
        observations: per_second(before.live_observations, now.live_observations),
        new: new.map(|(before, now)| per_second(before, now)),
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

/// `watched` is present with `--watch`, and holds rates after the first time.
fn as_json(inspection: &Inspection, watched: Option<Option<Rates>>) -> Value {
    let mut object = json!({"schema": 1});
    if let (Some(object), Ok(Value::Object(fields))) =
        (object.as_object_mut(), serde_json::to_value(inspection))
    {
        object.extend(fields);
        if let Some(rates) = watched {
            let observations = rates.map(|rates| rates.observations);
            let new = rates.and_then(|rates| rates.new);
            object.insert("observations_per_second".to_owned(), json!(observations));
            object.insert("new_per_second".to_owned(), json!(new));
        }
    }
    object
}
