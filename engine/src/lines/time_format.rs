//! How the time of a line is written.

use std::fmt;
use std::str::FromStr;

use super::calendar::{
    days_since_1970, month_of_name, number, time_of_day, two_digits, zone_offset,
};

/// How a time is written. Fractions of a second are accepted and ignored; a time without a zone
/// is in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeFormat {
    /// Any of the others, recognized for each time by itself. The unit of a number follows from
    /// its size: below 10^11 it counts seconds, below 10^14 milliseconds, below 10^17
    /// microseconds, and above that nanoseconds.
    #[default]
    Auto,
    /// Seconds since 1970.
    Seconds,
    /// Milliseconds since 1970.
    Milliseconds,
    /// Microseconds since 1970.
    Microseconds,
    /// Nanoseconds since 1970.
    Nanoseconds,
    /// A date and a time of day by RFC 3339, such as `2026-03-01T12:34:56.25+01:00`. The `T` may
    /// be a blank, the zone may be missing, and so may the time of day.
    Rfc3339,
    /// The common log format of web servers, such as `[10/Oct/2000:13:55:36 -0700]`.
    Clf,
}

/// The error for a text that is no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected auto, seconds, milliseconds, microseconds, nanoseconds, rfc3339 or clf; found `{0}`"
)]
pub struct UnknownTimeFormat(String);

impl TimeFormat {
    /// All formats.
    pub const ALL: [TimeFormat; 7] = [
        TimeFormat::Auto,
        TimeFormat::Seconds,
        TimeFormat::Milliseconds,
        TimeFormat::Microseconds,
        TimeFormat::Nanoseconds,
        TimeFormat::Rfc3339,
        TimeFormat::Clf,
    ];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            TimeFormat::Auto => "auto",
            TimeFormat::Seconds => "seconds",
            TimeFormat::Milliseconds => "milliseconds",
            TimeFormat::Microseconds => "microseconds",
            TimeFormat::Nanoseconds => "nanoseconds",
            TimeFormat::Rfc3339 => "rfc3339",
            TimeFormat::Clf => "clf",
        }
    }

    /// Parses a time that is the whole text, as seconds since 1970, rounded down.
    pub fn parse(self, text: &[u8]) -> Option<i64> {
        let (seconds, length) = self.parse_start(text)?;
        (length == text.len()).then_some(seconds)
    }

    /// Parses a time at the start of a text, which a bracket or a quotation mark may enclose.
    /// Returns the seconds since 1970 and the length of the time. None if there is no time, or if
    /// it continues in another way than a time.
    pub(super) fn parse_start(self, text: &[u8]) -> Option<(i64, usize)> {
        let (content, close) = match text {
            [b'[', content @ ..] => (content, Some(b']')),
            [b'"', content @ ..] => (content, Some(b'"')),
            content => (content, None),
        };
        let (seconds, length) = match self {
            TimeFormat::Auto => match content {
                [_, _, b'/', ..] => clf(content),
                [_, _, _, _, b'-', ..] => rfc3339(content),
                _ => since_1970(content, None),
            },
            TimeFormat::Seconds => since_1970(content, Some(Unit::Second)),
            TimeFormat::Milliseconds => since_1970(content, Some(Unit::Millisecond)),
            TimeFormat::Microseconds => since_1970(content, Some(Unit::Microsecond)),
            TimeFormat::Nanoseconds => since_1970(content, Some(Unit::Nanosecond)),
            TimeFormat::Rfc3339 => rfc3339(content),
            TimeFormat::Clf => clf(content),
        }?;
        let next = content.get(length).copied();
        let enclosed = usize::from(close.is_some());
        match (close, next) {
            (Some(close), Some(next)) if next == close => Some((seconds, length + 2)),
            // The bracket may enclose more than the time.
            (_, None | Some(b' ' | b'\t')) => Some((seconds, length + enclosed)),
            _ => None,
        }
    }
}

impl fmt::Display for TimeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TimeFormat {
    type Err = UnknownTimeFormat;

    fn from_str(text: &str) -> Result<Self, UnknownTimeFormat> {
        let found = TimeFormat::ALL.into_iter().find(|it| it.name() == text);
        found.ok_or_else(|| UnknownTimeFormat(text.to_owned()))
    }
}

/// Parses `10/Oct/2000:13:55:36 -0700`; the zone may be missing.
fn clf(text: &[u8]) -> Option<(i64, usize)> {
    let time: &[u8; 20] = text.first_chunk()?;
    let [
        a,
        b,
        b'/',
        name @ ..,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
    ] = time
    else {
        return None;
    };
    let [b'/', year @ .., b':', _, _, _, _, _, _, _, _] = &time[6..] else {
        return None;
    };
    let days = days_since_1970(number(year)?, month_of_name(name)?, two_digits(*a, *b)?)?;
    let seconds = days * 86_400 + time_of_day(text.get(12..)?.first_chunk()?)?;
    let (zone, length) = zone_after(&text[20..], true);
    Some((seconds - zone, 20 + length))
}

/// Parses `2026-03-01T12:34:56.25+01:00`.
fn rfc3339(text: &[u8]) -> Option<(i64, usize)> {
    let [a, b, c, d, b'-', e, f, b'-', g, h, ..] = *text else {
        return None;
    };
    let year = 100 * two_digits(a, b)? + two_digits(c, d)?;
    let midnight = 86_400 * days_since_1970(year, two_digits(e, f)?, two_digits(g, h)?)?;
    let Some((seconds, length)) = time_after_date(&text[10..]) else {
        return Some((midnight, 10));
    };
    Some((midnight + seconds, 10 + length))
}

/// Parses the part of an RFC 3339 time after its date.
fn time_after_date(text: &[u8]) -> Option<(i64, usize)> {
    let [b'T' | b't' | b' ' | b'_', time @ ..] = text else {
        return None;
    };
    let (seconds, mut length) = match *time {
        [_, _, b':', _, _, b':', ..] => (time_of_day(time.first_chunk()?)?, 8),
        [h, i, b':', m, n, ..] => (time_of_day(&[h, i, b':', m, n, b':', b'0', b'0'])?, 5),
        _ => return None,
    };
    if let [b'.' | b',', fraction @ ..] = &time[length..] {
        match digits(fraction) {
            0 => {}
            count => length += 1 + count,
        }
    }
    let (zone, zone_length) = zone_after(&time[length..], false);
    Some((seconds - zone, 1 + length + zone_length))
}

/// Parses the zone after a time, as seconds east of UTC; 0 if there is none. A zone may stand after
/// a blank if it has a sign and four digits.
fn zone_after(text: &[u8], is_after_blank: bool) -> (i64, usize) {
    let after_blank = match text {
        [b' ', zone @ ..] => zone_offset(zone).filter(|&(_, length)| length == 5),
        _ => None,
    };
    match (after_blank, is_after_blank) {
        (Some((zone, length)), _) => (zone, length + 1),
        (None, true) => (0, 0),
        (None, false) => zone_offset(text).unwrap_or((0, 0)),
    }
}

/// Parses a number of units since 1970. Without a unit, it follows from the size of the number.
#[inline]
fn since_1970(text: &[u8], unit: Option<Unit>) -> Option<(i64, usize)> {
    let (mut units, mut length) = (0u64, 0);
    for byte in text.iter().take(MAX_DIGITS) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        units = 10 * units + u64::from(digit);
        length += 1;
    }
    match text[length..] {
        _ if length == 0 => return None,
        // Too large a number.
        [b'0'..=b'9', ..] => return None,
        [b'.', ref fraction @ ..] => length += 1 + digits(fraction),
        _ => {}
    }
    let unit = unit.unwrap_or(match units {
        0..100_000_000_000 => Unit::Second,
        100_000_000_000..100_000_000_000_000 => Unit::Millisecond,
        100_000_000_000_000..100_000_000_000_000_000 => Unit::Microsecond,
        _ => Unit::Nanosecond,
    });
    // Divisions by constants are multiplications.
    let seconds = match unit {
        Unit::Second => units,
        Unit::Millisecond => units / 1000,
        Unit::Microsecond => units / 1_000_000,
        Unit::Nanosecond => units / 1_000_000_000,
    };
    Some((i64::try_from(seconds).ok()?, length))
}

/// Any number of so many digits fits in 64 bits.
const MAX_DIGITS: usize = 19;

#[derive(Clone, Copy)]
enum Unit {
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

/// Returns the number of digits at the start.
fn digits(text: &[u8]) -> usize {
    let end = text.iter().position(|byte| !byte.is_ascii_digit());
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_moment_in_many_forms() {
        // date -u -d @1772368496
        for text in [
            "1772368496",
            "1772368496.75",
            "1772368496999",
            "1772368496999.5",
            "1772368496999999",
            "1772368496999999999",
            "2026-03-01T12:34:56Z",
            "2026-03-01t12:34:56z",
            "2026-03-01 12:34:56",
            "2026-03-01_12:34:56,123",
            "2026-03-01T12:34:56.999999999Z",
            "2026-03-01T14:34:56+02:00",
            "2026-03-01 14:34:56 +0200",
            "2026-03-01T07:04:56.5-0530",
            "2026-03-01T13:34:56+01",
            "[01/Mar/2026:12:34:56 +0000]",
            "[28/Feb/2026:22:34:56 -1400]",
            "01/Mar/2026:12:34:56",
            "\"2026-03-01T12:34:56Z\"",
        ] {
            let found = TimeFormat::Auto.parse(text.as_bytes());
            assert_eq!(found, Some(1_772_368_496), "{text}");
        }
    }

    #[test]
    fn a_date_alone_is_its_midnight_and_seconds_may_be_missing() {
        let parse = |text: &str| TimeFormat::Rfc3339.parse(text.as_bytes());
        assert_eq!(parse("2026-03-01"), Some(1_772_323_200));
        assert_eq!(parse("2026-03-01T12:34Z"), Some(1_772_368_440));
        assert_eq!(parse("1969-12-31T23:59:59Z"), Some(-1));
        assert_eq!(parse("2016-12-31T23:59:60Z"), Some(1_483_228_800));
    }

    #[test]
    fn a_time_is_followed_by_a_blank_or_by_what_closes_it() {
        for (text, found) in [
            ("1772368496 x", Some(10)),
            ("1772368496x", None),
            ("1772368496-x", None),
            ("[01/Mar/2026:12:34:56 +0000] \"GET\"", Some(28)),
            ("[01/Mar/2026:12:34:56 +0000", Some(27)),
            ("[01/Mar/2026:12:34:56 x]", Some(21)),
            ("2026-03-01 12:34:56 x", Some(19)),
            ("2026-03-01 12 ships", Some(10)),
            ("2026-03-01Tx", None),
            ("2026-03-01T12:34:56Zx", None),
            ("2026-03-01T12:34:56+01:00:00", None),
        ] {
            let parsed = TimeFormat::Auto.parse_start(text.as_bytes());
            assert_eq!(parsed.map(|(_, length)| length), found, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "-",
            "-5",
            "yesterday",
            "2026-02-29T00:00:00Z",
            "2026-03-01T24:00:00Z",
            "2026-03-01T12:60:00Z",
            "01/Foo/2026:12:34:56 +0000",
            "32/Mar/2026:12:34:56 +0000",
            "1e9",
            "99999999999999999999",
            "[",
            "\"\"",
        ] {
            assert_eq!(TimeFormat::Auto.parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_named_format_accepts_no_other() {
        let parse = |format: TimeFormat, text: &str| format.parse(text.as_bytes());
        assert_eq!(
            parse(TimeFormat::Seconds, "1772368496999"),
            Some(1_772_368_496_999)
        );
        assert_eq!(parse(TimeFormat::Milliseconds, "5000"), Some(5));
        assert_eq!(parse(TimeFormat::Rfc3339, "1772368496"), None);
        assert_eq!(parse(TimeFormat::Clf, "2026-03-01T12:34:56Z"), None);
        for format in TimeFormat::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
    }
}
