//! `dedupstore advise`: chooses a filter for a stream.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use dedupstore::DEFAULT_MEMORY;
use dedupstore::advise::{
    Advice, Confidence, Estimate, Preference, Question, RatesBy, advise, minimum_memory,
};
use dedupstore::lines::KeyRule;
use dedupstore_view::key_options_quoted;
use serde_json::{Value, json};

use super::advice_text::as_text;
use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::filter_choice::WindowQuestion;
use crate::key_arguments::KeyArguments;
use crate::log_sample;
use crate::output::Output;
use crate::value_parsers;

/// Choose a filter, with its expected error rates and how certain the choice is
///
/// With a LOG, filters are measured on it, or on a sample of its keys if it is long. If the log
/// has fewer keys than you expect, the memory is reduced in proportion. Without a LOG, formulas
/// predict the error rates on several kinds of streams.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A log that is like the expected stream; `-` is standard input
    #[arg(value_name = "LOG")]
    log: Option<PathBuf>,

    #[arg(short, long, help = memory_help(), value_name = "SIZE", value_parser = value_parsers::size)]
    memory: Option<u64>,

    /// Choose a filter that forgets a key when this time has passed since it was last new, as in
    /// 7d, 1d12h, 90m or 30s. The times of a LOG are read as the options say, or recognized
    #[arg(long, value_name = "SPAN", value_parser = value_parsers::window, allow_hyphen_values = true)]
    window: Option<u64>,

    /// The expected number of distinct keys, in one window with --window [default: that of the
    /// LOG]
    #[arg(long, value_name = "N", value_parser = value_parsers::count)]
    expect: Option<u64>,

    /// The largest acceptable false positive rate (new keys dropped), like 0.01 or 1%
    #[arg(long, value_name = "P", value_parser = value_parsers::share)]
    max_fpr: Option<f64>,

    /// The largest acceptable false negative rate (repeats that pass)
    #[arg(long, value_name = "P", value_parser = value_parsers::share)]
    max_fnr: Option<f64>,

    /// The cost of a false positive
    #[arg(long, value_name = "C", default_value = "1", value_parser = cost)]
    cost_fp: f64,

    /// The cost of a false negative
    #[arg(long, value_name = "C", default_value = "1", value_parser = cost)]
    cost_fn: f64,

    /// Which error is worse: dropping a new key, or letting a repeat through
    #[arg(long, value_name = "WHICH", default_value = "balanced")]
    prefer: Prefer,

    /// Let an error weigh as much as the importance of its line in the LOG. Filters that use
    /// importance are then candidates, too; one that does not may be better even so
    #[arg(
        long,
        requires = "log",
        requires = "importance",
        conflicts_with = "window"
    )]
    weight_by_importance: bool,

    /// Which rates decide: their means over the stream, or those at its end, when the filter holds
    /// all keys
    #[arg(long, value_name = "WHICH", default_value = "mean")]
    by: By,

    #[command(flatten)]
    key: KeyArguments,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The value of `--prefer`; see [`Preference`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Prefer {
    /// Minimize the total cost of errors
    #[default]
    Balanced,
    /// Prefer filters that drop no new key
    NoDrops,
    /// Prefer filters that let no repeat through
    NoRepeats,
}

/// The value of `--by`; see [`RatesBy`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The means over the stream, which starts with an empty filter
    #[default]
    Mean,
    /// The rates at the end, predicted by formulas
    End,
}

impl From<By> for RatesBy {
    fn from(by: By) -> Self {
        match by {
            By::Mean => RatesBy::Mean,
            By::End => RatesBy::End,
        }
    }
}

impl From<Prefer> for Preference {
    fn from(prefer: Prefer) -> Self {
        match prefer {
            Prefer::Balanced => Preference::Balanced,
            Prefer::NoDrops => Preference::NoDrops,
            Prefer::NoRepeats => Preference::NoRepeats,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  dedupstore advise --memory 256MiB --expect 100M
  dedupstore advise last-month.txt.gz --memory 16MiB --expect 50M
  dedupstore advise access.log --field 7 --max-fpr 1% --json
  dedupstore advise --expect 10M --max-fpr 0.1% --prefer no-repeats
  dedupstore advise access.log --field 7 --window 7d --time-field 4
  dedupstore advise links.tsv --field 1 --importance-field 2 --weight-by-importance";

/// The number of runners-up in the table.
const RUNNERS_UP: usize = 5;

fn memory_help() -> String {
    format!(
        "Memory for the filter [default: enough for --expect and --max-fpr if both are given, \
         otherwise {DEFAULT_MEMORY}]"
    )
}

fn cost(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(cost) if cost >= 0.0 && cost.is_finite() => Ok(cost),
        _ => Err(format!("expected a cost like 1 or 0.5; found `{text}`")),
    }
}

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let window = arguments.window;
    let mut rule = arguments.key.rule()?;
    if rule.time.is_some() && window.is_none() {
        return Err(Failure::Usage(
            "the times of lines have a meaning only for a filter with a window; give --window \
             SPAN, for example --window 7d, or omit --time-field and --time-json-key"
                .to_owned(),
        ));
    }
    if rule.importance.is_some() && !arguments.weight_by_importance {
        return Err(Failure::Usage(
            "the importance of lines has a meaning only with --weight-by-importance; give it, or \
             omit --importance-field and --importance-json-key"
                .to_owned(),
        ));
    }
    let log = match &arguments.log {
        Some(log) => {
            let log = Some(log.clone());
            Some(log_sample::read(log, &arguments.key, window, global.quiet)?)
        }
        None => None,
    };
    let of_log = log.as_ref().map(|log| match window {
        Some(seconds) => log.keys_in_window(seconds),
        None => log.distinct,
    });
    let distinct = arguments.expect.or(of_log);
    let question = Question {
        window,
        distinct,
        max_fpr: arguments.max_fpr,
        max_fnr: arguments.max_fnr,
        cost_fp: arguments.cost_fp,
        cost_fn: arguments.cost_fn,
        preference: arguments.prefer.into(),
        rates_by: arguments.by.into(),
        sample: log.as_ref().map(|log| &log.sample),
        weighted: arguments.weight_by_importance,
        ..Question::of_memory(memory_bits(&arguments, distinct)?)
    };
    let advice = advise(&question)?;
    // The store reads the times as the adviser did.
    if let Some(times) = log.as_ref().and_then(|log| log.times.as_ref()) {
        rule.time.clone_from(&times.rule);
    }
    let mut output = Output::standard()?;
    match arguments.json {
        true => output.text(&format!("{}\n", as_json(&question, &advice, &rule)))?,
        false => output.text(&as_text(&question, &advice, &rule))?,
    }
    output.flush()
}

fn memory_bits(arguments: &Arguments, distinct: Option<u64>) -> Result<u64, Failure> {
    if let Some(bytes) = arguments.memory {
        return Ok(bytes.saturating_mul(8));
    }
    let size = match (distinct, arguments.max_fpr, arguments.window) {
        (Some(distinct), Some(fpr), None) => {
            minimum_memory(distinct, fpr).map(|size| size.memory_bits)
        }
        (Some(_), Some(fpr), Some(seconds)) => {
            let question = WindowQuestion {
                distinct,
                preference: arguments.prefer.into(),
                ..WindowQuestion::of(seconds)
            };
            Some(question.choose_for(fpr)?.memory_bits)
        }
        _ => None,
    };
    Ok(size.unwrap_or(DEFAULT_MEMORY.bits()))
}

/// Returns the memory as the value of an option.
pub fn memory_option(question: &Question<'_>) -> String {
    let bytes = question.memory_bits / 8;
    let short = value_parsers::show_bits(8 * bytes).replace(' ', "");
    match value_parsers::size(&short) {
        Ok(same) if same == bytes => short,
        _ => bytes.to_string(),
    }
}

/// Returns the command that creates the advised store.
pub fn create_line(question: &Question<'_>, advice: &Advice, rule: &KeyRule) -> String {
    let memory = memory_option(question);
    let filter = &advice.choice.filter;
    let mut rule = rule.clone();
    rule.importance = rule
        .importance
        .filter(|_| filter.descriptor().needs.importance);
    let options = match key_options_quoted(&rule) {
        options if options.is_empty() => options,
        options => format!(" {options}"),
    };
    format!("dedupstore create STORE --memory {memory} --filter {filter}{options}")
}

/// Returns the best other filters and those that the text names, the cheapest first.
pub fn others(advice: &Advice) -> Vec<&Estimate> {
    let mut others: Vec<&Estimate> = advice.runners_up.iter().take(RUNNERS_UP).collect();
    for named in advice.compared.iter().chain(&advice.other_kind) {
        if !others.iter().any(|it| it.filter == named.filter) {
            others.push(named);
        }
    }
    others.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    others
}

fn as_json(question: &Question<'_>, advice: &Advice, rule: &KeyRule) -> Value {
    let object = |estimate: &Estimate| {
        json!({
            "filter": estimate.filter.to_string(),
            "fpr": estimate.fpr,
            "fnr": estimate.fnr,
            "fpr_range": estimate.fpr_range,
            "fnr_range": estimate.fnr_range,
            "end_fpr": estimate.end_fpr,
            "cost": estimate.cost,
        })
    };
    let certainty = match advice.confidence {
        Confidence::Assumed {
            near_best_on,
            streams,
            worst_ratio,
        } => json!({
            "by": "theory",
            "best_on": near_best_on,
            "streams": streams,
            "worst_times_the_best": worst_ratio,
        }),
        Confidence::Measured {
            observations,
            ahead,
            standard_error,
        } => json!({
            "by": "sample",
            "observations": observations,
            "ahead": ahead,
            "standard_error": standard_error,
        }),
    };
    let runners_up: Vec<Value> = advice.runners_up.iter().map(object).collect();
    json!({
        "schema": 1,
        "filter": advice.choice.filter.to_string(),
        "memory_bits": question.memory_bits,
        "window": question.window,
        "distinct": question.distinct,
        "rates_by": question.rates_by.name(),
        "bits_a_key": question.bits_per_key(),
        "fpr": advice.choice.fpr,
        "fnr": advice.choice.fnr,
        "choice": object(&advice.choice),
        "runners_up": runners_up,
        "weighted": question.weighted,
        "other_kind": advice.other_kind.as_ref().map(object),
        "keeps_bounds": advice.keeps_bounds,
        "reason": advice.reason,
        "papers": advice.papers,
        "cheaper": advice.cheaper.as_ref().map(|cheaper| {
            let mut cheaper_object = object(&cheaper.estimate);
            cheaper_object["because"] = json!(cheaper.why.to_string());
            cheaper_object
        }),
        "compared": advice.compared.iter().map(object).collect::<Vec<_>>(),
        "sureness": certainty,
        "least_fpr": advice.least_fpr,
        "create": create_line(question, advice, rule),
    })
}
