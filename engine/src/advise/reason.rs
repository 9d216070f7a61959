//! The sentences that explain a choice.

use super::advice::Estimate;
use super::candidate::{is_bloom, is_from_papers};
use super::question::{Preference, Question};

/// Explains why a filter was chosen.
pub(super) fn of(question: &Question<'_>, choice: &Estimate, meets_bounds: bool) -> String {
    let name = choice.filter.descriptor().name;
    let memory = match question.bits_per_key() {
        Some(bits) if question.window.is_some() => {
            format!("with {} per key in the window", in_bits(bits))
        }
        Some(bits) => format!("with {} per distinct key", in_bits(bits)),
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
        Preference::Balanced => choice.filter.descriptor().advised_because,
    };
    format!("{memory}, {reason}")
}

/// Formats a number of bits with three significant digits.
fn in_bits(bits: f64) -> String {
    match bits {
        ..9.995 => format!("{bits:.2} bits"),
        ..99.95 => format!("{bits:.1} bits"),
        _ => format!("{bits:.0} bits"),
    }
}

/// Explains how the best filter of the papers compares. None if it is the choice.
pub(super) fn of_papers(choice: &Estimate, paper: &Estimate, all: &[Estimate]) -> Option<String> {
    if is_from_papers(&choice.filter) {
        return None;
    }
    let dominates = |it: &&Estimate| it.fpr <= paper.fpr && it.fnr <= paper.fnr;
    let blooms = all.iter().filter(|it| is_bloom(&it.filter));
    let dominating = std::iter::once(choice).chain(blooms).find(dominates);
    let paper = &paper.filter;
    Some(match dominating {
        Some(by) => format!(
            "the best filter of the papers is {paper}; {} is better on both rates",
            by.filter
        ),
        None => format!("the best filter of the papers is {paper}, at a higher cost"),
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
        assert_eq!(in_bits(3912.597), "3913 bits");
    }
}
