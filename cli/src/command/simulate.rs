//! `dedupstore simulate`: filters against exact truth.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use dedupstore::lab::{Clock, RunSummary, Simulation, StreamSpec, Truth};
use dedupstore::{FilterSpec, registry};

use crate::error::Failure;
use crate::generate::streams_help;
use crate::input::{Block, InputArguments, Inputs};
use crate::keys::KeyArguments;
use crate::output::Output;
use crate::quantity;
use crate::report;
use crate::table::{grouped, percent, render};

/// Run filters against exact truth, on your own log or on a synthetic stream
///
/// FPR is the share of first occurrences taken for repeats: new keys dropped. FNR is the
/// share of repeats taken for new: repeats let through. The same input, filter, memory
/// and seed give the same numbers on every machine, and in the browser.
#[derive(Debug, Args)]
#[command(after_help = help())]
pub struct Arguments {
    /// Logs, read as one stream [default: standard input]
    #[arg(value_name = "LOG", conflicts_with = "stream")]
    logs: Vec<PathBuf>,

    /// A filter, or `all`; may be given several times [default: all]
    #[arg(short, long = "filter", value_name = "SPEC")]
    filters: Vec<String>,

    /// Memory for each filter; may be given several times [default: 64KiB]
    #[arg(short, long = "memory", value_name = "SIZE", value_parser = quantity::size)]
    memories: Vec<u64>,

    /// Memory in bits; may be given several times
    #[arg(long = "memory-bits", value_name = "N", value_parser = quantity::count)]
    memories_bits: Vec<u64>,

    /// A synthetic stream instead of a log
    #[arg(long, value_name = "STREAM")]
    stream: Option<StreamSpec>,

    /// How many keys of the synthetic stream
    #[arg(short = 'n', long, value_name = "N", default_value = "1M", requires = "stream",
          value_parser = quantity::count)]
    count: u64,

    /// Seed of the stream, of the hash and of the filters' choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    key: KeyArguments,

    #[command(flatten)]
    input: InputArguments,

    /// Print one object a line, a line a run
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print comma-separated values
    #[arg(long)]
    csv: bool,

    /// Also write one page with the curves, which needs no other file and no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

fn help() -> String {
    format!(
        "Examples:\n  \
         dedupstore simulate links.txt --memory 16KiB --memory 64KiB\n  \
         dedupstore simulate --stream shuffle:60 --count 10M --memory 1.28MiB --filter rlbsbf:k=2\n\n{}",
        streams_help()
    )
}

const DEFAULT_MEMORY_BITS: u64 = (8 * 64) << 10;

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let filters = filters(&arguments.filters)?;
    let mut memories_bits = arguments.memories_bits.clone();
    memories_bits.extend(
        arguments
            .memories
            .iter()
            .map(|bytes| bytes.saturating_mul(8)),
    );
    if memories_bits.is_empty() {
        memories_bits.push(DEFAULT_MEMORY_BITS);
    }
    let entered = |mut simulation: Simulation| -> Result<Simulation, Failure> {
        for &memory_bits in &memories_bits {
            for filter in &filters {
                simulation.enter(filter, memory_bits)?;
            }
        }
        Ok(simulation)
    };
    let (simulation, name, without_key) = match arguments.stream {
        Some(stream) => {
            let keys = stream.open(arguments.count, arguments.seed);
            let race = entered(Simulation::over(&keys, arguments.seed))?;
            let simulation = over_stream(race, stream, arguments.count, arguments.seed);
            (simulation, stream.to_string(), 0)
        }
        None => {
            let inputs = Inputs::check(arguments.logs)?.reading(&arguments.input, false);
            let name = inputs.name();
            let race = Simulation::new(arguments.seed, Truth::for_fingerprints());
            let mut simulation = entered(race)?;
            let without_key = over_log(&mut simulation, &inputs, &arguments.key)?;
            (simulation, name, without_key)
        }
    };
    if without_key > 0 {
        let lacking = arguments.key.lacking();
        eprintln!("dedupstore: {without_key} lines had no such {lacking} and were left out");
    }
    let form = match (arguments.json, arguments.csv) {
        (true, _) => as_json,
        (_, true) => as_csv,
        _ => as_table,
    };
    if let Some(path) = &arguments.html {
        report::write(path, &name, &simulation)?;
    }
    let mut output = Output::standard()?;
    output.text(&form(&simulation.summaries(&name)))?;
    output.flush()
}

fn filters(specs: &[String]) -> Result<Vec<FilterSpec>, Failure> {
    let everything = || registry().iter().copied().map(FilterSpec::with_defaults);
    if specs.is_empty() {
        return Ok(everything().collect());
    }
    let mut filters = Vec::new();
    for spec in specs {
        match spec.as_str() {
            "all" => filters.extend(everything()),
            spec => filters.push(spec.parse().map_err(|error| {
                Failure::Usage(format!(
                    "--filter {spec}: {error}; see `dedupstore filters`"
                ))
            })?),
        }
    }
    Ok(filters)
}

fn over_stream(mut race: Simulation, stream: StreamSpec, count: u64, seed: u64) -> Simulation {
    let clock = WallClock::start();
    let mut keys = stream.open(count, seed);
    while let Some(arrival) = keys.next_arrival() {
        race.push_arrival(&arrival, &clock);
    }
    race.flush(&clock);
    race
}

/// Returns how many lines had no key.
fn over_log(race: &mut Simulation, inputs: &Inputs, key: &KeyArguments) -> Result<u64, Failure> {
    let clock = WallClock::start();
    let mut keys = key.reader()?;
    let mut without_key = 0;
    let mut push = |race: &mut Simulation, content: &[u8]| match keys.key(content) {
        Some(key) => race.push_key(key, &clock),
        None => without_key += 1,
    };
    inputs.for_each_block(key.line_end(), |block| {
        match block {
            Block::Lines(lines) => lines.for_each(|line| push(race, line.content)),
            Block::Unterminated(line) => push(race, line.content),
            Block::Pause => {}
        }
        Ok(())
    })?;
    race.flush(&clock);
    Ok(without_key)
}

struct WallClock(Instant);

impl WallClock {
    fn start() -> Self {
        WallClock(Instant::now())
    }
}

impl Clock for WallClock {
    fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

fn as_json(runs: &[RunSummary]) -> String {
    let lines = runs
        .iter()
        .filter_map(|run| serde_json::to_string(run).ok());
    lines.map(|line| line + "\n").collect()
}

fn as_csv(runs: &[RunSummary]) -> String {
    let mut text = String::new();
    for run in runs {
        let Ok(serde_json::Value::Object(row)) = serde_json::to_value(run) else {
            continue;
        };
        // Lists have no place in a cell.
        let plain = || row.iter().filter(|(_, value)| !value.is_array());
        if text.is_empty() {
            let names: Vec<&str> = plain().map(|(name, _)| name.as_str()).collect();
            text = names.join(",") + "\n";
        }
        let cells: Vec<String> = plain().map(|(_, value)| csv_cell(value)).collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

fn csv_cell(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => format!("\"{}\"", text.replace('"', "\"\"")),
        number => number.to_string(),
    }
}

fn as_table(runs: &[RunSummary]) -> String {
    let Some(any) = runs.first() else {
        return String::new();
    };
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            vec![
                run.filter.clone(),
                quantity::show_bits(run.memory_bits),
                percent(run.fpr),
                predicted(run.predicted_fpr),
                percent(run.fnr),
                predicted(run.predicted_fnr),
                grouped(run.fp),
                grouped(run.false_negatives),
                percent(Some(run.load)),
                match run.ns_per_observation {
                    Some(nanoseconds) => format!("{nanoseconds:.0} ns"),
                    None => "–".to_owned(),
                },
            ]
        })
        .collect();
    format!(
        "{}: {} keys, {} distinct, {} repeats{}\n\n{}",
        any.stream,
        grouped(any.count),
        grouped(any.distinct),
        grouped(any.repeats),
        how_far_back(&any.gaps),
        render(
            &[
                "filter",
                "memory",
                "FPR",
                "theory",
                "FNR",
                "theory",
                "new dropped",
                "repeats passed",
                "load",
                "a key"
            ],
            &rows,
        ),
    )
}

fn predicted(share: Option<f64>) -> String {
    match share {
        // What rounds to nothing is nothing: a prediction counts no keys.
        Some(share) if share < 1e-6 => "0 %".to_owned(),
        share => percent(share),
    }
}

/// Half and nine tenths of the repeats, by how far back they lie.
fn how_far_back(gaps: &[(u64, u64)]) -> String {
    let total: u64 = gaps.iter().map(|(_, count)| count).sum();
    let within = |share: f64| {
        let mut sum = 0;
        let found = gaps.iter().find(|(_, count)| {
            sum += count;
            sum as f64 >= share * total as f64
        });
        found.map_or(0, |(from, _)| from.saturating_mul(2) - 1)
    };
    match total {
        0 => String::new(),
        _ => format!(
            ", half of them at most {} keys back, nine in ten at most {}",
            grouped(within(0.5)),
            grouped(within(0.9))
        ),
    }
}
