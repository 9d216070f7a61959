//! The sentences that explain a choice.

use super::advice::Estimate;
use super::candidate::{is_bloom, is_from_papers};
use super::question::{Preference, Question};
use crate::filter::{AnyFilter, PossibleErrors};

/// Explains why a filter was chosen.
pub(super) fn of(question: &Question<'_>, choice: &Estimate, meets_bounds: bool) -> String {
    let name = choice.filter.descriptor().name;
    let by_importance = match question.weighted {
        true => "weighted by importance, ",
        false => "",
    };
    let memory = match question.bits_per_key() {
        Some(bits) if question.window.is_some() => {
            format!("with {} per key in the window", in_bits(bits))
        }
        Some(bits) => format!("{by_importance}with {} per distinct key", in_bits(bits)),
        None => "with nothing known about the stream".to_owned(),
    };
    if !meets_bounds {
        return format!(
            "{memory}, no filter is expected to meet the bounds; {name} comes closest to them"
        );
    }
    let reason = match question.preference {
        Preference::NoDrops if question.window.is_some() => {
            "no filter with a window excludes false positives, and wide fingerprints make them rare"
        }
        Preference::NoRepeats if question.window.is_some() => {
            "no repeat within the window may be missed, so the filter forgets no key before that"
        }
        Preference::NoDrops => {
            "no new key may be dropped, so the filter keeps whole fingerprints and forgets the oldest"
        }
        Preference::NoRepeats => {
            "no repeat may be missed, so the filter forgets nothing; more keys than expected raise \
             its false positive rate"
        }
        Preference::Balanced if question.bits_per_key().is_none() && is_bloom(&choice.filter) => {
            "a blocked Bloom filter does well in comparison with the best filter for each kind of \
             stream, and is the fastest, with one cache line per key"
        }
        Preference::Balanced if never_forgets(question, choice) => {
            "a blocked Bloom filter that never forgets makes about the fewest errors in this memory \
             and is the fastest, with one cache line per key"
        }
        Preference::Balanced => choice.filter.descriptor().advised_because,
    };
    format!("{memory}, {reason}")
}

/// Returns whether a filter that can forget does not, because of its parameters.
fn never_forgets(question: &Question<'_>, choice: &Estimate) -> bool {
    let built = AnyFilter::build(&choice.filter, question.memory_bits);
    choice.filter.descriptor().name == "blocked"
        && built.is_ok_and(|it| it.possible_errors() == PossibleErrors::FalsePositives)
}

/// Formats a number of bits with three significant digits.
fn in_bits(bits: f64) -> String {
    match bits {
        ..9.995 => format!("{bits:.2} bits"),
        ..99.95 => format!("{bits:.1} bits"),
        ..999.5 => format!("{bits:.0} bits"),
        _ => {
            let unit = libm::pow(10.0, libm::floor(libm::log10(bits)) - 2.0);
            format!("{} bits", grouped((libm::round(bits / unit) * unit) as u64))
        }
    }
}

/// Formats a number with commas between thousands.
fn grouped(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), number % 1000),
    }
}

/// Explains how the best filter of the papers compares, and returns the filters that the sentence
/// names. None if it is the choice.
pub(super) fn of_papers(
    choice: &Estimate,
    paper: &Estimate,
    all: &[Estimate],
) -> Option<(String, Vec<Estimate>)> {
    if is_from_papers(&choice.filter) {
        return None;
    }
    let dominates = |it: &&Estimate| it.fpr <= paper.fpr && it.fnr <= paper.fnr;
    let blooms = all.iter().filter(|it| is_bloom(&it.filter));
    let dominating = std::iter::once(choice).chain(blooms).find(dominates);
    let name = &paper.filter;
    Some(match dominating {
        Some(by) => (
            format!(
                "the best filter of the papers is {name}; {} is better on both rates",
                by.filter
            ),
            vec![paper.clone(), by.clone()],
        ),
        None => (
            format!("the best filter of the papers is {name}, at a higher cost"),
            vec![paper.clone()],
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_have_three_digits() {
        assert_eq!(in_bits(1.3981), "1.40 bits");
        assert_eq!(in_bits(9.999), "10.0 bits");
        assert_eq!(in_bits(99.96), "100 bits");
        assert_eq!(in_bits(3912.597), "3,910 bits");
        assert_eq!(in_bits(10_737_418.24), "10,700,000 bits");
    }
}
