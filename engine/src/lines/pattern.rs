//! Selects keys by regular expression.

use std::fmt;
use std::str::FromStr;

use regex::bytes::{CaptureLocations, Regex};

/// The length of the longest regular expression, in bytes. Compiling one takes hundreds of bytes per
/// byte; those that people write are much shorter.
const LONGEST_EXPRESSION: usize = 16 << 10;

/// A regular expression that selects a key: the match of its first group, or the whole match
/// if it has no group. If a line has several matches, the first one counts.
#[derive(Clone)]
pub struct KeyPattern {
    expression: Regex,
}

/// The error for an expression that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct KeyPatternError {
    message: String,
}

impl FromStr for KeyPattern {
    type Err = KeyPatternError;

    fn from_str(text: &str) -> Result<Self, KeyPatternError> {
        if text.len() > LONGEST_EXPRESSION {
            let message = format!(
                "a regular expression of {} bytes; the longest has {LONGEST_EXPRESSION}",
                text.len()
            );
            return Err(KeyPatternError { message });
        }
        match Regex::new(text) {
            Ok(expression) => Ok(KeyPattern { expression }),
            Err(error) => Err(KeyPatternError {
                message: error.to_string(),
            }),
        }
    }
}

impl fmt::Display for KeyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expression.as_str())
    }
}

impl fmt::Debug for KeyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyPattern({self})")
    }
}

impl PartialEq for KeyPattern {
    fn eq(&self, other: &Self) -> bool {
        self.expression.as_str() == other.expression.as_str()
    }
}

impl Eq for KeyPattern {}

impl KeyPattern {
    /// Returns the expression as it was written.
    pub fn as_str(&self) -> &str {
        self.expression.as_str()
    }

    /// Returns the buffer for the positions of groups, or None if the expression has no group.
    /// A caller allocates it once and uses it for all lines.
    pub(super) fn locations(&self) -> Option<CaptureLocations> {
        (self.expression.captures_len() > 1).then(|| self.expression.capture_locations())
    }

    /// Returns the key of a line, or None if the expression or its first group does not match.
    pub(super) fn find<'a>(
        &self,
        line: &'a [u8],
        locations: &mut Option<CaptureLocations>,
    ) -> Option<&'a [u8]> {
        match locations {
            None => Some(self.expression.find(line)?.as_bytes()),
            Some(locations) => {
                self.expression.captures_read(locations, line)?;
                let (start, end) = locations.get(1)?;
                Some(&line[start..end])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'a>(pattern: &str, line: &'a [u8]) -> Option<&'a [u8]> {
        let pattern: KeyPattern = pattern.parse().expect("an expression");
        pattern.find(line, &mut pattern.locations())
    }

    #[test]
    fn the_key_is_the_first_group_or_the_whole_match() {
        let line = b"GET /a?x=1 HTTP/1.1 \xff";
        assert_eq!(find("[?]x=[0-9]", line), Some(&b"?x=1"[..]));
        assert_eq!(find("[A-Z]+ ([^? ]+)", line), Some(&b"/a"[..]));
        assert_eq!(find("(?:GET|POST) (\\S+)", line), Some(&b"/a?x=1"[..]));
        assert_eq!(find("POST (.*)", line), None);
        assert_eq!(find("GET|(POST)", line), None);
        assert_eq!(find("(?-u)\\xff", line), Some(&b"\xff"[..]));
        assert_eq!(find("x*", b""), Some(&b""[..]));
    }

    #[test]
    fn a_parse_error_names_the_mistake() {
        let error = "a(".parse::<KeyPattern>().expect_err("open");
        assert!(error.to_string().contains("unclosed group"), "{error}");
    }

    #[test]
    fn a_very_long_expression_is_refused() {
        let longest = "a".repeat(LONGEST_EXPRESSION);
        assert!(longest.parse::<KeyPattern>().is_ok());
        let error = format!("{longest}a").parse::<KeyPattern>();
        let error = error.expect_err("too long").to_string();
        assert!(error.contains("of 16385 bytes"), "{error}");
    }
}
