//! Which part of a line is its key.

use memchr::memchr_iter;

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

    /// The key of a line, if the line has one. A field that is there but empty is a
    /// key; a line with too few fields has none.
    #[inline]
    pub fn key<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        match *self {
            KeySelector::WholeLine => Some(line),
            KeySelector::Field {
                index,
                delimiter: Some(delimiter),
            } => delimited_field(line, delimiter, index),
            KeySelector::Field {
                index,
                delimiter: None,
            } => blank_field(line, index),
        }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key_of(line: &str, number: usize, delimiter: Option<u8>) -> Option<&str> {
        let selector = KeySelector::field(number, delimiter).expect("from 1");
        selector
            .key(line.as_bytes())
            .map(|key| std::str::from_utf8(key).expect("as given"))
    }

    #[test]
    fn blanks_separate_like_awk() {
        assert_eq!(key_of("  a \t b  c ", 2, None), Some("b"));
        assert_eq!(key_of("  a \t b  c ", 3, None), Some("c"));
        assert_eq!(key_of("  a \t b  c ", 4, None), None);
        assert_eq!(key_of("", 1, None), None);
    }

    #[test]
    fn a_delimiter_separates_like_cut() {
        assert_eq!(key_of("a,,c", 1, Some(b',')), Some("a"));
        assert_eq!(key_of("a,,c", 2, Some(b',')), Some(""));
        assert_eq!(key_of("a,,c", 3, Some(b',')), Some("c"));
        assert_eq!(key_of("a,,c", 4, Some(b',')), None);
        assert_eq!(key_of("a,", 2, Some(b',')), Some(""));
        assert_eq!(key_of("", 1, Some(b',')), Some(""));
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
            prop_assert_eq!(key_of(&line, number, Some(b',')), expected);
        }
    }
}
