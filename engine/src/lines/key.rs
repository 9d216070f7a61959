//! Selects the key of a line.

use memchr::memchr_iter;

use super::json::JsonPath;
use super::normalization::Normalization;
#[cfg(feature = "patterns")]
use super::pattern::KeyPattern;

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
        /// The indices of the fields, from 0.
        indices: Vec<usize>,
        /// As in [`Field`](KeySelector::Field).
        delimiter: Option<u8>,
    },
    /// A value of a JSON line.
    Json(JsonPath),
    /// The match of a regular expression.
    #[cfg(feature = "patterns")]
    Pattern(KeyPattern),
}

/// The error for a key selection that is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeySelectorError {
    /// Field 0 was asked for; fields are counted from 1.
    #[error("fields are counted from 1; found 0")]
    FieldZero,
}

impl KeySelector {
    /// Selects field `number`, counted from 1.
    pub fn field(number: usize, delimiter: Option<u8>) -> Result<Self, KeySelectorError> {
        let index = number.checked_sub(1).ok_or(KeySelectorError::FieldZero)?;
        Ok(KeySelector::Field { index, delimiter })
    }

    /// Selects several fields, counted from 1, and joins them.
    pub fn fields(numbers: &[usize], delimiter: Option<u8>) -> Result<Self, KeySelectorError> {
        if let [number] = *numbers {
            return Self::field(number, delimiter);
        }
        let indices: Option<Vec<usize>> = numbers.iter().map(|it| it.checked_sub(1)).collect();
        let indices = indices.ok_or(KeySelectorError::FieldZero)?;
        Ok(KeySelector::Fields { indices, delimiter })
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
    normalization: Normalization,
    decoded: Vec<u8>,
    normalized: Vec<u8>,
    #[cfg(feature = "patterns")]
    locations: Option<regex::bytes::CaptureLocations>,
}

impl KeyReader {
    /// Creates a reader that selects keys and normalizes them.
    pub fn new(selector: KeySelector, normalization: Normalization) -> Self {
        KeyReader {
            #[cfg(feature = "patterns")]
            locations: match &selector {
                KeySelector::Pattern(pattern) => pattern.locations(),
                _ => None,
            },
            selector,
            normalization,
            decoded: Vec::new(),
            normalized: Vec::new(),
        }
    }

    /// Returns whether the key of every line is the unchanged line.
    pub fn takes_whole_lines(&self) -> bool {
        self.selector == KeySelector::WholeLine && self.normalization == Normalization::None
    }

    /// Returns the key of a line, or None if it has none.
    #[inline]
    pub fn key<'a>(&'a mut self, line: &'a [u8]) -> Option<&'a [u8]> {
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
                ref indices,
                delimiter,
            } => {
                join_fields(line, indices, delimiter, &mut self.decoded)?;
                &self.decoded
            }
            KeySelector::Json(ref path) => path.find(line, &mut self.decoded)?,
            #[cfg(feature = "patterns")]
            KeySelector::Pattern(ref pattern) => pattern.find(line, &mut self.locations)?,
        };
        Some(self.normalization.apply(key, &mut self.normalized))
    }
}

fn delimited_field(line: &[u8], delimiter: u8, index: usize) -> Option<&[u8]> {
    let mut ends = memchr_iter(delimiter, line).chain([line.len()]);
    let start = match index {
        0 => 0,
        _ => ends.nth(index - 1).filter(|&end| end < line.len())? + 1,
    };
    let end = ends.next()?;
    Some(&line[start..end])
}

fn blank_field(line: &[u8], index: usize) -> Option<&[u8]> {
    line.split(|&byte| byte == b' ' || byte == b'\t')
        .filter(|field| !field.is_empty())
        .nth(index)
}

fn join_fields(
    line: &[u8],
    indices: &[usize],
    delimiter: Option<u8>,
    joined: &mut Vec<u8>,
) -> Option<()> {
    joined.clear();
    for (position, &index) in indices.iter().enumerate() {
        if position > 0 {
            joined.push(delimiter.unwrap_or(b' '));
        }
        joined.extend_from_slice(match delimiter {
            Some(delimiter) => delimited_field(line, delimiter, index)?,
            None => blank_field(line, index)?,
        });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        let key_of = |line: &str, numbers: &[usize], delimiter| {
            let selector = KeySelector::fields(numbers, delimiter).expect("from 1");
            let mut reader = KeyReader::new(selector, Normalization::None);
            let key = reader.key(line.as_bytes())?;
            Some(String::from_utf8(key.to_vec()).expect("as given"))
        };
        assert_eq!(key_of("a  b c", &[3, 1], None).as_deref(), Some("c a"));
        assert_eq!(key_of("a,,c", &[2, 3], Some(b',')).as_deref(), Some(",c"));
        assert_eq!(key_of("a b", &[1, 3], None), None);
        assert_eq!(key_of("a b", &[2], None).as_deref(), Some("b"));
        let zero = KeySelector::fields(&[1, 0], None);
        assert_eq!(zero, Err(KeySelectorError::FieldZero));
    }

    #[test]
    fn field_zero_is_refused() {
        assert_eq!(
            KeySelector::field(0, None),
            Err(KeySelectorError::FieldZero)
        );
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
