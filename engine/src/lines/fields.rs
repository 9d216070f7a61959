//! Fields of a line: which ones, and where they are.

use std::fmt;
use std::str::FromStr;

use memchr::{memchr, memchr_iter};

/// The fields that make up a key, as `cut` writes them: `7`, `1,7`, `1-3`, `2-`, `1,4-6`.
///
/// The key has the fields in the given order. A line that lacks one of them has no key; `2-`
/// asks for field 2 and takes all fields after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldList {
    ranges: Vec<FieldRange>,
}

/// Successive fields, by their index from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FieldRange {
    first: usize,
    /// None: to the end of the line.
    last: Option<usize>,
}

/// The error for a text that is no list of fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldListError {
    /// Fields are counted from 1.
    #[error("fields are counted from 1; found 0 in `{0}`")]
    Zero(String),
    /// A range whose end is before its start.
    #[error("the range `{part}` ends before it starts; write {last}-{first}")]
    Reversed {
        /// The range as it was given.
        part: String,
        /// Its first number.
        first: usize,
        /// Its second number.
        last: usize,
    },
    /// Neither a number nor a range.
    #[error("expected the number of a field, or several, as in 7, 1,7, 1-3 or 2-; found `{0}`")]
    Malformed(String),
}

impl FromStr for FieldList {
    type Err = FieldListError;

    fn from_str(text: &str) -> Result<Self, FieldListError> {
        let ranges: Result<Vec<_>, _> = text.split(',').map(|part| range(part, text)).collect();
        Ok(FieldList { ranges: ranges? })
    }
}

fn range(part: &str, text: &str) -> Result<FieldRange, FieldListError> {
    let malformed = || FieldListError::Malformed(text.to_owned());
    // `parse` would also accept a sign.
    let number = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => digits.parse::<usize>().map_err(|_| malformed()),
        false => Err(malformed()),
    };
    let (first, last) = match part.split_once('-') {
        None => {
            let number = number(part)?;
            (number, Some(number))
        }
        Some(("", "")) => return Err(malformed()),
        Some((first, "")) => (number(first)?, None),
        Some(("", last)) => (1, Some(number(last)?)),
        Some((first, last)) => (number(first)?, Some(number(last)?)),
    };
    if first == 0 || last == Some(0) {
        return Err(FieldListError::Zero(text.to_owned()));
    }
    match last {
        Some(last) if last < first => Err(FieldListError::Reversed {
            part: part.to_owned(),
            first,
            last,
        }),
        _ => Ok(FieldRange {
            first: first - 1,
            last: last.map(|last| last - 1),
        }),
    }
}

impl fmt::Display for FieldList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, range) in self.ranges.iter().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            match *range {
                FieldRange { first, last: None } => write!(f, "{}-", first + 1)?,
                FieldRange {
                    first,
                    last: Some(last),
                } if first == last => write!(f, "{}", first + 1)?,
                FieldRange {
                    first,
                    last: Some(last),
                } => write!(f, "{}-{}", first + 1, last + 1)?,
            }
        }
        Ok(())
    }
}

impl FieldList {
    /// Returns the list of one field, by its index from 0.
    pub(super) fn one(index: usize) -> Self {
        FieldList {
            ranges: vec![FieldRange {
                first: index,
                last: Some(index),
            }],
        }
    }

    /// Returns the same fields with as few ranges as possible: `1,2` is `1-2`. A range without an
    /// end stays apart: a line with one field has a key by `1-`, and none by `1,2-`.
    pub(super) fn canonical(&self) -> Self {
        let mut ranges: Vec<FieldRange> = Vec::with_capacity(self.ranges.len());
        for &range in &self.ranges {
            match (ranges.last_mut(), range.last) {
                (
                    Some(FieldRange {
                        last: Some(end), ..
                    }),
                    Some(last),
                ) if *end + 1 == range.first => {
                    *end = last;
                }
                _ => ranges.push(range),
            }
        }
        FieldList { ranges }
    }

    /// Returns the index of the field if the list has only one.
    pub(super) fn single(&self) -> Option<usize> {
        match self.ranges[..] {
            [FieldRange { first, last }] if last == Some(first) => Some(first),
            _ => None,
        }
    }

    /// Writes the fields to `joined`, separated by the delimiter or by one blank. None if the
    /// line lacks one of them.
    pub(super) fn join(
        &self,
        line: &[u8],
        delimiter: Option<u8>,
        joined: &mut Vec<u8>,
    ) -> Option<()> {
        joined.clear();
        for (position, range) in self.ranges.iter().enumerate() {
            if position > 0 {
                joined.push(delimiter.unwrap_or(b' '));
            }
            match delimiter {
                Some(delimiter) => joined.extend_from_slice(range.delimited(line, delimiter)?),
                None => range.push_blank_separated(line, joined)?,
            }
        }
        Some(())
    }
}

impl FieldRange {
    /// Returns the part of the line from the first field to the last.
    fn delimited(self, line: &[u8], delimiter: u8) -> Option<&[u8]> {
        let rest = &line[field_start(line, delimiter, self.first)?..];
        let Some(last) = self.last else {
            return Some(rest);
        };
        let mut ends = memchr_iter(delimiter, rest).chain([rest.len()]);
        let end = ends.nth(last - self.first)?;
        Some(&rest[..end])
    }

    fn push_blank_separated(self, line: &[u8], joined: &mut Vec<u8>) -> Option<()> {
        let mut fields = blank_fields(line).skip(self.first);
        joined.extend_from_slice(fields.next()?);
        let mut missing = self.last.map(|last| last - self.first);
        while missing != Some(0) {
            match (fields.next(), missing) {
                (Some(field), _) => {
                    joined.push(b' ');
                    joined.extend_from_slice(field);
                }
                (None, None) => break,
                (None, Some(_)) => return None,
            }
            missing = missing.map(|missing| missing - 1);
        }
        Some(())
    }
}

/// Returns a field by its index from 0. Every delimiter separates, so a field can be empty.
pub(super) fn delimited_field(line: &[u8], delimiter: u8, index: usize) -> Option<&[u8]> {
    let rest = &line[field_start(line, delimiter, index)?..];
    Some(&rest[..memchr(delimiter, rest).unwrap_or(rest.len())])
}

/// Returns where a field starts, by its index from 0.
pub(super) fn field_start(line: &[u8], delimiter: u8, index: usize) -> Option<usize> {
    match index {
        0 => Some(0),
        _ => Some(memchr_iter(delimiter, line).nth(index - 1)? + 1),
    }
}

/// Returns a field by its index from 0. Runs of blanks and tabs separate.
pub(super) fn blank_field(line: &[u8], index: usize) -> Option<&[u8]> {
    blank_fields(line).nth(index)
}

/// Returns where a field starts, by its index from 0. Runs of blanks and tabs separate.
pub(super) fn blank_field_start(line: &[u8], index: usize) -> Option<usize> {
    // A field is the byte after a blank. Fields before a time are short, so a loop over bytes is
    // faster than a search for each blank.
    let (mut fields, mut is_after_blank) = (0, true);
    for (at, &byte) in line.iter().enumerate() {
        let is_blank = byte == b' ' || byte == b'\t';
        if is_after_blank && !is_blank {
            if fields == index {
                return Some(at);
            }
            fields += 1;
        }
        is_after_blank = is_blank;
    }
    None
}

fn blank_fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b' ' || byte == b'\t')
        .filter(|field| !field.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn join(list: &str, line: &str, delimiter: Option<u8>) -> Option<String> {
        let list: FieldList = list.parse().expect("a list");
        let mut joined = Vec::new();
        list.join(line.as_bytes(), delimiter, &mut joined)?;
        Some(String::from_utf8(joined).expect("as given"))
    }

    #[test]
    fn ranges_are_written_as_cut_writes_them() {
        let line = "a,b,,d,e";
        for (list, expected) in [
            ("1-3", Some("a,b,")),
            ("2-", Some("b,,d,e")),
            ("-2", Some("a,b")),
            ("1,4-5", Some("a,d,e")),
            ("5,1", Some("e,a")),
            ("5-", Some("e")),
            ("6-", None),
            ("4-6", None),
        ] {
            assert_eq!(join(list, line, Some(b',')).as_deref(), expected, "{list}");
        }
        let line = "  a \t b  c d ";
        for (list, expected) in [
            ("2-3", Some("b c")),
            ("2-", Some("b c d")),
            ("4-", Some("d")),
            ("5-", None),
            ("3-5", None),
        ] {
            assert_eq!(join(list, line, None).as_deref(), expected, "{list}");
        }
    }

    #[test]
    fn a_list_has_one_text_form() {
        for text in ["7", "1,7", "1-3", "2-", "1,4-6", "3,1"] {
            assert_eq!(text.parse::<FieldList>().expect(text).to_string(), text);
        }
        assert_eq!("-3".parse::<FieldList>().expect("-3").to_string(), "1-3");
        assert_eq!("4-4".parse::<FieldList>().expect("4-4").to_string(), "4");
    }

    #[test]
    fn a_bad_list_is_refused_with_its_reason() {
        for (text, reason) in [
            ("0", "counted from 1"),
            ("1,0-2", "counted from 1"),
            ("3-1", "write 1-3"),
            ("", "found ``"),
            ("-", "found `-`"),
            ("1,,2", "found `1,,2`"),
            ("1-2-3", "found `1-2-3`"),
            ("a", "found `a`"),
            ("+1", "found `+1`"),
            ("1 ", "found `1 `"),
            ("99999999999999999999", "found `9999"),
        ] {
            let error = text.parse::<FieldList>().expect_err(text).to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_blank_field_starts_where_it_is_found(line in "[ab \t]{0,12}", index in 0usize..6) {
            let rest = blank_field_start(line.as_bytes(), index).map(|at| &line.as_bytes()[at..]);
            let field = rest.and_then(|rest| blank_field(rest, 0));
            prop_assert_eq!(field, blank_field(line.as_bytes(), index));
        }

        #[test]
        fn ranges_equal_those_of_split(line in "[ab,]{0,12}", first in 1usize..6, more in 0usize..4) {
            let fields: Vec<&str> = line.split(',').collect();
            let last = first + more;
            let expected = fields.get(first - 1..last).map(|fields| fields.join(","));
            prop_assert_eq!(join(&format!("{first}-{last}"), &line, Some(b',')), expected);
            let expected = fields.get(first - 1..).filter(|fields| !fields.is_empty());
            let expected = expected.map(|fields| fields.join(","));
            prop_assert_eq!(join(&format!("{first}-"), &line, Some(b',')), expected);
        }
    }
}
