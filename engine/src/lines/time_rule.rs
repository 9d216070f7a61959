//! Where the time of a line is.

use super::fields::{blank_field_start, delimited_field, field_start};
use super::json::{JsonBuffers, JsonValue};
use super::json_time;
use super::time_format::TimeFormat;
use super::value_rule::{ValueOptions, ValueRule, ValueSelector};

/// How the time of a line is found.
pub type TimeRule = ValueRule<TimeFormat>;

/// The parts of a [`TimeRule`] that a caller asks for.
pub type TimeOptions = ValueOptions<TimeFormat>;

/// Finds the times of successive lines.
#[derive(Clone, Debug)]
pub struct TimeReader {
    rule: TimeRule,
    json: JsonBuffers,
    last: LastTime,
}

/// The last time that was read from a field. Lines of the same second follow each other, and
/// comparing a time is faster than parsing it.
#[derive(Clone, Debug, Default)]
struct LastTime {
    /// The text of the time and one byte more.
    text: [u8; LastTime::MAX_BYTES],
    /// 0 if there is none.
    length: usize,
    seconds: i64,
}

impl LastTime {
    const MAX_BYTES: usize = 32;

    /// Returns the time at the start of a text if it is the same.
    #[inline(always)]
    fn at_start(&self, text: &[u8]) -> Option<i64> {
        let is_same = self.length > 0 && text.starts_with(&self.text[..self.length]);
        is_same.then_some(self.seconds)
    }

    /// Remembers a time of some length at the start of a text, if it has a last byte, so that
    /// nothing after it can belong to it.
    #[inline]
    fn set(&mut self, text: &[u8], length: usize, seconds: i64) {
        let is_complete = matches!(text[length - 1], b']' | b'"' | b'Z');
        match text.get(..=length) {
            Some(start) if is_complete && start.len() <= Self::MAX_BYTES => {
                self.text[..start.len()].copy_from_slice(start);
                (self.length, self.seconds) = (start.len(), seconds);
            }
            _ => self.length = 0,
        }
    }
}

impl TimeReader {
    /// Creates a reader that finds times by a rule.
    pub fn new(rule: TimeRule) -> Self {
        TimeReader {
            rule,
            json: JsonBuffers::default(),
            last: LastTime::default(),
        }
    }

    /// Returns the time of a line in seconds since 1970, or None if it has no readable time.
    #[inline]
    pub fn seconds(&mut self, line: &[u8]) -> Option<i64> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let format = self.rule.format;
        match self.rule.selector {
            ValueSelector::Field { index, delimiter } => {
                let start = match delimiter {
                    None => blank_field_start(line, index)?,
                    Some(blank @ (b' ' | b'\t')) => field_start(line, blank, index)?,
                    Some(delimiter) => {
                        return format.parse(delimited_field(line, delimiter, index)?);
                    }
                };
                let text = &line[start..];
                if let Some(seconds) = self.last.at_start(text) {
                    return Some(seconds);
                }
                let (seconds, length) = format.parse_start(text)?;
                self.last.set(text, length, seconds);
                Some(seconds)
            }
            ValueSelector::Json(ref path) => match path.find(line, &mut self.json)? {
                JsonValue::Text(text) => format.parse(text),
                JsonValue::Other(value) => json_time::seconds(format, value),
            },
        }
    }

    /// Returns the time of a line as the tick of an observation: seconds since 1970, from 1 to
    /// 2^32 − 1. None if it has no readable time.
    #[inline]
    pub fn tick(&mut self, line: &[u8]) -> Option<u32> {
        let seconds = self.seconds(line)?;
        Some(seconds.clamp(1, i64::from(u32::MAX)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Option<i64> = Some(1_772_368_496);

    fn seconds(line: &str, selector: ValueSelector) -> Option<i64> {
        let format = TimeFormat::Auto;
        TimeReader::new(TimeRule { selector, format }).seconds(line.as_bytes())
    }

    fn field(line: &str, number: usize, delimiter: Option<u8>) -> Option<i64> {
        let index = number - 1;
        seconds(line, ValueSelector::Field { index, delimiter })
    }

    #[test]
    fn the_field_of_an_access_log_continues_after_its_blank() {
        let line = "10.0.0.1 - - [01/Mar/2026:14:34:56 +0200] \"GET / HTTP/1.1\" 200 12";
        assert_eq!(field(line, 4, None), MOMENT);
        assert_eq!(field(line, 4, Some(b' ')), MOMENT);
        assert_eq!(field(line, 3, None), None);
        assert_eq!(field(line, 5, None), None);
        assert_eq!(field(line, 40, None), None);
        assert_eq!(
            field("  2026-03-01 \t 12:34:56 a", 1, None),
            Some(1_772_323_200)
        );
        assert_eq!(field("a  2026-03-01 12:34:56.5 b", 2, None), MOMENT);
        assert_eq!(field("a\t2026-03-01 12:34:56\tb", 2, Some(b'\t')), MOMENT);
        assert_eq!(field("1772368496\r", 1, None), MOMENT);
    }

    #[test]
    fn a_time_like_the_last_one_is_the_same_only_if_all_of_it_is() {
        let mut reader = TimeReader::new(TimeRule {
            selector: ValueSelector::Field {
                index: 0,
                delimiter: None,
            },
            format: TimeFormat::Auto,
        });
        for (line, seconds) in [
            ("2026-03-01T12:34:56Z a", MOMENT),
            ("2026-03-01T12:34:56Z b", MOMENT),
            ("2026-03-01T12:34:56Zb", None),
            ("2026-03-01T12:34:56Z", MOMENT),
            ("[01/Mar/2026:12:34:56 +0000] a", MOMENT),
            ("[01/Mar/2026:12:34:56 +0000]a", MOMENT),
            ("[01/Mar/2026:12:34:57 +0000] a", Some(1_772_368_497)),
            ("2026-03-01 12:34:56 a", MOMENT),
            ("2026-03-01 12:34:56 +0100", Some(1_772_364_896)),
            ("2026-03-01 a", Some(1_772_323_200)),
            ("2026-03-01 12:34:56 a", MOMENT),
            ("1772368496 a", MOMENT),
            ("1772368496.5 a", MOMENT),
            ("17723684960 a", Some(17_723_684_960)),
        ] {
            assert_eq!(reader.seconds(line.as_bytes()), seconds, "{line}");
        }
    }

    #[test]
    fn a_delimited_field_is_the_time_and_nothing_else() {
        assert_eq!(field("a,2026-03-01 12:34:56,b", 2, Some(b',')), MOMENT);
        assert_eq!(field("a,1772368496,7x", 2, Some(b',')), MOMENT);
        assert_eq!(field("a,1772368496 b,7x", 2, Some(b',')), None);
        assert_eq!(field("a,\"1772368496\",7x", 2, Some(b',')), MOMENT);
        assert_eq!(field("a,,b", 2, Some(b',')), None);
    }

    #[test]
    fn a_json_value_is_a_string_or_a_number() {
        let at = |line: &str| {
            seconds(
                line,
                ValueSelector::Json("meta.at".parse().expect("a path")),
            )
        };
        assert_eq!(at(r#"{"meta":{"at":1772368496.25}}"#), MOMENT);
        assert_eq!(at(r#"{"meta":{"at":"1772368496123"}}"#), MOMENT);
        assert_eq!(at(r#"{"meta":{"at":"2026-03-01T12:34:56Z"}}"#), MOMENT);
        assert_eq!(at(r#"{"meta":{"at":null}}"#), None);
        assert_eq!(at(r#"{"meta":{}}"#), None);
        assert_eq!(at("1772368496"), None);
    }

    #[test]
    fn ticks_are_seconds_from_1970_to_2106() {
        let selector = ValueSelector::Field {
            index: 0,
            delimiter: None,
        };
        let format = TimeFormat::Auto;
        let mut reader = TimeReader::new(TimeRule { selector, format });
        assert_eq!(reader.tick(b"1772368496"), Some(1_772_368_496));
        assert_eq!(reader.tick(b"1960-01-01"), Some(1));
        assert_eq!(reader.tick(b"2200-01-01"), Some(u32::MAX));
        assert_eq!(reader.tick(b"soon"), None);
    }
}
