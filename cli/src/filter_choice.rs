//! What `create` makes for those who say what will come instead of which filter they want.

use dedupstore::FilterSpec;
use dedupstore::advise::{Preference, Question, advise, least_memory};

use crate::error::Failure;
use crate::quantity;
use crate::sampling::Known;
use crate::table::{grouped, percent};

/// The share of new keys dropped that is aimed at where none is named.
pub const DEFAULT_FPR: f64 = 0.001;

/// What to make.
pub struct Choice {
    pub filter: FilterSpec,
    pub memory_bits: u64,
    pub why: String,
}

/// In as much memory as the share of new keys dropped asks for.
pub fn for_share(distinct: u64, fpr: f64) -> Result<Choice, Failure> {
    let size = least_memory(distinct, fpr).ok_or_else(|| {
        Failure::Usage(format!(
            "no memory is large enough for {} distinct keys of which a share of {fpr} is dropped: \
             give --memory, or a larger --fpr",
            grouped(distinct)
        ))
    })?;
    let why = format!(
        "{} in {}: with {} distinct keys in it, it takes {} of new keys for seen, and never \
         lets a repeat through",
        size.filter,
        quantity::show_bits(size.memory_bits),
        grouped(distinct),
        percent(Some(size.last_drop_chance)),
    );
    Ok(Choice {
        filter: size.filter,
        memory_bits: size.memory_bits,
        why,
    })
}

/// In the memory given: what the adviser says.
pub fn in_memory(
    memory_bits: u64,
    distinct: Option<u64>,
    known: Option<&Known>,
    preference: Preference,
) -> Result<Choice, Failure> {
    let question = Question {
        distinct,
        preference,
        sample: known.map(|known| &known.sample),
        ..Question::of_memory(memory_bits)
    };
    let advice = advise(&question).map_err(|error| Failure::Usage(error.to_string()))?;
    let choice = advice.choice;
    let keys = match distinct {
        Some(distinct) => format!(" for {} distinct keys", grouped(distinct)),
        None => String::new(),
    };
    let why = format!(
        "{}{keys}: {}; it is expected to take {} of new keys for seen and to let {} of repeats through",
        choice.filter,
        advice.reason,
        percent(Some(choice.fpr)),
        percent(Some(choice.fnr)),
    );
    Ok(Choice {
        filter: choice.filter,
        memory_bits,
        why,
    })
}
