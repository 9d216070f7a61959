//! What to say about lines without a readable importance.

use dedupstore::lines::{KeyRule, LEAST_IMPORTANCE};
use dedupstore_view::key_options_quoted;

use crate::table::grouped;

/// The message for a filter that uses the importance of lines, if nothing says where it is.
pub const NO_OPTION: &str = "the filter uses the importance of lines, and all lines count with the \
    least; say where it is with --importance-field N or --importance-json-key PATH";

/// Returns why a store does not record the importance of the lines of the log that it was created
/// for. `is_weighed`: filters were compared by errors weighted by importance.
pub const fn not_recorded(is_weighed: bool) -> &'static str {
    match is_weighed {
        true => {
            "it does not use the importance of lines, and errs less than the filters that do, also \
             if errors are weighted by it"
        }
        false => {
            "it does not use the importance of lines; to compare it with the filters that do, give \
             --memory SIZE: they are for scarce memory"
        }
    }
}

/// Returns a message about lines without a readable importance; None if every line has one.
/// `first` is the number of the first of them.
pub fn message(rule: &KeyRule, missing: u64, first: u64, lines: u64) -> Option<String> {
    let mut options = KeyRule::default();
    options.importance.clone_from(&rule.importance);
    let check = format!("check {}", key_options_quoted(&options));
    match missing {
        0 => None,
        missing if missing == lines => Some(format!(
            "no line has a readable importance, so all counted with importance {LEAST_IMPORTANCE}; \
             {check}"
        )),
        1 => Some(format!(
            "1 of {} lines has no readable importance, line {}; it counted with importance \
             {LEAST_IMPORTANCE}; {check}",
            grouped(lines),
            grouped(first),
        )),
        missing => Some(format!(
            "{} of {} lines have no readable importance, first line {}; they counted with \
             importance {LEAST_IMPORTANCE}; {check}",
            grouped(missing),
            grouped(lines),
            grouped(first),
        )),
    }
}
