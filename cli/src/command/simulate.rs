//! `dedupstore simulate`: measures the errors of filters.

use std::path::PathBuf;

use clap::Args;
use dedupstore::lab::{RunSummary, Simulation, SlicedSummary, StreamSpec, TreeSummary, Truth};
use dedupstore::{ByteSize, FilterSpec, registry};
use serde_json::{Value, json};

use crate::cli::GlobalArguments;
use crate::command::generate::streams_help;
use crate::command::simulate_slices::{self, SliceArguments, predicted};
use crate::command::simulate_tree::{self, TreeArguments, TreeRun};
use crate::command::simulated_log::{SimulatedLog, Skipped, Times};
use crate::command::simulated_stream::over_stream;
use crate::command::weighted_tables::weighted_tables;
use crate::error::Failure;
use crate::given_filter::{GivenFilter, all_with_window};
use crate::html_report;
use crate::input::{InputArguments, Inputs};
use crate::key_arguments::KeyArguments;
use crate::missing_keys;
use crate::output::Output;
use crate::standard_error;
use crate::table::{grouped, percent, plural, render};
use crate::value_parsers;

/// Measure the errors of filters on your own log or on a synthetic stream
///
/// Every verdict is compared with the exact answer. FPR, the false positive rate, is the share
/// of new keys reported as seen: they are dropped. FNR, the false negative rate, is the share of
/// repeats reported as new: they pass. Lines without a key are skipped. The same input, filter,
/// memory and seed give the same numbers on every machine and in the browser.
///
/// If lines have an importance, errors are also weighted by it: weighted FP and FN are the
/// importance of wrong verdicts as a share of the importance of all keys. The crossover point is the
/// importance from which on a filter lets fewer repeats through than a stable Bloom filter in the
/// same memory; `none` if there is no such importance.
#[derive(Debug, Args)]
#[command(after_help = help())]
pub struct Arguments {
    /// The logs, read as one stream [default: standard input]
    #[arg(value_name = "LOG", conflicts_with = "stream")]
    logs: Vec<PathBuf>,

    /// A filter, or `all`; can be repeated [default: all]
    #[arg(short, long = "filter", value_name = "SPEC", hide_possible_values = true,
          value_parser = value_parsers::filter_spec_or_all())]
    filters: Vec<String>,

    /// Measure only filters with a window, and give them this span, as in 7d, 1d12h, 90m or 30s.
    /// The times of a log are read as the options say, or recognized; a synthetic stream has one
    /// key per second. A key is a repeat if the filter delivered it within the span
    #[arg(long, value_name = "SPAN", value_parser = value_parsers::window, allow_hyphen_values = true)]
    window: Option<u64>,

    #[arg(short, long = "memory", help = memory_help(), value_name = "SIZE", value_parser = value_parsers::size)]
    memories: Vec<u64>,

    /// Memory in bits; can be repeated
    #[arg(long = "memory-bits", value_name = "N", value_parser = value_parsers::count)]
    memories_bits: Vec<u64>,

    /// A synthetic stream instead of a log; its keys come one per second, except in `burst`
    #[arg(long, value_name = "STREAM")]
    stream: Option<StreamSpec>,

    /// The number of keys of the synthetic stream
    #[arg(short = 'n', long, value_name = "N", default_value = "1M", requires = "stream",
          value_parser = value_parsers::count)]
    count: u64,

    /// The seed of the stream, of the hash and of the filters' random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    slices: SliceArguments,

    #[command(flatten)]
    tree: TreeArguments,

    #[command(flatten)]
    key: KeyArguments,

    #[command(flatten)]
    input: InputArguments,

    /// Print one JSON object per run, one per line
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print comma-separated values
    #[arg(long)]
    csv: bool,

    /// Also write a self-contained HTML page with the curves
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

fn memory_help() -> String {
    format!("Memory for each filter; can be repeated [default: {DEFAULT_MEMORY}]")
}

fn help() -> String {
    format!(
        "Examples:\n  \
         dedupstore simulate links.txt --memory 16KiB --memory 64KiB\n  \
         dedupstore simulate access.log --field 7 --window 7d --time-field 4\n  \
         dedupstore simulate access.log --field 7 --tree dense:levels=3,fanout=4 --producer-field 1\n  \
         dedupstore simulate links.tsv --field 1 --importance-field 2 --filter stable --filter blocked\n  \
         dedupstore simulate --stream shuffle:60 --count 10M --memory 1.28MiB --filter rlbsbf:k=2\n  \
         dedupstore simulate links.txt --slices vertical:40 --failed 8 --rule live-zero:x=3\n\n\
         {}\n\n{}",
        simulate_slices::JSON_KEYS,
        streams_help()
    )
}

/// Small enough that filters err on a log of a few thousand lines.
const DEFAULT_MEMORY: ByteSize = ByteSize::from_bytes(64 << 10);

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let mut memories_bits = arguments.memories_bits.clone();
    memories_bits.extend(
        arguments
            .memories
            .iter()
            .map(|bytes| bytes.saturating_mul(8)),
    );
    if memories_bits.is_empty() {
        memories_bits.push(DEFAULT_MEMORY.bits());
    }
    if !arguments.tree.trees.is_empty() {
        return run_trees(arguments, &memories_bits, global);
    }
    let filters = match arguments.filters.is_empty() && arguments.slices.is_given() {
        true => vec![given("bloom")?.with_window(None)?],
        false => filters(&arguments.filters, arguments.window)?,
    };
    let rule = arguments.key.rule()?;
    let is_weighted = match &arguments.stream {
        Some(stream) => stream.has_importance(),
        None => rule.importance.is_some(),
    };
    let with_filters = |mut simulation: Simulation| -> Result<Simulation, Failure> {
        if arguments.slices.is_given() {
            let slices = &arguments.slices;
            slices.add_to(&mut simulation, &filters, &memories_bits)?;
            return Ok(simulation);
        }
        for &memory_bits in &memories_bits {
            for filter in &filters {
                simulation.add_filter(filter, memory_bits)?;
            }
        }
        if is_weighted {
            simulation.add_references()?;
        }
        Ok(simulation)
    };
    let (simulation, name, skipped) = match arguments.stream {
        Some(_) if arguments.key.options().time.is_some() => {
            return Err(Failure::Usage(
                "the keys of a synthetic stream have their own times; omit --time-field, \
                 --time-json-key and --time-format"
                    .to_owned(),
            ));
        }
        Some(stream) => {
            let keys = stream.open(arguments.count, arguments.seed);
            let simulation = with_filters(Simulation::for_stream(&keys, arguments.seed))?;
            let simulation = over_stream(simulation, stream, arguments.count, arguments.seed);
            (simulation, stream.to_string(), Skipped::default())
        }
        None => {
            let inputs = Inputs::check(arguments.logs)?.reading(&arguments.input);
            let name = inputs.name();
            let empty = Simulation::new(arguments.seed, Truth::for_fingerprints());
            let mut simulation = with_filters(empty)?;
            let log = SimulatedLog {
                inputs: &inputs,
                rule: rule.clone(),
                times: times(&arguments.filters, arguments.window, &arguments.key)?,
                window: arguments.window,
                quiet: global.quiet,
            };
            let skipped = log.run(&mut simulation)?;
            if let Some(too_long) = inputs.too_long(skipped.too_long, "skipped")
                && !global.quiet
            {
                standard_error::message(too_long);
            }
            (simulation, name, skipped)
        }
    };
    let Skipped { without_key, .. } = skipped;
    let lines = simulation.count() + without_key;
    let missing = missing_keys::message(&rule, without_key, lines, "skipped");
    if let Some(missing) = missing
        && !global.quiet
    {
        standard_error::message(missing);
    }
    if let Some(path) = &arguments.html {
        html_report::write(path, &name, &simulation)?;
    }
    let mut output = Output::standard()?;
    let sliced = simulation.sliced_runs().iter();
    let sliced: Vec<SlicedSummary> = sliced.map(|run| run.summary(&name)).collect();
    let runs = simulation.summaries(&name);
    let rows = || -> Vec<Value> {
        let runs = runs.iter().map(|run| json!(run));
        runs.chain(sliced.iter().map(|run| json!(run))).collect()
    };
    output.text(&match (arguments.json, arguments.csv) {
        (true, _) => as_json(&rows()),
        (_, true) => as_csv(&rows()),
        _ => as_table(&runs) + &simulate_slices::as_table(&sliced),
    })?;
    output.flush()
}

fn run_trees(
    arguments: Arguments,
    memories_bits: &[u64],
    global: &GlobalArguments,
) -> Result<(), Failure> {
    let trees = TreeRun {
        arguments: &arguments.tree,
        memories_bits,
        seed: arguments.seed,
        key: &arguments.key,
        quiet: global.quiet,
    };
    let report = simulate_tree::Report {
        render: match (arguments.json, arguments.csv) {
            (true, _) => |trees| as_json(&rows_of(trees)),
            (_, true) => |trees| as_csv(&rows_of(trees)),
            _ => simulate_tree::as_table,
        },
        html: arguments.html.as_ref(),
    };
    match arguments.stream {
        Some(stream) => trees.over_stream(stream, arguments.count, &report),
        None => {
            let inputs = Inputs::check(arguments.logs)?.reading(&arguments.input);
            trees.over_logs(&inputs, &report)
        }
    }
}

fn rows_of(trees: &[TreeSummary]) -> Vec<Value> {
    trees.iter().map(|tree| json!(tree)).collect()
}

/// Returns the filters to run. A window is given to each of them, or to all that can have one.
fn filters(specs: &[String], window: Option<u64>) -> Result<Vec<FilterSpec>, Failure> {
    let all = || match window {
        Some(seconds) => all_with_window(seconds),
        None => Ok(registry()
            .iter()
            .copied()
            .map(FilterSpec::with_defaults)
            .collect()),
    };
    if specs.is_empty() {
        return all();
    }
    let mut filters = Vec::new();
    for spec in specs {
        match spec.as_str() {
            "all" => filters.extend(all()?),
            spec => filters.push(given(spec)?.with_window(window)?),
        }
    }
    Ok(filters)
}

fn given(spec: &str) -> Result<GivenFilter, Failure> {
    spec.parse().map_err(|error| {
        Failure::Usage(format!(
            "--filter {spec}: {error}; `dedupstore filters` lists the filters"
        ))
    })
}

/// Returns whether the times of a log are read. A filter with a window that is named uses them if
/// there are any; without them, there is one key per second. With --window they are required.
fn times(specs: &[String], window: Option<u64>, key: &KeyArguments) -> Result<Times, Failure> {
    let named = specs.iter().filter(|spec| *spec != "all");
    let mut uses_time = false;
    for spec in named {
        uses_time |= given(spec)?.spec.window_seconds().is_some();
    }
    let has_time = key.options().time.is_some();
    match (window, uses_time) {
        (None, false) if has_time => Err(Failure::Usage(
            "no filter that was named has a window in seconds, so the times of lines have no \
             meaning; give --window SPAN, for example --window 7d, or omit --time-field and \
             --time-json-key"
                .to_owned(),
        )),
        (Some(_), _) => Ok(Times::Required),
        (None, true) if has_time => Ok(Times::Required),
        (None, true) => Ok(Times::IfRecognized),
        (None, false) => Ok(Times::Unused),
    }
}

fn as_json(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn as_csv(rows: &[Value]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter_map(Value::as_object) {
        // A cell cannot hold a list.
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

fn csv_cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => format!("\"{}\"", text.replace('"', "\"\"")),
        number => number.to_string(),
    }
}

fn as_table(runs: &[RunSummary]) -> String {
    let Some(first) = runs.first() else {
        return String::new();
    };
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            vec![
                run.filter.clone(),
                value_parsers::show_bits(run.memory_bits),
                percent(run.fpr),
                predicted(run.predicted_fpr),
                percent(run.fnr),
                predicted(run.predicted_fnr),
                grouped(run.fp),
                grouped(run.false_negatives),
                percent(Some(run.load)),
                match run.ns_per_observation {
                    Some(nanoseconds) => format!("{nanoseconds:.0}"),
                    None => "–".to_owned(),
                },
            ]
        })
        .collect();
    // Which keys are new and which are repeats depends on the filter if it has a window.
    let is_same = |run: &&RunSummary| {
        let spec = run.filter.parse::<FilterSpec>();
        spec.is_ok_and(|spec| !spec.has_window())
    };
    let counts = runs.iter().find(is_same).map_or(String::new(), |run| {
        let (distinct, repeats) = (grouped(run.distinct), plural(run.repeats, "repeat"));
        format!(", {distinct} distinct, {repeats}")
    });
    format!(
        "{}: {}{counts}{}\n\n{}",
        first.stream,
        plural(first.count, "key"),
        repeat_distances(&first.gaps),
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
                "ns/key"
            ],
            &rows,
        ),
    ) + &weighted_tables(runs)
}

/// Says within how many keys half and nine tenths of the repeats lie.
fn repeat_distances(gaps: &[(u64, u64)]) -> String {
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
            "; half of the repeats are at most {} back, 90 % at most {}",
            plural(within(0.5), "key"),
            grouped(within(0.9))
        ),
    }
}
