//! `dedupstore advise`: which filter for this stream, and why.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use dedupstore::advise::{Advice, Estimate, Preference, Question, Sureness, advise, least_memory};
use serde_json::{Value, json};

use crate::error::Failure;
use crate::keys::KeyArguments;
use crate::opening::DEFAULT_MEMORY;
use crate::output::Output;
use crate::quantity;
use crate::sampling;
use crate::table::{grouped, percent, render};

/// Say which filter to take, what to expect of it, and how sure that is
///
/// With a LOG, filters are run over it (a sample of its keys, if it is long) in as much less
/// memory as it has fewer keys than you expect. Without, formulas are asked what would happen
/// on the streams that yours could be.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A log like what will come; `-` is standard input
    #[arg(value_name = "LOG")]
    log: Option<PathBuf>,

    /// Memory for the filter [default: what --expect and --max-fpr ask for; else 64MiB]
    #[arg(short, long, value_name = "SIZE", value_parser = quantity::size)]
    memory: Option<u64>,

    /// How many distinct keys will come [default: as many as the LOG has]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    expect: Option<u64>,

    /// The most of the new keys that may be dropped, like 0.01 or 1%
    #[arg(long, value_name = "P", value_parser = quantity::share)]
    max_fpr: Option<f64>,

    /// The most of the repeats that may pass
    #[arg(long, value_name = "P", value_parser = quantity::share)]
    max_fnr: Option<f64>,

    /// What a dropped new key costs
    #[arg(long, value_name = "C", default_value = "1", value_parser = cost)]
    cost_fp: f64,

    /// What a repeat that passes costs
    #[arg(long, value_name = "C", default_value = "1", value_parser = cost)]
    cost_fn: f64,

    /// Which error is worse: dropping a new key, or letting a repeat through
    #[arg(long, value_name = "WHICH", default_value = "balanced")]
    prefer: Prefer,

    #[command(flatten)]
    key: KeyArguments,

    /// Print one object
    #[arg(long)]
    json: bool,
}

/// [`Preference`], as an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Prefer {
    /// The cheaper errors
    #[default]
    Balanced,
    /// A new key is never dropped
    NoDrops,
    /// A repeat never passes
    NoRepeats,
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
  dedupstore advise --expect 10M --max-fpr 0.1% --prefer no-repeats";

/// How many runners-up are shown.
const SHOWN: usize = 5;

fn cost(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(cost) if cost >= 0.0 && cost.is_finite() => Ok(cost),
        _ => Err(format!("expected a cost like 1 or 0.5; found `{text}`")),
    }
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let known = match &arguments.log {
        Some(log) => Some(sampling::read(Some(log.clone()), &arguments.key)?),
        None => None,
    };
    let distinct = arguments.expect.or(known.as_ref().map(|it| it.distinct));
    let question = Question {
        distinct,
        max_fpr: arguments.max_fpr,
        max_fnr: arguments.max_fnr,
        cost_fp: arguments.cost_fp,
        cost_fn: arguments.cost_fn,
        preference: arguments.prefer.into(),
        sample: known.as_ref().map(|it| &it.sample),
        ..Question::of_memory(memory_bits(&arguments, distinct)?)
    };
    let advice = advise(&question)
        .map_err(|error| Failure::Usage(format!("{error}; give another size with --memory")))?;
    let mut output = Output::standard()?;
    match arguments.json {
        true => output.text(&format!("{}\n", as_json(&question, &advice)))?,
        false => output.text(&as_text(&question, &advice))?,
    }
    output.flush()
}

fn memory_bits(arguments: &Arguments, distinct: Option<u64>) -> Result<u64, Failure> {
    if let Some(bytes) = arguments.memory {
        return Ok(bytes.saturating_mul(8));
    }
    let size = match (distinct, arguments.max_fpr) {
        (Some(distinct), Some(fpr)) => least_memory(distinct, fpr),
        _ => None,
    };
    match size {
        Some(size) => Ok(size.memory_bits),
        None => quantity::size(DEFAULT_MEMORY)
            .map(|bytes| bytes * 8)
            .map_err(Failure::Usage),
    }
}

/// The command that makes what is advised.
fn create_line(question: &Question<'_>, advice: &Advice) -> String {
    let bytes = question.memory_bits / 8;
    let short = quantity::show_bits(8 * bytes).replace(' ', "");
    let memory = match quantity::size(&short) {
        Ok(same) if same == bytes => short,
        _ => bytes.to_string(),
    };
    let filter = &advice.choice.filter;
    format!("dedupstore create STORE --memory {memory} --filter {filter}")
}

fn as_text(question: &Question<'_>, advice: &Advice) -> String {
    let choice = &advice.choice;
    let mut text = format!(
        "Take {} in {}: {}.\n",
        choice.filter,
        quantity::show_bits(question.memory_bits),
        advice.reason
    );
    text += &format!(
        "It is expected to drop {} of new keys and to let {} of repeats through{}.\n{}\n",
        percent(Some(choice.fpr)),
        percent(Some(choice.fnr)),
        ranges(choice),
        how_sure(&advice.sureness),
    );
    if let Some(papers) = &advice.papers {
        text += &format!("For comparison: {papers}.\n");
    }
    if let Some(least) = advice.least_fpr {
        text += &format!(
            "No filter that misses no repeat could drop less than {} of new keys once all keys \
             are in.\n",
            percent(Some(least))
        );
    }
    let rows: Vec<Vec<String>> = std::iter::once(choice)
        .chain(advice.runners_up.iter().take(SHOWN))
        .map(|it| {
            vec![
                it.filter.to_string(),
                percent(Some(it.fpr)),
                percent(Some(it.fnr)),
                percent(Some(it.cost)),
            ]
        })
        .collect();
    text += &format!(
        "\n{}\n{}\n",
        render(&["filter", "FPR", "FNR", "cost a key"], &rows),
        create_line(question, advice)
    );
    text
}

fn ranges(choice: &Estimate) -> String {
    let (fpr, fnr) = (choice.fpr_range, choice.fnr_range);
    if fpr.0 == fpr.1 && fnr.0 == fnr.1 {
        return String::new();
    }
    let range =
        |(low, high): (f64, f64)| format!("{} to {}", percent(Some(low)), percent(Some(high)));
    format!(" (from stream to stream {} and {})", range(fpr), range(fnr))
}

fn how_sure(sureness: &Sureness) -> String {
    match *sureness {
        Sureness::Assumed {
            best_on,
            streams,
            worst_times_the_best,
        } => format!(
            "How sure: nothing was measured. On {best_on} of {streams} kinds of streams that yours \
             could be it is within a tenth of the best, and at worst it errs {worst_times_the_best:.1} \
             times as much; a LOG would tell."
        ),
        Sureness::Measured {
            observations,
            ahead,
            standard_error,
        } => {
            let word = match ahead {
                ahead if ahead > 3.0 * standard_error => "it is the best",
                ahead if ahead > standard_error => "it is probably the best",
                _ => "the next one may be as good",
            };
            format!(
                "How sure: {word}. Over {} keys of the log the next filter costs {} ± {} a key more \
                 (one standard error).",
                grouped(observations),
                percent(Some(ahead)),
                percent(Some(standard_error)),
            )
        }
    }
}

fn as_json(question: &Question<'_>, advice: &Advice) -> Value {
    let estimate = |it: &Estimate| {
        json!({
            "filter": it.filter.to_string(),
            "fpr": it.fpr,
            "fnr": it.fnr,
            "fpr_range": it.fpr_range,
            "fnr_range": it.fnr_range,
            "cost": it.cost,
        })
    };
    let sureness = match advice.sureness {
        Sureness::Assumed {
            best_on,
            streams,
            worst_times_the_best,
        } => json!({
            "by": "theory",
            "best_on": best_on,
            "streams": streams,
            "worst_times_the_best": worst_times_the_best,
        }),
        Sureness::Measured {
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
    let runners_up: Vec<Value> = advice.runners_up.iter().map(estimate).collect();
    json!({
        "schema": 1,
        "filter": advice.choice.filter.to_string(),
        "memory_bits": question.memory_bits,
        "distinct": question.distinct,
        "bits_a_key": question.bits_a_key(),
        "fpr": advice.choice.fpr,
        "fnr": advice.choice.fnr,
        "choice": estimate(&advice.choice),
        "runners_up": runners_up,
        "keeps_bounds": advice.keeps_bounds,
        "reason": advice.reason,
        "papers": advice.papers,
        "sureness": sureness,
        "least_fpr": advice.least_fpr,
        "create": create_line(question, advice),
    })
}
