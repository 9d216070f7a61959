//! What to say about lines whose time was not used.

use dedupstore::filter::ClockReport;
use dedupstore::lines::KeyRule;
use dedupstore_view::key_options_quoted;

use crate::table::{grouped, plural};

/// Returns a message about lines without a readable time; None if every line has one. `first` is
/// the number of the first of them.
pub fn message(rule: &KeyRule, missing: u64, first: u64, lines: u64) -> Option<String> {
    let check = format!("check {}", time_options(rule));
    match missing {
        0 => None,
        missing if missing == lines => Some(format!(
            "no line has a readable time, so nothing was forgotten; {check}"
        )),
        1 => Some(format!(
            "1 of {} lines has no readable time, line {}; it counted at the time before it; {check}",
            grouped(lines),
            grouped(first),
        )),
        missing => Some(format!(
            "{} of {} lines have no readable time, first line {}; they counted at the time before \
             them; {check}",
            grouped(missing),
            grouped(lines),
            grouped(first),
        )),
    }
}

/// Returns a message about lines whose time the clock did not follow; None if there are none.
pub fn ahead(report: ClockReport) -> Option<String> {
    let (have, they) = match report.ahead {
        0 => return None,
        1 => ("has a time", "it"),
        _ => ("have times", "they"),
    };
    Some(format!(
        "{} {have} more than a window ahead of the line before, or more than a day ahead of the \
         machine's clock; {they} counted at the time before. The clock follows when 8 lines in a \
         row are ahead",
        plural(report.ahead, "line"),
    ))
}

/// Returns the options that select the time.
pub fn time_options(rule: &KeyRule) -> String {
    let mut times = KeyRule::default();
    times.time.clone_from(&rule.time);
    key_options_quoted(&times)
}
