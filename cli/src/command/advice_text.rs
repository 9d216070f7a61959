//! The text of `dedupstore advise`.

use dedupstore::advise::{Advice, Confidence, Estimate, Question, RatesBy, Unmeasured};
use dedupstore::lines::KeyRule;

use super::advise::{create_line, memory_option, others};
use crate::filter_choice::{Choice, DEFAULT_FPR};
use crate::growing_filter;
use crate::table::{grouped, percent, plural, render};
use crate::value_parsers;

/// A smaller lower bound of the false positive rate says nothing.
const LEAST_SHOWN: f64 = 1e-11;

/// Formats the advice for a person.
pub fn as_text(question: &Question<'_>, advice: &Advice, rule: &KeyRule) -> String {
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
