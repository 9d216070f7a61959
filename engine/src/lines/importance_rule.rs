//! Where the importance of a line is, and how it is written.
//!
//! The importance of an observation is a whole number from 0 to 65,535; the more, the more it
//! matters. The synthetic streams, and the filters that map importance to a cell, use 1 to 50.

use std::fmt;
use std::str::FromStr;

use super::fields::{blank_field, delimited_field};
use super::json::JsonBuffers;
use super::value_rule::{ValueOptions, ValueRule, ValueSelector};

/// The importance of a line without a readable one.
pub const LEAST_IMPORTANCE: u16 = 1;
/// The importance of depth 0, and the greatest of a PageRank.
const GREATEST: u16 = 50;
/// How much importance a page loses if its PageRank is halved.
const PER_HALVING: f64 = 2.0;

/// How an importance is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportanceFormat {
    /// A number, rounded to the nearest importance.
    #[default]
    Number,
    /// A link depth d, from 0: its importance is 50 ÷ (d + 1), rounded down, and at least 1.
    Depth,
    /// A PageRank p, whose sum over all pages is 1: its importance is 50 + 2·log₂ p, rounded down,
    /// from 1 to 50. PageRank 1/1000 has 30, 1/1000000 has 10.
    PageRank,
}

/// The error for an unknown format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected number, depth or pagerank; found `{found}`")]
pub struct UnknownImportanceFormat {
    found: String,
}

impl ImportanceFormat {
    /// All formats.
    pub const ALL: [ImportanceFormat; 3] = [
        ImportanceFormat::Number,
        ImportanceFormat::Depth,
        ImportanceFormat::PageRank,
    ];

    /// Returns the name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            ImportanceFormat::Number => "number",
            ImportanceFormat::Depth => "depth",
            ImportanceFormat::PageRank => "pagerank",
        }
    }

    /// Returns the importance that a text means. None if it is no number, or if it is negative.
    pub fn parse(self, text: &[u8]) -> Option<u16> {
        let text = str::from_utf8(text).ok()?.trim();
        let text = text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'))
            .unwrap_or(text);
        // Rust also reads words like `nan`.
        if !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        match self {
            ImportanceFormat::Depth => text.parse().ok().map(importance_of_depth),
            ImportanceFormat::Number => {
                let number: f64 = text.parse().ok().filter(|&number| number >= 0.0)?;
                Some(libm::round(number).min(f64::from(u16::MAX)) as u16)
            }
            ImportanceFormat::PageRank => {
                let rank: f64 = text.parse().ok().filter(|&rank| rank > 0.0)?;
                let importance = f64::from(GREATEST) + PER_HALVING * libm::log2(rank);
                let (least, greatest) = (f64::from(LEAST_IMPORTANCE), f64::from(GREATEST));
                Some(importance.clamp(least, greatest) as u16)
            }
        }
    }
}

impl FromStr for ImportanceFormat {
    type Err = UnknownImportanceFormat;

    fn from_str(text: &str) -> Result<Self, UnknownImportanceFormat> {
        let found = Self::ALL.into_iter().find(|format| format.name() == text);
        found.ok_or_else(|| UnknownImportanceFormat {
            found: text.to_owned(),
        })
    }
}

impl fmt::Display for ImportanceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the importance of a link depth: 50 ÷ (depth + 1), rounded down, and at least 1.
pub fn importance_of_depth(depth: u32) -> u16 {
    let share = u32::from(GREATEST) / depth.saturating_add(1);
    (share as u16).max(LEAST_IMPORTANCE)
}

/// How the importance of a line is found.
pub type ImportanceRule = ValueRule<ImportanceFormat>;

/// The parts of an [`ImportanceRule`] that a caller asks for.
pub type ImportanceOptions = ValueOptions<ImportanceFormat>;

/// Finds the importance of successive lines.
#[derive(Clone, Debug)]
pub struct ImportanceReader {
    rule: ImportanceRule,
    json: JsonBuffers,
}

impl ImportanceReader {
    /// Creates a reader that finds importance by a rule.
    pub fn new(rule: ImportanceRule) -> Self {
        ImportanceReader {
            rule,
            json: JsonBuffers::default(),
        }
    }

    /// Returns the importance of a line, or None if it has no readable one. Such a line counts
    /// with [`LEAST_IMPORTANCE`].
    #[inline]
    pub fn importance(&mut self, line: &[u8]) -> Option<u16> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = match self.rule.selector {
            ValueSelector::Field { index, delimiter } => match delimiter {
                None => blank_field(line, index)?,
                Some(delimiter) => delimited_field(line, delimiter, index)?,
            },
            ValueSelector::Json(ref path) => path.find(line, &mut self.json)?.bytes(),
        };
        self.rule.format.parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(selector: ValueSelector, format: ImportanceFormat) -> ImportanceReader {
        ImportanceReader::new(ImportanceRule { selector, format })
    }

    fn field(number: usize, delimiter: Option<u8>) -> ImportanceReader {
        let index = number - 1;
        let selector = ValueSelector::Field { index, delimiter };
        reader(selector, ImportanceFormat::Number)
    }

    #[test]
    fn importance_is_a_field_or_a_json_value() {
        assert_eq!(field(2, None).importance(b"a  17 b"), Some(17));
        assert_eq!(field(2, None).importance(b"a\t17\r"), Some(17));
        assert_eq!(field(2, Some(b',')).importance(b"a,\"17\",b"), Some(17));
        assert_eq!(field(3, None).importance(b"a 17"), None);
        assert_eq!(field(2, Some(b',')).importance(b"a,,b"), None);
        let json = ValueSelector::Json("page.rank".parse().expect("a path"));
        let mut json = reader(json, ImportanceFormat::Number);
        assert_eq!(json.importance(br#"{"page":{"rank":3.6}}"#), Some(4));
        assert_eq!(json.importance(br#"{"page":{"rank":"12"}}"#), Some(12));
        assert_eq!(json.importance(br#"{"page":{"rank":null}}"#), None);
        assert_eq!(json.importance(br#"{"page":{}}"#), None);
    }

    #[test]
    fn numbers_are_rounded_and_limited() {
        let parse = |text: &str| ImportanceFormat::Number.parse(text.as_bytes());
        for (text, importance) in [
            ("0", 0),
            ("0.4", 0),
            ("0.5", 1),
            ("1e3", 1000),
            ("65535", 65_535),
            ("1e300", 65_535),
        ] {
            assert_eq!(parse(text), Some(importance), "{text}");
        }
        for text in ["", "-1", "high", "nan", "inf", "1 2", "0x10"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn deeper_pages_are_less_important() {
        let parse = |text: &str| ImportanceFormat::Depth.parse(text.as_bytes());
        let found: Vec<_> = (0..8).map(importance_of_depth).collect();
        assert_eq!(found, [50, 25, 16, 12, 10, 8, 7, 6]);
        assert_eq!(parse("0"), Some(50));
        assert_eq!(parse("4294967295"), Some(1));
        assert_eq!(parse("1.5"), None);
        assert_eq!(parse("-1"), None);
    }

    #[test]
    fn a_page_rank_counts_by_its_logarithm() {
        let parse = |text: &str| ImportanceFormat::PageRank.parse(text.as_bytes());
        for (text, importance) in [
            ("1", 50),
            ("0.5", 48),
            ("0.001", 30),
            ("1e-6", 10),
            ("1e-30", 1),
            ("17", 50),
        ] {
            assert_eq!(parse(text), Some(importance), "{text}");
        }
        assert_eq!((parse("0"), parse("-0.1")), (None, None));
    }

    #[test]
    fn formats_are_parsed_by_name() {
        for format in ImportanceFormat::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert!("rank".parse::<ImportanceFormat>().is_err());
    }
}
