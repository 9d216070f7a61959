//! Reads the parts of a JSON document: strings, numbers, words.

/// A position in a JSON document. Every method moves past what it reads, and returns None where
/// the text is not JSON.
pub(super) struct JsonText<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

/// The content of a string in a document: between its quotes, as written.
#[derive(Clone, Copy)]
pub(super) struct JsonString<'a> {
    pub(super) raw: &'a [u8],
    pub(super) has_escapes: bool,
}

impl<'a> JsonText<'a> {
    /// Skips white space and returns the next byte without moving past it.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.bytes.get(self.at)? {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Moves past the byte `expected`, and white space before it.
    #[inline]
    pub(super) fn pass(&mut self, expected: u8) -> Option<()> {
        (self.peek()? == expected).then(|| self.at += 1)
    }

    /// Returns whether only white space is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Reads a string; the next byte must be its quote. Bytes that are not UTF-8 are accepted,
    /// because keys are bytes.
    #[inline]
    pub(super) fn string(&mut self) -> Option<JsonString<'a>> {
        let start = self.at + 1;
        let mut at = start;
        let mut has_escapes = false;
        loop {
            at += plain_bytes(self.bytes.get(at..)?);
            match *self.bytes.get(at)? {
                b'"' => {
                    self.at = at + 1;
                    let raw = &self.bytes[start..at];
                    return Some(JsonString { raw, has_escapes });
                }
                b'\\' => {
                    has_escapes = true;
                    at += escape_length(&self.bytes[at..])?;
                }
                // A control character.
                _ => return None,
            }
        }
    }

    /// Reads a number, `true`, `false` or `null`.
    #[inline]
    pub(super) fn number_or_word(&mut self) -> Option<()> {
        let rest = &self.bytes[self.at..];
        self.at += match rest.first()? {
            b't' if rest.starts_with(b"true") => 4,
            b'n' if rest.starts_with(b"null") => 4,
            b'f' if rest.starts_with(b"false") => 5,
            _ => number_length(rest)?,
        };
        Some(())
    }
}

/// Returns the number of bytes before the first quote, backslash or control character. It tests
/// eight bytes at a time: `(x - 0x01…01) & !x & 0x80…80` has a bit for the lowest zero byte of x.
#[inline]
fn plain_bytes(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(word) = bytes[at..].first_chunk() {
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        let found = (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        if found & HIGH != 0 {
            return at + (found & HIGH).trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = &bytes[at..];
    let end = rest
        .iter()
        .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F));
    at + end.unwrap_or(rest.len())
}

fn escape_length(text: &[u8]) -> Option<usize> {
    match text.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => text
            .get(2..6)?
            .iter()
            .all(u8::is_ascii_hexdigit)
            .then_some(6),
        _ => None,
    }
}

/// Returns the length of the number at the start of a text.
fn number_length(text: &[u8]) -> Option<usize> {
    let digits = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        let end = rest.iter().position(|byte| !byte.is_ascii_digit());
        Some(end.unwrap_or(rest.len())).filter(|&count| count > 0)
    };
    let mut at = usize::from(text.starts_with(b"-"));
    at += match text.get(at)? {
        b'0' => 1,
        _ => digits(at)?,
    };
    if text.get(at) == Some(&b'.') {
        at += 1;
        at += digits(at)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
        at += digits(at)?;
    }
    Some(at)
}

/// Resolves the escapes of a string. A lone surrogate is encoded in three bytes as if it were
/// a character (WTF-8).
pub(super) fn decode<'a>(raw: &[u8], decoded: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    decoded.clear();
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        decoded.extend_from_slice(&rest[..at]);
        let escape = *rest.get(at + 1)?;
        rest = &rest[at + 2..];
        let byte = match escape {
            b'"' | b'\\' | b'/' => escape,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (unit, left) = code_unit(rest)?;
                rest = left;
                let mut point = u32::from(unit);
                let low = rest.strip_prefix(b"\\u").and_then(code_unit);
                if let (0xD800..0xDC00, Some((second @ 0xDC00..0xE000, left))) = (unit, low) {
                    point = 0x10000 + ((point - 0xD800) << 10) + (u32::from(second) - 0xDC00);
                    rest = left;
                }
                push_code_point(point, decoded);
                continue;
            }
            _ => return None,
        };
        decoded.push(byte);
    }
    decoded.extend_from_slice(rest);
    Some(decoded)
}

fn code_unit(text: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (!digits.starts_with('+')).then_some((unit, rest))
}

fn push_code_point(point: u32, bytes: &mut Vec<u8>) {
    match char::from_u32(point) {
        Some(character) => {
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        None => bytes.extend_from_slice(&[
            0xE0 | (point >> 12) as u8,
            0x80 | (point >> 6 & 0x3F) as u8,
            0x80 | (point & 0x3F) as u8,
        ]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn plain_bytes_end_where_a_simple_search_ends(
            bytes in proptest::collection::vec(
                prop_oneof![8 => any::<u8>(), 8 => b'\x1E'..b'$', 1 => Just(b'\\'), 8 => Just(0x80)],
                0..40,
            ),
        ) {
            let special = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
            let expected = bytes.iter().position(special).unwrap_or(bytes.len());
            prop_assert_eq!(plain_bytes(&bytes), expected);
        }

        #[test]
        fn numbers_are_those_of_a_parser(text in "[-+]?[0-2]{0,3}[.e]?[-+]?[0-2]{0,2}[.e]?[0-2]{0,2}") {
            let whole = number_length(text.as_bytes()) == Some(text.len());
            // Not read as a number: 1e1000 is JSON, but no f64.
            let read = serde_json::from_str::<serde::de::IgnoredAny>(&text);
            prop_assert_eq!(whole, read.is_ok(), "{}", text);
        }
    }
}
