//! Which part of a line is its key.

use memchr::memchr_iter;

use super::json::JsonPath;
use super::normalization::Normalization;
#[cfg(feature = "patterns")]
use super::pattern::KeyPattern;

/// Finds the key of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeySelector {
    /// The whole line, without its delimiter.
    #[default]
    WholeLine,
    /// The `index`-th field, from 0.
    Field {
        /// Which.
        index: usize,
        /// What separates fields: one byte, or, where `None`, any run of blanks and
        /// tabs, those at the start of the line not counting.
        delimiter: Option<u8>,
    },
    /// Several fields, in the order named, joined by their delimiter or by one blank.
    Fields {
        /// Which, from 0.
        indices: Vec<usize>,
        /// As for one field.
        delimiter: Option<u8>,
    },
    /// A value of a JSON line.
    Json(JsonPath),
    /// What a regular expression finds.
    #[cfg(feature = "patterns")]
    Pattern(KeyPattern),
}

/// A choice of key that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeySelectorError {
    /// Fields are counted from 1.
    #[error("fields are counted from 1; found 0")]
    FieldZero,
}

impl KeySelector {
    /// The field a person calls number `number`.
    pub fn field(number: usize, delimiter: Option<u8>) -> Result<Self, KeySelectorError> {
        let index = number.checked_sub(1).ok_or(KeySelectorError::FieldZero)?;
        Ok(KeySelector::Field { index, delimiter })
    }

    /// The fields a person calls by these numbers, joined.
    pub fn fields(numbers: &[usize], delimiter: Option<u8>) -> Result<Self, KeySelectorError> {
        if let [number] = *numbers {
            return Self::field(number, delimiter);
        }
        let indices: Option<Vec<usize>> = numbers.iter().map(|it| it.checked_sub(1)).collect();
        let indices = indices.ok_or(KeySelectorError::FieldZero)?;
        Ok(KeySelector::Fields { indices, delimiter })
    }
}

/// Finds the keys of lines, one after another.
///
/// A field that is there but empty is a key; a line with too few fields, without the value or
/// without a match has none. What must be decoded or normalized lies in memory that is used
/// again for the next line.
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
    /// Of what the selector finds, normalized.
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

    /// Whether every line is its own key, so that none need be looked for.
    pub fn takes_whole_lines(&self) -> bool {
        self.selector == KeySelector::WholeLine && self.normalization == Normalization::None
    }

    /// The key of a line, if the line has one.
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
    for (place, &index) in indices.iter().enumerate() {
        if place > 0 {
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
    fn several_fields_are_joined_in_the_order_named() {
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
    fn there_is_no_field_zero() {
        assert_eq!(
            KeySelector::field(0, None),
            Err(KeySelectorError::FieldZero)
        );
    }

    proptest! {
        #[test]
        fn delimited_fields_are_those_of_split(line in "[ab,]{0,12}", number in 1usize..8) {
            let expected = line.split(',').nth(number - 1);
            let found = key_of(&line, number, Some(b','));
            prop_assert_eq!(found.as_deref(), expected);
        }
    }
}
