//! Names of query parameters.

use std::fmt;
use std::str::FromStr;

/// The name of a query parameter, or the start of names: `ref`, `utm_*`. The case of ASCII
/// letters does not matter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParameterPattern {
    /// In lower case.
    name: Box<str>,
    is_prefix: bool,
}

/// The error for a text that names no parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected the name of a parameter, as in ref, or a prefix and *, as in utm_*; found `{found}`"
)]
pub struct ParameterPatternError {
    found: String,
}

impl FromStr for ParameterPattern {
    type Err = ParameterPatternError;

    fn from_str(text: &str) -> Result<Self, ParameterPatternError> {
        let (name, is_prefix) = match text.strip_suffix('*') {
            Some(prefix) => (prefix, true),
            None => (text, false),
        };
        // Names are compared as a normalized URL has them: ASCII, without these characters.
        let is_name = |byte: u8| byte.is_ascii_graphic() && !b"*&=#\"<>'".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(ParameterPatternError {
                found: text.to_owned(),
            });
        }
        Ok(ParameterPattern {
            name: name.to_ascii_lowercase().into(),
            is_prefix,
        })
    }
}

impl fmt::Display for ParameterPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.is_prefix { "*" } else { "" };
        write!(f, "{}{star}", self.name)
    }
}

#[cfg(feature = "normalization")]
impl ParameterPattern {
    /// Returns the first byte, in lower case.
    pub(super) fn first_byte(&self) -> u8 {
        self.name.as_bytes()[0]
    }

    pub(super) fn matches(&self, name: &[u8]) -> bool {
        let pattern = self.name.as_bytes();
        match name.split_at_checked(pattern.len()) {
            Some((start, rest)) => {
                (self.is_prefix || rest.is_empty()) && start.eq_ignore_ascii_case(pattern)
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_or_a_prefix() {
        for (text, canonical) in [("ref", "ref"), ("UTM_*", "utm_*"), ("a[b]", "a[b]")] {
            let pattern: ParameterPattern = text.parse().expect(text);
            assert_eq!(pattern.to_string(), canonical);
        }
        for text in ["", "*", "a*b", "a=b", "a&b", "é", "a b", "**"] {
            assert!(text.parse::<ParameterPattern>().is_err(), "{text}");
        }
    }

    #[cfg(feature = "normalization")]
    #[test]
    fn case_does_not_matter() {
        let prefix: ParameterPattern = "utm_*".parse().expect("a pattern");
        assert!(prefix.matches(b"UTM_source") && prefix.matches(b"utm_"));
        assert!(!prefix.matches(b"utm") && !prefix.matches(b"xutm_"));
        let name: ParameterPattern = "Ref".parse().expect("a pattern");
        assert!(name.matches(b"REF") && !name.matches(b"refs") && !name.matches(b""));
    }
}
