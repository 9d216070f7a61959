//! What to say about lines without a key.

use dedupstore::lines::{KeyRule, KeySelector};
use dedupstore_view::key_options_quoted;

use crate::table::grouped;

/// Returns a message about lines without a key; None if every line has one. `treatment` says
/// what was done with them.
pub fn message(rule: &KeyRule, missing: u64, lines: u64, treatment: &str) -> Option<String> {
    let what = match &rule.selector {
        KeySelector::Json(_) => "value",
        KeySelector::Pattern(_) => "match",
        _ => "field",
    };
    match (missing, lines) {
        (0, _) => None,
        (1, 2..) => Some(format!(
            "1 of {} lines has no such {what} and was {treatment}",
            grouped(lines)
        )),
        (missing, lines) if missing < lines => Some(format!(
            "{} of {} lines have no such {what} and were {treatment}",
            grouped(missing),
            grouped(lines)
        )),
        (_, 1) => Some(format!(
            "the only line has no such {what} and was {treatment}; check {}",
            selector_options(rule)
        )),
        (_, lines) => Some(format!(
            "none of the {} lines has such a {what}, so nothing was compared: all were \
             {treatment}; check {}",
            grouped(lines),
            selector_options(rule)
        )),
    }
}

/// Returns the options that select the key.
pub fn selector_options(rule: &KeyRule) -> String {
    key_options_quoted(&KeyRule::from(rule.selector.clone()))
}
