//! Chooses a filter for `create` from the expected keys or a log.

use dedupstore::FilterSpec;
use dedupstore::advise::{Advice, Preference, Question, advise, minimum_memory};
use dedupstore::filter::MAX_MEMORY_BITS;
use dedupstore_view::span;

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

/// Asks the adviser for a filter in a given memory.
pub fn in_memory(question: &Question<'_>) -> Result<Choice, Failure> {
    let advice = advise(question)?;
    let choice = advice.choice;
    let keys = match question.distinct {
        Some(distinct) => format!(" for {}", plural(distinct, "distinct key")),
        None => String::new(),
    };
    let shares = match question.weighted {
        true => ", as shares of importance",
        false => "",
    };
    let reason = format!(
        "{}{keys}: {}; expected over the whole stream{shares}: false positive rate {}, false \
         negative rate {}",
        choice.filter,
        advice.reason,
        percent(Some(choice.fpr)),
        percent(Some(choice.fnr)),
    );
    Ok(Choice {
        filter: choice.filter,
        memory_bits: question.memory_bits,
        reason,
    })
}

/// A window, and what is known of the stream in it.
#[derive(Clone, Copy)]
pub struct WindowQuestion<'a> {
    pub seconds: u64,
    /// The expected number of distinct keys in one window.
    pub distinct: Option<u64>,
    pub log: Option<&'a LogSample>,
    pub preference: Preference,
}

impl WindowQuestion<'_> {
    /// Asks for a filter with a window of so many seconds, with nothing known of the stream.
    pub fn of(seconds: u64) -> Self {
        WindowQuestion {
            seconds,
            distinct: None,
            log: None,
            preference: Preference::Balanced,
        }
    }

    fn in_memory(&self, memory_bits: u64) -> Question<'_> {
        Question {
            window: Some(self.seconds),
            distinct: self.distinct,
            preference: self.preference,
            sample: self.log.map(|log| &log.sample),
            ..Question::of_memory(memory_bits)
        }
    }

    /// Asks the adviser for a filter in the given memory.
    pub fn choose(&self, memory_bits: u64) -> Result<Choice, Failure> {
        let advice = advise(&self.in_memory(memory_bits))?;
        Ok(self.choice(advice, memory_bits))
    }

    /// Chooses the smallest memory in which both error rates are at most `rate`.
    pub fn choose_for(&self, rate: f64) -> Result<Choice, Failure> {
        let keys = self.distinct.unwrap_or(1).max(1);
        let within = |memory_bits: u64| -> Result<Option<Advice>, Failure> {
            let question = Question {
                max_fpr: Some(rate),
                max_fnr: Some(rate),
                ..self.in_memory(memory_bits)
            };
            let advice = advise(&question)?;
            Ok(advice.keeps_bounds.then_some(advice))
        };
        let (mut too_small, mut memory_bits) = (0, keys.saturating_mul(8).max(1 << 13));
        let mut found = loop {
            match within(memory_bits)? {
                Some(advice) => break advice,
                None if memory_bits >= MAX_MEMORY_BITS => {
                    return Err(Failure::Usage(format!(
                        "no memory is large enough for {} in a window of {} at error rates of \
                         {rate}; give --memory, or a larger rate",
                        plural(keys, "distinct key"),
                        span(self.seconds),
                    )));
                }
                None => {
                    too_small = memory_bits;
                    memory_bits = memory_bits.saturating_mul(2).min(MAX_MEMORY_BITS);
                }
            }
        };
        for _ in 0..BISECTIONS {
            // A whole number of cache lines.
            let middle = (too_small + (memory_bits - too_small) / 2).next_multiple_of(512);
            if middle >= memory_bits {
                break;
            }
            match within(middle)? {
                Some(advice) => (memory_bits, found) = (middle, advice),
                None => too_small = middle,
            }
        }
        Ok(self.choice(found, memory_bits))
    }

    fn choice(&self, advice: Advice, memory_bits: u64) -> Choice {
        let choice = advice.choice;
        let keys = match self.distinct {
            Some(distinct) => format!(
                " for {} in a window of {}",
                plural(distinct, "distinct key"),
                span(self.seconds)
            ),
            None => format!(" for a window of {}", span(self.seconds)),
        };
        let reason = format!(
            "{}{keys}: {}; expected: false positive rate {}, false negative rate {}",
            choice.filter,
            advice.reason,
            percent(Some(choice.fpr)),
            percent(Some(choice.fnr)),
        );
        Choice {
            filter: choice.filter,
            memory_bits,
            reason,
        }
    }
}

/// How often the interval of memory sizes is halved: the result is within 2 %.
const BISECTIONS: u32 = 6;

/// Says for how many keys a store was created, given a log and a window of so many seconds, and
/// whether the log is shorter than that.
pub fn headroom_in_window(log: &LogSample, seconds: u64) -> String {
    let covered = log.sample.seconds();
    let keys = plural(log.keys_in_window(seconds), "distinct key");
    let shorter = match covered < seconds {
        true => format!(
            ", which covers {} and is taken to continue at this rate",
            span(covered)
        ),
        false => String::new(),
    };
    format!(
        "room for {HEADROOM} times the {keys} that a window of {} of the log has{shorter}; \
         --expect N chooses another number",
        span(seconds)
    )
}
