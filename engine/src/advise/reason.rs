//! Why, in a sentence a person would say.

use super::advice::Estimate;
use super::candidate::is_from_papers;
use super::question::{Preference, Question};

/// Why this one.
pub(super) fn of(question: &Question<'_>, choice: &Estimate, keeps_bounds: bool) -> String {
    let name = choice.filter.descriptor().name;
    let room = match question.bits_a_key() {
        Some(bits) => format!("with {bits:.3} bits for each distinct key"),
        None => "with nothing known of the stream".to_owned(),
    };
    if !keeps_bounds {
        return format!(
            "{room} no filter is expected to keep the bounds; {name} comes nearest to them"
        );
    }
    let why = match (question.preference, name) {
        (Preference::NoDrops, _) => {
            "no new key may be lost, so whole fingerprints are kept and the oldest are forgotten"
        }
        (Preference::NoRepeats, _) => {
            "no repeat may pass, so nothing is ever forgotten; keep it from overfilling"
        }
        (_, "bloom") => "there is room to remember every key, and k bits anywhere do that best",
        (_, "blocked") => {
            "there is room to remember nearly every key, and a filter of one line a key does that \
             fastest and forgets a little where a line overfills"
        }
        (_, "slot") => {
            "there is too little room to remember every key, and a slot keeps the latest"
        }
        (_, "recent" | "word") => "repeats are soon met again, and it keeps what was met lately",
        (_, "aging") => "old keys may be forgotten, and two generations of a line do that evenly",
        (_, "buffer") => "the keys that repeat fit into memory as they are",
        _ => "its errors cost least here",
    };
    format!("{room}, {why}")
}

/// How the best of the papers' filters compares.
pub(super) fn of_papers(choice: &Estimate, paper: &Estimate, all: &[Estimate]) -> Option<String> {
    if is_from_papers(&choice.filter) {
        return None;
    }
    let better = |it: &&Estimate| it.fpr <= paper.fpr && it.fnr <= paper.fnr;
    let blooms = all
        .iter()
        .filter(|it| matches!(it.filter.descriptor().name, "bloom" | "blocked"));
    let beaten_by = std::iter::once(choice).chain(blooms).find(better);
    let paper = &paper.filter;
    Some(match beaten_by {
        Some(by) => format!(
            "of the filters of the papers {paper} comes nearest, and {} is better on both rates",
            by.filter
        ),
        None => format!("of the filters of the papers {paper} comes nearest, at a greater cost"),
    })
}
