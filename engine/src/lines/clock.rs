//! Reads the time stamp of a line.
//!
//! Three forms are recognized: the brackets of a web server's log; an ISO 8601 date and time
//! anywhere in the line; and a member of a JSON line whose name suggests a time and whose value
//! is an ISO 8601 time or a number of seconds, milliseconds, microseconds or nanoseconds since
//! 1970. A time without a zone is taken as UTC.

use memchr::{memchr, memchr_iter};

use super::calendar::{days_since_1970, month_of_name, number, time_of_day, zone_offset};
use super::json::JsonBuffers;
use super::json_members::member_paths;
use super::json_path::JsonPath;
use super::time_format::TimeFormat;
use super::time_rule::{TimeReader, TimeRule};
use super::value_rule::ValueSelector;

/// Number of lines examined to find the form.
const LINES: usize = 64;
/// The percentage of these lines that must have a time stamp.
const AGREEMENT_PERCENT: usize = 80;
/// The number of fields in which a time is looked for.
const FIELDS: usize = 64;
/// Accepted years; other numbers are not taken as years.
const YEARS: std::ops::RangeInclusive<i64> = 1980..=2199;
/// Names of JSON members that hold times, in order of preference.
const TIME_NAMES: [&str; 10] = [
    "@timestamp",
    "timestamp",
    "time",
    "datetime",
    "ts",
    "at",
    "date",
    "when",
    "created_at",
    "created",
];

/// Where the lines of a log have their time stamp.
#[derive(Clone, Debug)]
pub struct LineClock {
    place: Place,
    buffers: JsonBuffers,
}

#[derive(Clone, Debug)]
enum Place {
    Brackets,
    Anywhere,
    Json(JsonPath),
}

impl LineClock {
    /// Finds the time stamps of a log from its first bytes. None if most lines have none.
    pub fn of(head: &[u8]) -> Option<LineClock> {
        let lines = first_lines(head);
        let first = lines.first()?;
        let mut places = vec![Place::Brackets];
        places.extend(time_paths(first).into_iter().map(Place::Json));
        places.push(Place::Anywhere);
        places.into_iter().find_map(|place| {
            let buffers = JsonBuffers::default();
            let mut clock = LineClock { place, buffers };
            let with_time = lines.iter().filter(|line| clock.seconds(line).is_some());
            (with_time.count() * 100 >= lines.len() * AGREEMENT_PERCENT).then_some(clock)
        })
    }

    /// Returns the rule that finds the same times in the first bytes of a log; None if they are in
    /// no field of their own. `delimiter` separates fields, or blanks do.
    pub fn rule_in(&mut self, head: &[u8], delimiter: Option<u8>) -> Option<TimeRule> {
        let lines = first_lines(head);
        let times: Vec<_> = lines.iter().map(|line| self.seconds(line)).collect();
        let selectors = match &self.place {
            Place::Json(path) => vec![ValueSelector::Json(path.clone())],
            _ => (0..FIELDS)
                .map(|index| ValueSelector::Field { index, delimiter })
                .collect(),
        };
        let rules = selectors.into_iter().map(|selector| TimeRule {
            selector,
            format: TimeFormat::Auto,
        });
        rules.into_iter().find(|rule| {
            let mut reader = TimeReader::new(rule.clone());
            let mut both = lines.iter().zip(&times);
            both.all(|(line, time)| time.is_none() || reader.seconds(line) == *time)
        })
    }

    /// Returns the time of a line in seconds since 1970, or None if it has no time stamp.
    pub fn seconds(&mut self, line: &[u8]) -> Option<i64> {
        match &self.place {
            Place::Brackets => {
                let opened = memchr(b'[', line)?;
                bracketed(&line[opened + 1..])
            }
            Place::Anywhere => iso_anywhere(line),
            Place::Json(path) => {
                let value = path.find(line, &mut self.buffers)?.bytes();
                iso_anywhere(value).or_else(|| since_1970(value))
            }
        }
    }
}

fn first_lines(head: &[u8]) -> Vec<&[u8]> {
    let end = memchr::memrchr(b'\n', head).unwrap_or(head.len());
    let lines = head[..end].split(|&byte| byte == b'\n');
    lines.filter(|line| !line.is_empty()).take(LINES).collect()
}

/// Returns the paths of the members of a JSON line whose names suggest a time.
fn time_paths(line: &[u8]) -> Vec<JsonPath> {
    if !line.starts_with(b"{") {
        return Vec::new();
    }
    let paths = member_paths(line);
    let named = |name: &&str| {
        let of_name = |path: &&String| {
            let step = path.rsplit('.').next().unwrap_or("");
            step.eq_ignore_ascii_case(name)
        };
        paths.iter().find(of_name)?.parse().ok()
    };
    TIME_NAMES.iter().filter_map(named).collect()
}

/// Parses `01/Mar/2026:00:00:00 +0000`.
fn bracketed(text: &[u8]) -> Option<i64> {
    if text.len() < 20 || text[2] != b'/' || text[6] != b'/' || text[11] != b':' {
        return None;
    }
    let month = month_of_name(&text[3..6])?;
    let days = days(number(&text[7..11])?, month, number(&text[..2])?)?;
    let zone = text.get(20..).unwrap_or_default();
    let zone = zone.strip_prefix(b" ").unwrap_or(zone);
    Some(days * 86_400 + time_of_day(text[12..].first_chunk()?)? - zone_seconds(zone))
}

/// Finds a time such as `2026-03-01T00:00:00Z` or `2026-03-01 00:00:00+01:00`.
fn iso_anywhere(text: &[u8]) -> Option<i64> {
    memchr_iter(b'-', text).find_map(|dash| iso(text.get(dash.checked_sub(4)?..)?))
}

fn iso(text: &[u8]) -> Option<i64> {
    if text.len() < 19 || text[7] != b'-' || !matches!(text[10], b'T' | b't' | b' ' | b'_') {
        return None;
    }
    let days = days(
        number(&text[..4])?,
        number(&text[5..7])?,
        number(&text[8..10])?,
    )?;
    let mut zone = &text[19..];
    if let [b'.' | b',', digits @ ..] = zone {
        let end = digits.iter().position(|byte| !byte.is_ascii_digit());
        zone = &digits[end.unwrap_or(digits.len())..];
    }
    Some(days * 86_400 + time_of_day(text[11..].first_chunk()?)? - zone_seconds(zone))
}

/// Parses `+0100` or `+01:00` as seconds. Anything else is UTC.
fn zone_seconds(text: &[u8]) -> i64 {
    zone_offset(text).map_or(0, |(seconds, _)| seconds)
}

/// Parses a number of seconds, milliseconds, microseconds or nanoseconds since 1970. The unit
/// is the first that gives an accepted year.
fn since_1970(text: &[u8]) -> Option<i64> {
    let end = memchr(b'.', text).unwrap_or(text.len());
    let digits = text[..end].get(..19.min(end))?;
    let value = number(digits).filter(|_| end == digits.len())?;
    let scales = [1, 1000, 1_000_000, 1_000_000_000];
    let seconds = scales.map(|scale| value / scale);
    let possible = |seconds: &i64| (315_532_800..7_258_118_400).contains(seconds);
    seconds.into_iter().find(possible)
}

/// Returns the days from 1970 to a date in an accepted year.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    (YEARS.contains(&year)).then(|| days_since_1970(year, month, day))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_time(lines: &str) -> Option<i64> {
        let line = lines.lines().next().expect("a line");
        LineClock::of(lines.as_bytes())?.seconds(line.as_bytes())
    }

    #[test]
    fn one_moment_in_many_forms() {
        // date -u -d @1772368496
        let moment = Some(1_772_368_496);
        for line in [
            "10.0.0.1 - - [01/Mar/2026:12:34:56 +0000] \"GET / HTTP/1.1\" 200 12",
            "10.0.0.1 - - [01/Mar/2026:14:34:56 +0200] \"GET / HTTP/1.1\" 200 12",
            "2026-03-01T12:34:56Z https://a.example/",
            "2026-03-01 12:34:56,123 INFO x-y a",
            "<14>1 2026-03-01T07:34:56.25-05:00 host app",
            "a-b-c,2026-03-01T12:34:56Z,1",
            "{\"at\":\"2026-03-01T12:34:56Z\",\"click\":\"c1\"}",
            "{\"id\":7,\"meta\":{\"ts\":1772368496.25}}",
            "{\"url\":\"/2020-01-01T00:00:00\",\"Time\":1772368496123}",
        ] {
            assert_eq!(first_time(line), moment, "{line}");
            assert_eq!(first_time(&format!("{line}\n{line}\n")), moment, "{line}");
        }
    }

    #[test]
    fn the_place_of_the_times_is_a_rule() {
        let rule = |line: &str, delimiter| {
            let head = format!("{line}\n{line}\n");
            let mut clock = LineClock::of(head.as_bytes())?;
            let rule = clock.rule_in(head.as_bytes(), delimiter)?;
            assert_eq!(rule.format, TimeFormat::Auto);
            Some(match rule.selector {
                ValueSelector::Field { index, .. } => (index + 1).to_string(),
                ValueSelector::Json(path) => path.to_string(),
            })
        };
        let found = |text: &str| Some(text.to_owned());
        let access = "10.0.0.1 - - [01/Mar/2026:12:34:56 +0000] \"GET / HTTP/1.1\" 200 12";
        assert_eq!(rule(access, None), found("4"));
        assert_eq!(rule(access, Some(b';')), None);
        assert_eq!(rule("a,2026-03-01T12:34:56Z,1", Some(b',')), found("2"));
        assert_eq!(rule("a,2026-03-01T12:34:56Z,1", None), None);
        assert_eq!(rule("2026-03-01 12:34:56,123 INFO", None), found("1"));
        let json = "{\"id\":7,\"meta\":{\"ts\":1772368496.25}}";
        assert_eq!(rule(json, None), found("meta.ts"));
    }

    #[test]
    fn lines_without_time_stamps_have_no_clock() {
        for lines in [
            "",
            "\n",
            "https://a.example/2026-03-01/x",
            "{\"at\":\"home\",\"time\":12}",
            "{\"ts\":99999999999999999999}",
            "[x] y",
            "[01/Foo/2026:12:34:56 +0000]",
            "[01/Mar/2026:12:3",
            "2026-13-01T12:34:56",
            "2026-03-01T25:00:00",
            "-----------------------",
        ] {
            assert_eq!(first_time(&format!("{lines}\n")), None, "{lines}");
        }
        let mostly = "2026-03-01T12:34:56Z a\nb\nc\n";
        assert_eq!(first_time(mostly), None);
    }
}
