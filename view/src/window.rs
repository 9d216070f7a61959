//! The part of the report of `dedupstore inspect` that is about a window.

use dedupstore::FilterSpec;
use dedupstore::filter::{AnyFilter, ClockKind};
use dedupstore::store::{Inspection, Leaving, WindowInspection};

use crate::key::time_options;
use crate::numbers::{duration, grouped, percent, plural};
use crate::printable::printable;
use crate::time::{forgetting, moment, units};

/// How far a store's clock may be ahead of the machine's before that is reported.
const TOLERANCE_SECONDS: u64 = 86_400;

/// Warns that the clock of a store is more than a day ahead of the machine's, given in seconds since
/// 1970. `step_begin` is when the present step of the store's clock began.
pub fn clock_ahead_warning(name: &str, step_begin: u64, machine: u64) -> Option<String> {
    let ahead = step_begin.checked_sub(machine)?;
    (ahead > TOLERANCE_SECONDS).then(|| {
        format!(
            "the clock of {name} is at {}, {} ahead of the machine's: lines with times before that \
             are late and count at that step. Check the machine's clock; if it is right, a line \
             had a wrong time, and only another store starts at an earlier one",
            moment(step_begin),
            duration(ahead),
        )
    })
}

/// The number of rows that say when keys leave; `--json` has all.
const LEAVING_ROWS: usize = 6;

/// Returns the rows about a window.
pub(crate) fn window_rows(
    inspection: &Inspection,
    window: &WindowInspection,
) -> Vec<(&'static str, String)> {
    let kind = kind_of(window);
    let has_no_time = kind == ClockKind::Seconds && window.present_unix_seconds.is_none();
    let mut rows = vec![("clock", clock(inspection, window))];
    rows.extend(forgets(inspection).map(|text| ("forgets", text)));
    let step = units(kind, window.step);
    rows.push(match window.present_unix_seconds {
        Some(begin) => (
            "step",
            format!("{step}; the present one began {}", moment(begin)),
        ),
        None if has_no_time => ("step", format!("{step}; no time yet")),
        None => (
            "step",
            format!("{step}; the present one is number {}", window.present_step),
        ),
    });
    let machine = inspection
        .checkpoint_unix_seconds
        .saturating_add(inspection.checkpoint_age_seconds);
    let begin = window.present_unix_seconds.unwrap_or(0);
    rows.extend(clock_ahead_warning("the store", begin, machine).map(|text| ("warning", text)));
    if let Some(oldest) = window.oldest_unix_seconds.filter(|_| window.live_keys > 0) {
        rows.push(("since", moment(oldest)));
    }
    rows.push((
        "keys",
        match window.live_share {
            Some(share) => format!(
                "{} in the window, {} of those that were ever new",
                grouped(window.live_keys),
                percent(Some(share))
            ),
            None => "none yet".to_owned(),
        },
    ));
    if has_no_time {
        return rows;
    }
    for (index, leaving) in window.leaving.iter().take(LEAVING_ROWS).enumerate() {
        let label = if index == 0 { "leaving" } else { "" };
        rows.push((label, leaving_in_words(window, leaving)));
    }
    if let Some(later) = window
        .leaving
        .get(LEAVING_ROWS..)
        .filter(|it| !it.is_empty())
    {
        let keys: u64 = later.iter().map(|it| it.keys).sum();
        let share: f64 = later.iter().map(|it| it.share).sum();
        rows.push((
            "",
            format!(
                "{} ({}) later; --json shows when",
                plural(keys, "key"),
                percent(Some(share))
            ),
        ));
    }
    rows
}

fn kind_of(window: &WindowInspection) -> ClockKind {
    match window.clock {
        "count" => ClockKind::Count,
        "deliveries" => ClockKind::Deliveries,
        _ => ClockKind::Seconds,
    }
}

fn clock(inspection: &Inspection, window: &WindowInspection) -> String {
    match (window.time_from, kind_of(window)) {
        (Some("lines"), _) => {
            let options = time_options(inspection.key.as_deref().unwrap_or_default());
            format!("the times of the lines: {}", printable(&options))
        }
        (Some(_), _) => "that of the machine".to_owned(),
        (None, ClockKind::Deliveries) => "counts new keys".to_owned(),
        (None, _) => "counts observations".to_owned(),
    }
}

fn forgets(inspection: &Inspection) -> Option<String> {
    let spec: FilterSpec = inspection.filter.parse().ok()?;
    let filter = AnyFilter::build(&spec, inspection.memory_bits).ok()?;
    let words = forgetting(&spec, filter.window()?);
    Some(words.strip_prefix("forgets ")?.to_owned())
}

fn leaving_in_words(window: &WindowInspection, leaving: &Leaving) -> String {
    let keys = format!(
        "{} ({})",
        plural(leaving.keys, "key"),
        percent(Some(leaving.share))
    );
    match leaving.unix_seconds {
        Some(seconds) => format!("{keys} by {}", moment(seconds)),
        None => {
            let steps = leaving.step.saturating_sub(window.present_step);
            let left = units(kind_of(window), steps.saturating_mul(window.step));
            format!("{keys} within {left}")
        }
    }
}
