//! Moments, spans of time and windows in words.

use dedupstore::filter::{ClockKind, FilterSpec, WindowClock};

use crate::numbers::plural;

const DAY: u64 = 86_400;

/// Formats a span of time exactly: `7 d 14 h`.
pub fn span(seconds: u64) -> String {
    let units = [
        (seconds / DAY, "d"),
        (seconds / 3600 % 24, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let shown = units.iter().filter(|(count, _)| *count > 0);
    let shown: Vec<String> = shown
        .map(|(count, unit)| format!("{count} {unit}"))
        .collect();
    match shown.is_empty() {
        true => "0 s".to_owned(),
        false => shown.join(" "),
    }
}

/// Formats a span of time as the value of an option: `7d`, `36h`, `90m`, `30s`.
pub fn span_option(seconds: u64) -> String {
    let units = [(DAY, "d"), (3600, "h"), (60, "m")];
    let found = units.iter().find(|(unit, _)| seconds.is_multiple_of(*unit));
    match found {
        Some((unit, name)) => format!("{}{name}", seconds / unit),
        None => format!("{seconds}s"),
    }
}

/// Formats a moment, given in seconds since 1970: `2026-03-01 12:34:56 UTC`.
pub fn moment(unix_seconds: u64) -> String {
    let (year, month, day) = date(unix_seconds / DAY);
    let seconds = unix_seconds % DAY;
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// Returns the date of a day, counted from 1970. Years start in March, so that the leap day is the
/// last day of a year, and 400 years are a cycle of 146,097 days.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, later) = match month_from_march {
        0..10 => (month_from_march + 3, 0),
        _ => (month_from_march - 9, 1),
    };
    (400 * cycle + year + later, month, day)
}

/// Says when a filter with a window forgets a key: `forgets a key between 7 d and 7 d 14 h after it
/// was last new`.
pub fn forgetting(spec: &FilterSpec, clock: &WindowClock) -> String {
    let kind = clock.kind();
    let after = "after it was last new";
    let (shortest, longest) = (clock.span(), clock.longest_memory());
    let between = match kind {
        ClockKind::Seconds => format!("{} and {} {after}", span(shortest), span(longest)),
        _ => format!(
            "{} and {} {after}",
            units(kind, shortest),
            units(kind, longest)
        ),
    };
    // Its bits leave one by one.
    let gradually = match spec.descriptor().name {
        "apbf" => "; some keys a few steps later",
        _ => "",
    };
    match shortest == longest {
        true => format!("forgets a key {} {after}{gradually}", units(kind, shortest)),
        false => format!("forgets a key between {between}{gradually}"),
    }
}

/// Formats a length of time in units of a clock.
pub(crate) fn units(kind: ClockKind, count: u64) -> String {
    match kind {
        ClockKind::Seconds => span(count),
        ClockKind::Deliveries => plural(count, "new key"),
        _ => plural(count, "observation"),
    }
}

#[cfg(test)]
mod tests {
    use dedupstore::filter::AnyFilter;

    use super::*;

    #[test]
    fn spans_are_exact() {
        for (seconds, words, option) in [
            (0, "0 s", "0d"),
            (30, "30 s", "30s"),
            (5400, "1 h 30 min", "90m"),
            (43_200, "12 h", "12h"),
            (604_800, "7 d", "7d"),
            (655_200, "7 d 14 h", "182h"),
            (86_401, "1 d 1 s", "86401s"),
        ] {
            assert_eq!(span(seconds), words);
            assert_eq!(span_option(seconds), option);
        }
    }

    #[test]
    fn moments_are_dates_in_utc() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_772_368_496, "2026-03-01 12:34:56 UTC"),
            (1_798_761_599, "2026-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
            (4_294_967_295, "2106-02-07 06:28:15 UTC"),
        ] {
            assert_eq!(moment(seconds), text);
        }
    }

    #[test]
    fn forgetting_in_words() {
        for (filter, words) in [
            (
                "window",
                "forgets a key between 7 d and 7 d 14 h after it was last new",
            ),
            (
                "stamped:span=600,step=100,clock=count",
                "forgets a key between 600 observations and 700 observations after it was last new",
            ),
            (
                "window:span=5,step=1,clock=deliveries",
                "forgets a key 5 new keys after it was last new",
            ),
            (
                "apbf:span=3600",
                "forgets a key between 1 h and 1 h 5 min after it was last new; some keys a few \
                 steps later",
            ),
        ] {
            let spec: FilterSpec = filter.parse().expect("a filter");
            let built = AnyFilter::build(&spec, 1 << 16).expect("enough memory");
            assert_eq!(forgetting(&spec, built.window().expect("a window")), words);
        }
    }
}
