//! Where the time of a line is.

use super::fields::{blank_field_start, delimited_field, field_start};
use super::json::{JsonBuffers, JsonValue};
use super::json_path::JsonPath;
use super::json_time;
use super::time_format::TimeFormat;

/// How the time of a line is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeRule {
    /// Which part of a line is its time.
    pub selector: TimeSelector,
    /// How it is written.
    pub format: TimeFormat,
}

/// Which part of a line is its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeSelector {
    /// A field. A time with a blank in it may continue in the next field, as in
    /// `[10/Oct/2000:13:55:36 -0700]`, if blanks separate fields.
    Field {
        /// The index of the field, from 0.
        index: usize,
        /// The byte that separates fields. None: runs of blanks and tabs separate them.
        delimiter: Option<u8>,
    },
    /// A value of a JSON line: a string, or a number, which may have an exponent. An array is not
    /// a time, whatever is in it.
    Json(JsonPath),
}

/// The parts of a [`TimeRule`] that a caller asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeOptions {
    /// Which part of a line is its time; None: as a store records.
    pub selector: Option<TimeSelector>,
    /// How it is written; None: as a store records, or any format.
    pub format: Option<TimeFormat>,
}

impl TimeOptions {
    /// Returns the rule, with what is not asked for taken from a store's rule or the defaults. None
    /// if nothing says which part of a line is its time.
    pub(super) fn over(&self, stored: Option<&TimeRule>) -> Option<TimeRule> {
        let of_store = stored.map(|stored| &stored.selector);
        let mut selector = self.selector.as_ref().or(of_store)?.clone();
        if let (
            TimeSelector::Field {
                delimiter: requested @ None,
                ..
            },
            Some(TimeRule {
                selector: TimeSelector::Field { delimiter, .. },
                ..
            }),
        ) = (&mut selector, stored)
        {
            *requested = *delimiter;
        }
        let format = self.format.or(stored.map(|stored| stored.format));
        Some(TimeRule {
            selector,
            format: format.unwrap_or_default(),
        })
    }
}

impl From<TimeRule> for TimeOptions {
    /// Asks for every part of the rule.
    fn from(rule: TimeRule) -> Self {
        TimeOptions {
            selector: Some(rule.selector),
            format: Some(rule.format),
        }
    }
}

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
            TimeSelector::Field { index, delimiter } => {
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
            TimeSelector::Json(ref path) => match path.find(line, &mut self.json)? {
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

    fn seconds(line: &str, selector: TimeSelector) -> Option<i64> {
        let format = TimeFormat::Auto;
        TimeReader::new(TimeRule { selector, format }).seconds(line.as_bytes())
    }

    fn field(line: &str, number: usize, delimiter: Option<u8>) -> Option<i64> {
        let index = number - 1;
        seconds(line, TimeSelector::Field { index, delimiter })
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
            selector: TimeSelector::Field {
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
        let at = |line: &str| seconds(line, TimeSelector::Json("meta.at".parse().expect("a path")));
        assert_eq!(at(r#"{"meta":{"at":1772368496.25}}"#), MOMENT);
        assert_eq!(at(r#"{"meta":{"at":"1772368496123"}}"#), MOMENT);
        assert_eq!(at(r#"{"meta":{"at":"2026-03-01T12:34:56Z"}}"#), MOMENT);
        assert_eq!(at(r#"{"meta":{"at":null}}"#), None);
        assert_eq!(at(r#"{"meta":{}}"#), None);
        assert_eq!(at("1772368496"), None);
    }

    #[test]
    fn ticks_are_seconds_from_1970_to_2106() {
        let selector = TimeSelector::Field {
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
