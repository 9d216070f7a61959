//! The part of the report of `dedupstore inspect` that is about a window.

use dedupstore::FilterSpec;
use dedupstore::filter::{AnyFilter, ClockKind};
use dedupstore::store::{Inspection, Leaving, WindowInspection};

use crate::key::time_options;
use crate::numbers::{grouped, percent, plural};
use crate::printable::printable;
use crate::time::{forgetting, moment, units};

/// The number of rows that say when keys leave; `--json` has all.
const LEAVING_ROWS: usize = 6;

/// Returns the rows about a window.
pub(crate) fn window_rows(
    inspection: &Inspection,
    window: &WindowInspection,
) -> Vec<(&'static str, String)> {
    let kind = kind_of(window);
    let mut rows = vec![("clock", clock(inspection, window))];
    rows.extend(forgets(inspection).map(|text| ("forgets", text)));
    let step = units(kind, window.step);
    rows.push(match window.present_unix_seconds {
        Some(begin) => (
            "step",
            format!("{step}; the present one began {}", moment(begin)),
        ),
        None => (
            "step",
            format!("{step}; the present one is number {}", window.present_step),
        ),
    });
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
