//! Selects the key of a line.

use super::fields::{FieldList, FieldListError, blank_field, delimited_field};
use super::json::{JsonBuffers, JsonValue};
use super::json_path::JsonPath;
use super::key_rule::KeyRule;
use super::normalize::{Normalization, Normalizer};
#[cfg(feature = "patterns")]
use super::pattern::KeyPattern;

/// Comes before a JSON value that is not a string, so that the number 1 and the string "1" are
/// two keys. No UTF-8 text has this byte.
const NOT_A_STRING: u8 = 0xFF;

/// Which part of a line is its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeySelector {
    /// The whole line, without its delimiter.
    #[default]
    WholeLine,
    /// One field.
    Field {
        /// The index of the field, from 0.
        index: usize,
        /// The byte that separates fields. None: runs of blanks and tabs separate them, and
        /// leading blanks and tabs are skipped.
        delimiter: Option<u8>,
    },
    /// Several fields, in the given order, joined by the delimiter or by one blank.
    Fields {
        /// The fields.
        fields: FieldList,
        /// As in [`Field`](KeySelector::Field).
        delimiter: Option<u8>,
    },
    /// A value of a JSON line.
    Json(JsonPath),
    /// The match of a regular expression.
    #[cfg(feature = "patterns")]
    Pattern(KeyPattern),
}

impl KeySelector {
    /// Selects field `number`, counted from 1.
    pub fn field(number: usize, delimiter: Option<u8>) -> Result<Self, FieldListError> {
        let zero = || FieldListError::Zero(number.to_string());
        let index = number.checked_sub(1).ok_or_else(zero)?;
        Ok(KeySelector::Field { index, delimiter })
    }

    /// Selects fields and joins them.
    pub fn fields(fields: FieldList, delimiter: Option<u8>) -> Self {
        match fields.single() {
            Some(index) => KeySelector::Field { index, delimiter },
            None => KeySelector::Fields { fields, delimiter },
        }
    }

    /// Returns the selector that finds the same keys and has the shortest list of fields.
    pub(super) fn canonical(&self) -> Self {
        match self.selected_fields() {
            Some((fields, delimiter)) => KeySelector::fields(fields.canonical(), delimiter),
            None => self.clone(),
        }
    }

    /// Returns the regular expression, if there is one.
    pub fn expression(&self) -> Option<&str> {
        match self {
            #[cfg(feature = "patterns")]
            KeySelector::Pattern(pattern) => Some(pattern.as_str()),
            _ => None,
        }
    }

    /// Returns the fields and their delimiter, if fields are selected.
    pub fn selected_fields(&self) -> Option<(FieldList, Option<u8>)> {
        match self {
            KeySelector::Field { index, delimiter } => Some((FieldList::one(*index), *delimiter)),
            KeySelector::Fields { fields, delimiter } => Some((fields.clone(), *delimiter)),
            _ => None,
        }
    }
}

/// Finds the keys of successive lines.
///
/// An empty field is a key. A line that has too few fields, lacks the JSON value or does not
/// match has no key. Decoded and normalized keys are stored in buffers that the next line
/// reuses.
#[derive(Clone, Debug, Default)]
pub struct KeyReader {
    selector: KeySelector,
    normalizer: Normalizer,
    strips_carriage_return: bool,
    bare_json_values: bool,
    joined: Vec<u8>,
    json: JsonBuffers,
    #[cfg(feature = "patterns")]
    locations: Option<regex::bytes::CaptureLocations>,
}

impl KeyReader {
    /// Creates a reader that selects keys and normalizes them.
    pub fn new(selector: KeySelector, normalization: Normalization) -> Self {
        KeyReader::of(KeyRule {
            normalization,
            ..KeyRule::from(selector)
        })
    }

    /// Creates a reader that finds keys by a rule.
    pub fn of(rule: KeyRule) -> Self {
        KeyReader {
            #[cfg(feature = "patterns")]
            locations: match &rule.selector {
                KeySelector::Pattern(pattern) => pattern.locations(),
                _ => None,
            },
            normalizer: Normalizer::new(rule.normalization, &rule.drop_parameters),
            strips_carriage_return: rule.line_end.strips_carriage_return(),
            bare_json_values: rule.bare_json_values,
            selector: rule.selector,
            joined: Vec::new(),
            json: JsonBuffers::default(),
        }
    }

    /// Returns whether the key of every line is the unchanged line.
    pub fn takes_whole_lines(&self) -> bool {
        self.selector == KeySelector::WholeLine
            && self.normalizer.normalization() == Normalization::None
            && !self.strips_carriage_return
    }

    /// Returns the key of a line, or None if it has none.
    #[inline]
    pub fn key<'a>(&'a mut self, mut line: &'a [u8]) -> Option<&'a [u8]> {
        if self.strips_carriage_return {
            line = line.strip_suffix(b"\r").unwrap_or(line);
        }
        let key = match self.selector {
            KeySelector::WholeLine => line,
            KeySelector::Field {
                index,
                delimiter: Some(delimiter),
            } => delimited_field(line, delimiter, index)?,
            KeySelector::Field {
                index,
                delimiter: None,
            } => blank_field(line, index)?,
            KeySelector::Fields {
                ref fields,
                delimiter,
            } => {
                fields.join(line, delimiter, &mut self.joined)?;
                &self.joined
            }
            KeySelector::Json(ref path) => match path.find(line, &mut self.json)? {
                // Such a string is not JSON, and it could equal the key of another value.
                JsonValue::Text([NOT_A_STRING, ..]) => return None,
                JsonValue::Text(text) => text,
                JsonValue::Other(value) if self.bare_json_values => value,
                JsonValue::Other(value) => {
                    set_other_json_value(value, &mut self.joined);
                    return Some(&self.joined);
                }
            },
            #[cfg(feature = "patterns")]
            KeySelector::Pattern(ref pattern) => pattern.find(line, &mut self.locations)?,
        };
        Some(self.normalizer.apply(key))
    }

    /// Returns the part of a key that a user should see: the mark of a JSON value that is not a
    /// string is left out.
    pub fn shown<'a>(&self, key: &'a [u8]) -> &'a [u8] {
        match (&self.selector, key) {
            (KeySelector::Json(_), [NOT_A_STRING, value @ ..]) => value,
            _ => key,
        }
    }

    /// Returns the key to hash for a key that a user wrote, without the line around it.
    pub fn written_key<'a>(&'a mut self, key: &'a [u8]) -> &'a [u8] {
        self.normalizer.apply(key)
    }

    /// Returns the other key that a user may mean: where keys are JSON values, `7` stands for the
    /// string and for the number. None if there is no other.
    pub fn written_json_value<'a>(&'a mut self, key: &'a [u8]) -> Option<&'a [u8]> {
        let is_json = matches!(self.selector, KeySelector::Json(_)) && !self.bare_json_values;
        if !is_json || !JsonPath::is_value_other_than_string(key, &mut self.json) {
            return None;
        }
        set_other_json_value(key, &mut self.joined);
        Some(&self.joined)
    }
}

/// Writes the key of a number, a boolean, an object or an array.
fn set_other_json_value(value: &[u8], key: &mut Vec<u8>) {
    key.clear();
    key.push(NOT_A_STRING);
    key.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::key_rule::LineEnd;
    use super::*;

    fn key_of(line: &str, number: usize, delimiter: Option<u8>) -> Option<String> {
        let selector = KeySelector::field(number, delimiter).expect("from 1");
        let mut reader = KeyReader::new(selector, Normalization::None);
        let key = reader.key(line.as_bytes())?;
        Some(String::from_utf8(key.to_vec()).expect("as given"))
    }

    #[test]
    fn blanks_separate_like_awk() {
        assert_eq!(key_of("  a \t b  c ", 2, None).as_deref(), Some("b"));
        assert_eq!(key_of("  a \t b  c ", 3, None).as_deref(), Some("c"));
        assert_eq!(key_of("  a \t b  c ", 4, None).as_deref(), None);
        assert_eq!(key_of("", 1, None).as_deref(), None);
    }

    #[test]
    fn a_delimiter_separates_like_cut() {
        assert_eq!(key_of("a,,c", 1, Some(b',')).as_deref(), Some("a"));
        assert_eq!(key_of("a,,c", 2, Some(b',')).as_deref(), Some(""));
        assert_eq!(key_of("a,,c", 3, Some(b',')).as_deref(), Some("c"));
        assert_eq!(key_of("a,,c", 4, Some(b',')).as_deref(), None);
        assert_eq!(key_of("a,", 2, Some(b',')).as_deref(), Some(""));
        assert_eq!(key_of("", 1, Some(b',')).as_deref(), Some(""));
    }

    #[test]
    fn several_fields_are_joined_in_the_given_order() {
        let key_of = |line: &str, fields: &str, delimiter| {
            let fields: FieldList = fields.parse().expect("fields");
            let mut reader =
                KeyReader::new(KeySelector::fields(fields, delimiter), Normalization::None);
            let key = reader.key(line.as_bytes())?;
            Some(String::from_utf8(key.to_vec()).expect("as given"))
        };
        assert_eq!(key_of("a  b c", "3,1", None).as_deref(), Some("c a"));
        assert_eq!(key_of("a,,c", "2,3", Some(b',')).as_deref(), Some(",c"));
        assert_eq!(key_of("a b", "1,3", None), None);
        assert_eq!(key_of("a b", "2", None).as_deref(), Some("b"));
        assert!(KeySelector::field(0, None).is_err());
    }

    fn json_key(line: &[u8], bare_json_values: bool) -> Option<Vec<u8>> {
        let path: JsonPath = "k".parse().expect("a path");
        let mut reader = KeyReader::of(KeyRule {
            selector: KeySelector::Json(path),
            bare_json_values,
            ..KeyRule::default()
        });
        Some(reader.key(line)?.to_vec())
    }

    #[test]
    fn a_number_is_not_the_string_of_its_digits() {
        let key = |line: &[u8]| json_key(line, false);
        assert_eq!(key(br#"{"k":"1"}"#).as_deref(), Some(&b"1"[..]));
        assert_eq!(key(br#"{"k":1}"#).as_deref(), Some(&b"\xFF1"[..]));
        assert_eq!(key(br#"{"k":[1, 2]}"#).as_deref(), Some(&b"\xFF[1, 2]"[..]));
        assert_eq!(key(b"{\"k\":\"\xFF1\"}"), None);
        assert_eq!(key(b"{\"k\":\"a\xFF1\"}").as_deref(), Some(&b"a\xFF1"[..]));
        assert_eq!(json_key(br#"{"k":1}"#, true).as_deref(), Some(&b"1"[..]));
    }

    #[test]
    fn a_written_key_can_stand_for_a_json_value() {
        let path: JsonPath = "k".parse().expect("a path");
        let mut reader = KeyReader::new(KeySelector::Json(path), Normalization::None);
        assert_eq!(reader.written_key(b"7"), b"7");
        for (written, other) in [
            ("7", Some(&b"\xFF7"[..])),
            ("true", Some(b"\xFFtrue")),
            ("[1]", Some(b"\xFF[1]")),
            ("null", None),
            ("\"7\"", None),
            ("7a", None),
            ("", None),
        ] {
            assert_eq!(
                reader.written_json_value(written.as_bytes()),
                other,
                "{written}"
            );
        }
        let mut lines = KeyReader::default();
        assert_eq!(lines.written_json_value(b"7"), None);
    }

    #[test]
    fn a_carriage_return_before_the_line_end_is_not_part_of_the_key() {
        let mut reader = KeyReader::of(KeyRule {
            selector: KeySelector::field(2, Some(b',')).expect("from 1"),
            line_end: LineEnd::CrLf,
            ..KeyRule::default()
        });
        assert!(!reader.takes_whole_lines());
        for (line, key) in [
            (&b"a,b\r"[..], &b"b"[..]),
            (b"a,b", b"b"),
            (b"a,b\r\r", b"b\r"),
            (b"a,\r", b""),
        ] {
            assert_eq!(reader.key(line), Some(key));
        }
    }

    proptest! {
        #[test]
        fn delimited_fields_equal_those_of_split(line in "[ab,]{0,12}", number in 1usize..8) {
            let expected = line.split(',').nth(number - 1);
            let found = key_of(&line, number, Some(b','));
            prop_assert_eq!(found.as_deref(), expected);
        }
    }
}
