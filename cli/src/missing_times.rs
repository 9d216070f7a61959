//! What to say about lines whose time was not used.

use dedupstore::filter::ClockReport;
use dedupstore::lines::KeyRule;
use dedupstore_view::key_options_quoted;

use crate::table::{grouped, plural};

/// Lines with a key and without a readable time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingTimes {
    pub count: u64,
    /// The number of the first of them, from 1.
    pub first: u64,
}

impl MissingTimes {
    /// Counts a line by its number.
    pub fn add(&mut self, line: u64) {
        if self.count == 0 {
            self.first = line;
        }
        self.count += 1;
    }
}

/// What happened to lines without a readable time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// They counted at the time of the lines around them.
    Counted,
    /// They were looked up as of the store's clock.
    LookedUp,
}

/// Returns a message about lines without a readable time; None if every line has one. `lines` is the
/// number of all lines with a key.
pub fn message(
    rule: &KeyRule,
    missing: MissingTimes,
    lines: u64,
    treatment: Treatment,
) -> Option<String> {
    let MissingTimes { count, first } = missing;
    let check = format!("check {}", time_options(rule));
    let is_first = first == 1;
    let treated = match (treatment, count) {
        (Treatment::LookedUp, 1) => "it was looked up as of the store's clock",
        (Treatment::LookedUp, _) => "they were looked up as of the store's clock",
        (Treatment::Counted, 1) if is_first => "it counted at the first time after it",
        (Treatment::Counted, 1) => "it counted at the time before it",
        (Treatment::Counted, _) if is_first => {
            "they counted at the time before them, those at the start at the first time after them"
        }
        (Treatment::Counted, _) => "they counted at the time before them",
    };
    match (count, treatment) {
        (0, _) => None,
        (count, Treatment::Counted) if count == lines => Some(format!(
            "no line has a readable time, so nothing was forgotten; {check}"
        )),
        (count, Treatment::LookedUp) if count == lines => {
            Some(format!("no line has a readable time; {treated}; {check}"))
        }
        (1, _) => Some(format!(
            "1 of {} lines has no readable time, line {}; {treated}; {check}",
            grouped(lines),
            grouped(first),
        )),
        (count, _) => Some(format!(
            "{} of {} lines have no readable time, first line {}; {treated}; {check}",
            grouped(count),
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
        "{} {have} more than a window ahead of the present step, or more than a day after the \
         machine's clock; {they} counted at the present step. The clock never follows times more \
         than a day after the machine's, and follows others when the next time agrees with them",
        plural(report.ahead, "line"),
    ))
}

/// Returns a message if most lines of a run are late; None otherwise. `lines` is the number of
/// lines with a key.
pub fn late(report: ClockReport, lines: u64) -> Option<String> {
    let which = match lines {
        _ if report.late <= lines / 2 => return None,
        1 => "the only line is late".to_owned(),
        lines => format!(
            "{} of {} lines are late",
            grouped(report.late),
            grouped(lines)
        ),
    };
    Some(format!(
        "{which}: a late line has a time before the present step of the clock, counts at that step, \
         and its key is remembered for longer. Feed logs in the order of time; older ones need a \
         store of their own"
    ))
}

/// Returns the options that select the time.
pub fn time_options(rule: &KeyRule) -> String {
    let mut times = KeyRule::default();
    times.time.clone_from(&rule.time);
    key_options_quoted(&times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(late: u64) -> ClockReport {
        let mut report = ClockReport::default();
        report.late = late;
        report
    }

    #[test]
    fn late_lines_are_reported_if_they_are_most() {
        for (count, lines) in [(0, 0), (1, 2), (2, 4), (5, 11)] {
            assert_eq!(late(report(count), lines), None, "{count} of {lines}");
        }
        let message = |count, lines| late(report(count), lines).expect("most");
        assert!(message(6, 11).starts_with("6 of 11 lines are late: "));
        assert!(message(1, 1).starts_with("the only line is late: "));
    }
}
