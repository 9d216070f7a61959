//! `dedupstore advise`: chooses a filter for a stream.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use dedupstore::DEFAULT_MEMORY;
use dedupstore::advise::{
    Advice, Confidence, Estimate, Preference, Question, RatesBy, Unmeasured, advise, minimum_memory,
};
use dedupstore::lines::KeyRule;
use dedupstore_view::key_options_quoted;
use serde_json::{Value, json};

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::filter_choice::{Choice, DEFAULT_FPR, WindowQuestion};
use crate::growing_filter;
use crate::key_arguments::KeyArguments;
use crate::log_sample;
use crate::output::Output;
use crate::table::{grouped, percent, plural, render};
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

/// A smaller lower bound of the false positive rate says nothing.
const LEAST_SHOWN: f64 = 1e-11;

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
fn memory_option(question: &Question<'_>) -> String {
    let bytes = question.memory_bits / 8;
    let short = value_parsers::show_bits(8 * bytes).replace(' ', "");
    match value_parsers::size(&short) {
        Ok(same) if same == bytes => short,
        _ => bytes.to_string(),
    }
}

/// Returns the command that creates the advised store.
fn create_line(question: &Question<'_>, advice: &Advice, rule: &KeyRule) -> String {
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

fn as_text(question: &Question<'_>, advice: &Advice, rule: &KeyRule) -> String {
    let choice = &advice.choice;
    let mut text = format!(
        "Choose {} in {}: {}.\n",
        choice.filter,
        value_parsers::show_bits(question.memory_bits),
        advice.reason
    );
    if question.weighted {
        text += "Rates are shares of the importance of new keys and of repeats.\n";
    }
    let (when, by) = match question.rates_by {
        RatesBy::Mean => ("over the whole stream", by_mean(choice)),
        RatesBy::End => (
            "at the end of the stream, with all keys",
            "Ranked by these rates; --by mean ranks by the means over the stream.".to_owned(),
        ),
    };
    text += &format!(
        "Expected {when}: false positive rate {}, false negative rate {}{}.\n{by}\n{}\n",
        percent(Some(choice.fpr)),
        percent(Some(choice.fnr)),
        ranges(choice),
        certainty(question, advice),
    );
    if let Some(other) = &advice.other_kind {
        let kind = match other.filter.descriptor().needs.importance {
            true => "uses importance",
            false => "does not use importance",
        };
        text += &format!(
            "For comparison: the best filter that {kind} is {}; its errors cost {} of the \
             importance, those of the choice {}.\n",
            other.filter,
            percent(Some(other.cost)),
            percent(Some(choice.cost)),
        );
    }
    if let Some(papers) = &advice.papers {
        text += &format!("For comparison: {papers}.\n");
    }
    let bound = advice.least_fpr.filter(|least| *least >= LEAST_SHOWN);
    if let Some(least) = bound.filter(|_| question.window.is_none() && !question.weighted) {
        let others = match question.rates_by {
            RatesBy::Mean => {
                " The other rates are means over the stream, which starts with an empty filter, \
                 and can be lower."
            }
            RatesBy::End => "",
        };
        text += &format!(
            "Lower bound: at the end of the stream, when it holds all keys, no filter in this memory \
             that misses no repeat has a false positive rate below {}.{others}\n",
            percent(Some(least))
        );
    }
    if let Some(cheaper) = &advice.cheaper {
        text += &format!(
            "Not the cheapest: {} costs {} per key, the choice {}, but {}.\n",
            cheaper.estimate.filter,
            percent(Some(cheaper.estimate.cost)),
            percent(Some(choice.cost)),
            cheaper.why,
        );
    }
    let rows: Vec<Vec<String>> = std::iter::once(choice)
        .chain(others(advice))
        .map(|estimate| {
            vec![
                estimate.filter.to_string(),
                percent(Some(estimate.fpr)),
                percent(Some(estimate.fnr)),
                percent(Some(estimate.cost)),
                percent(estimate.end_fpr),
            ]
        })
        .collect();
    let cost = match question.weighted {
        true => "cost/importance",
        false => "cost/key",
    };
    text += &format!(
        "\n{}\n{}\n",
        render(&["filter", "FPR", "FNR", cost, "FPR at end"], &rows),
        create_line(question, advice, rule)
    );
    if let Some(growing) = growing(question) {
        let memory = memory_option(question);
        let rate = percent(Some(DEFAULT_FPR)).replace(' ', "");
        text += &format!(
            "If the number of keys is not known, memory can be reserved and used as keys come:\n\
             dedupstore create STORE --grow-to {memory} --fpr {rate}\n{}\n",
            growing.reason
        );
    }
    text
}

/// Returns a filter that grows to the memory, if the number of keys is not known.
fn growing(question: &Question<'_>) -> Option<Choice> {
    let is_unknown = question.distinct.is_none() && question.window.is_none();
    let growing = is_unknown.then(|| growing_filter::up_to(question.memory_bits, DEFAULT_FPR));
    growing.and_then(Result::ok)
}

/// Says that means decide, and what the false positive rate is at the end.
fn by_mean(choice: &Estimate) -> String {
    let end = match choice.end_fpr {
        Some(rate) => format!(
            " At its end the false positive rate is {}.",
            percent(Some(rate))
        ),
        None => String::new(),
    };
    format!("Ranked by the means over the stream; --by end ranks by the rates at its end.{end}")
}

/// Returns the best other filters and those that the text names, the cheapest first.
fn others(advice: &Advice) -> Vec<&Estimate> {
    let mut others: Vec<&Estimate> = advice.runners_up.iter().take(RUNNERS_UP).collect();
    for named in advice.compared.iter().chain(&advice.other_kind) {
        if !others.iter().any(|it| it.filter == named.filter) {
            others.push(named);
        }
    }
    others.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    others
}

/// Returns the ranges of both rates over the kinds of streams; empty if they do not differ.
fn ranges(choice: &Estimate) -> String {
    let range = |(low, high): (f64, f64)| {
        let (low, high) = (percent(Some(low)), percent(Some(high)));
        match low == high {
            true => None,
            false => Some(format!("{low} to {high}")),
        }
    };
    let fpr = range(choice.fpr_range).map(|range| format!("FPR {range}"));
    let fnr = range(choice.fnr_range).map(|range| format!("FNR {range}"));
    let ranges: Vec<String> = fpr.into_iter().chain(fnr).collect();
    match ranges.is_empty() {
        true => String::new(),
        false => format!(" (by kind of stream: {})", ranges.join(", ")),
    }
}

/// Says why candidates were not measured.
fn unmeasured(why: Unmeasured) -> String {
    match why {
        Unmeasured::FewKeys { distinct, least } => format!(
            "The log has {}, and measuring takes at least {}.",
            plural(distinct, "distinct key"),
            grouped(least)
        ),
        Unmeasured::FewRepeats { repeats, least } => format!(
            "The log has {}, and measuring takes at least {}.",
            plural(repeats, "repeat"),
            grouped(least)
        ),
        Unmeasured::LittleMemory { memory_bits, .. } => format!(
            "Reduced in proportion to the keys of the log, the memory would be {}, too little to \
             measure; give a longer LOG.",
            plural(memory_bits, "bit")
        ),
        _ => "Give a LOG to measure.".to_owned(),
    }
}

fn certainty(question: &Question<'_>, advice: &Advice) -> String {
    let per = match question.weighted {
        true => "of the importance",
        false => "per key",
    };
    match advice.confidence {
        Confidence::Assumed {
            near_best_on,
            streams,
            worst_ratio,
        } => format!(
            "Certainty: predicted, not measured. On {near_best_on} of {streams} kinds of streams its cost \
             is within 10 % of the best; in the worst case it is {worst_ratio:.1} times \
             the best. {}",
            unmeasured(advice.unmeasured.unwrap_or(Unmeasured::NoSample)),
        ),
        Confidence::Measured {
            observations,
            ahead,
            standard_error,
        } => {
            let word = match ahead {
                ahead if ahead > 3.0 * standard_error => "it is the best",
                ahead if ahead > standard_error => "it is probably the best",
                _ => "the next filter may be as good",
            };
            format!(
                "Certainty: measured, {word}. On {} of the log, the next filter costs {} ± {} \
                 more {per} (one standard error).",
                plural(observations, "key"),
                percent(Some(ahead)),
                percent(Some(standard_error)),
            )
        }
    }
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
