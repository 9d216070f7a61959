//! Chooses a filter for `create` from the expected keys or a log.

use dedupstore::FilterSpec;
use dedupstore::advise::{Preference, Question, advise, minimum_memory};

use crate::error::Failure;
use crate::log_sample::LogSample;
use crate::table::{percent, plural};
use crate::value_parsers;

/// The false positive rate to aim at if none is given.
pub const DEFAULT_FPR: f64 = 0.001;

/// How many times the distinct keys of a log a store has room for: streams go on after their log.
pub const HEADROOM: u64 = 4;

/// Says for how many keys a store was created, given the distinct keys of a log.
pub fn headroom(of_log: u64) -> String {
    format!(
        "room for {HEADROOM} times the {} of the log; --expect N chooses another number",
        plural(of_log, "distinct key"),
    )
}

/// A filter, its memory, and the reason for the choice.
pub struct Choice {
    pub filter: FilterSpec,
    pub memory_bits: u64,
    pub reason: String,
}

/// Chooses the smallest memory that reaches a false positive rate.
pub fn for_fpr(distinct: u64, fpr: f64) -> Result<Choice, Failure> {
    let size = minimum_memory(distinct, fpr).ok_or_else(|| {
        Failure::Usage(format!(
            "no memory is large enough for {} at a false positive rate of {fpr}; \
             give --memory, or a larger --fpr",
            plural(distinct, "distinct key")
        ))
    })?;
    let reason = format!(
        "{} in {}: with {} in it, its false positive rate is {}; it has no false \
         negatives",
        size.filter,
        value_parsers::show_bits(size.memory_bits),
        plural(distinct, "distinct key"),
        percent(Some(size.final_fpr)),
    );
    Ok(Choice {
        filter: size.filter,
        memory_bits: size.memory_bits,
        reason,
    })
}

/// Asks the adviser for a filter in the given memory.
pub fn in_memory(
    memory_bits: u64,
    distinct: Option<u64>,
    log: Option<&LogSample>,
    preference: Preference,
) -> Result<Choice, Failure> {
    let question = Question {
        distinct,
        preference,
        sample: log.map(|log| &log.sample),
        ..Question::of_memory(memory_bits)
    };
    let advice = advise(&question)?;
    let choice = advice.choice;
    let keys = match distinct {
        Some(distinct) => format!(" for {}", plural(distinct, "distinct key")),
        None => String::new(),
    };
    let reason = format!(
        "{}{keys}: {}; expected over the whole stream: false positive rate {}, false negative rate \
         {}",
        choice.filter,
        advice.reason,
        percent(Some(choice.fpr)),
        percent(Some(choice.fnr)),
    );
    Ok(Choice {
        filter: choice.filter,
        memory_bits,
        reason,
    })
}
