//! Finds requests in a stream of bytes.
//!
//! A request is an array of bulk strings, `*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n`, or a line of words for
//! people with a terminal, `ECHO hi\r\n`. The parser remembers how far it came, so bytes that
//! arrive one by one are each looked at once.
//!
//! **Invariant:** nothing is allocated by a length that the client claims. Arguments are ranges
//! of the caller's bytes, in a vector that is reused, and a range is stored only when all its bytes
//! are there.

use std::ops::Range;

/// The limits of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// The largest number of bytes of a request.
    pub request_bytes: usize,
    /// The largest number of bytes of an argument.
    pub argument_bytes: usize,
}

/// The largest number of arguments, as in Redis.
const MAX_ARGUMENTS: u64 = 1 << 20;
/// The longest request in the form of a line, as in Redis.
const MAX_LINE_BYTES: usize = 64 << 10;
/// The longest number: a sign and 19 digits.
const MAX_NUMBER_BYTES: usize = 20;

/// What is wrong with a request. The connection cannot go on: where the next request begins is
/// unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The number of arguments is no number, or too large.
    #[error("invalid multibulk length")]
    ArrayLength,
    /// The length of an argument is no number, or negative.
    #[error("invalid bulk length")]
    BulkLength,
    /// An argument does not begin with `$`.
    #[error("expected '$', got '{}'", char::from(*.0).escape_default())]
    NotBulk(u8),
    /// The bytes after an argument are not `\r\n`.
    #[error("expected CRLF after a bulk string")]
    NoLineEnd,
    /// An argument is longer than the limit.
    #[error("an argument is longer than the limit of {0} bytes")]
    ArgumentTooLong(usize),
    /// The request is longer than the limit.
    #[error("the request is longer than the limit of {0} bytes")]
    RequestTooLong(usize),
    /// A request in the form of a line is too long.
    #[error("too big inline request")]
    LineTooLong,
}

/// The result of parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The bytes end before the request does.
    Incomplete,
    /// A request of this many bytes. It may have no arguments; then there is nothing to answer.
    Complete(usize),
}

/// Finds one request after the other.
#[derive(Debug, Default)]
pub struct RequestParser {
    arguments: Vec<Range<u32>>,
    /// The number of arguments still to come; None before the number is known.
    missing: Option<u64>,
    /// The length of the next argument, if its head is parsed.
    length: Option<usize>,
    /// How many bytes of the request are parsed.
    parsed: usize,
    /// Whether a complete request was returned, so that the next call starts another one.
    complete: bool,
}

/// The arguments of a request: the name of the command, and what follows it.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    bytes: &'a [u8],
    ranges: &'a [Range<u32>],
}

impl<'a> Arguments<'a> {
    /// Returns the number of arguments, including the name of the command.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns whether there is no argument.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns an argument; an empty one if there are fewer.
    #[inline]
    pub fn get(&self, index: usize) -> &'a [u8] {
        let range = self.ranges.get(index);
        range
            .and_then(|range| self.bytes.get(range.start as usize..range.end as usize))
            .unwrap_or_default()
    }

    /// Returns the arguments from an index on.
    pub fn from(&self, index: usize) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let (bytes, ranges) = (self.bytes, self.ranges.get(index..).unwrap_or_default());
        ranges.iter().map(|range| {
            let range = range.start as usize..range.end as usize;
            bytes.get(range).unwrap_or_default()
        })
    }
}

impl RequestParser {
    /// Continues to parse the request at the start of `bytes`, which must begin with what the last
    /// call got, unless that returned a complete request.
    pub fn parse(&mut self, bytes: &[u8], limits: &RequestLimits) -> Result<Parsed, ProtocolError> {
        if self.complete {
            self.reset();
        }
        // Positions fit in 32 bits.
        let most = limits.request_bytes.min(u32::MAX as usize);
        let parsed = match bytes.first() {
            None => return Ok(Parsed::Incomplete),
            Some(b'*') => self.array(bytes, limits),
            Some(_) => self.line(bytes),
        }?;
        match parsed {
            Parsed::Complete(length) if length > most => Err(ProtocolError::RequestTooLong(most)),
            Parsed::Incomplete if bytes.len() >= most => Err(ProtocolError::RequestTooLong(most)),
            Parsed::Complete(_) => {
                self.complete = true;
                Ok(parsed)
            }
            Parsed::Incomplete => Ok(parsed),
        }
    }

    /// Returns the arguments of the complete request at the start of `bytes`.
    pub fn arguments<'a>(&'a self, bytes: &'a [u8]) -> Arguments<'a> {
        Arguments {
            bytes,
            ranges: &self.arguments,
        }
    }

    fn reset(&mut self) {
        self.arguments.clear();
        // After a large request, a client that sends small ones should not hold its memory.
        self.arguments.shrink_to(1024);
        (self.missing, self.length, self.parsed) = (None, None, 0);
        self.complete = false;
    }

    fn array(&mut self, bytes: &[u8], limits: &RequestLimits) -> Result<Parsed, ProtocolError> {
        let mut missing = match self.missing {
            Some(missing) => missing,
            None => {
                let Some((number, end)) =
                    number(bytes, 1).map_err(|_| ProtocolError::ArrayLength)?
                else {
                    return Ok(Parsed::Incomplete);
                };
                self.parsed = end;
                let count = u64::try_from(number).unwrap_or(0);
                if count > MAX_ARGUMENTS {
                    return Err(ProtocolError::ArrayLength);
                }
                count
            }
        };
        while missing > 0 {
            let length = match self.length {
                Some(length) => length,
                None => {
                    match bytes.get(self.parsed) {
                        None => break,
                        Some(b'$') => {}
                        Some(&other) => return Err(ProtocolError::NotBulk(other)),
                    }
                    let head = number(bytes, self.parsed + 1);
                    let Some((number, end)) = head.map_err(|_| ProtocolError::BulkLength)? else {
                        break;
                    };
                    let length = usize::try_from(number).map_err(|_| ProtocolError::BulkLength)?;
                    if length > limits.argument_bytes {
                        return Err(ProtocolError::ArgumentTooLong(limits.argument_bytes));
                    }
                    self.parsed = end;
                    self.length = Some(length);
                    length
                }
            };
            let end = self.parsed + length;
            match bytes.get(end..end + 2) {
                None => break,
                Some(b"\r\n") => {}
                Some(_) => return Err(ProtocolError::NoLineEnd),
            }
            self.arguments.push(self.parsed as u32..end as u32);
            self.parsed = end + 2;
            self.length = None;
            missing -= 1;
        }
        self.missing = Some(missing);
        match missing {
            0 => Ok(Parsed::Complete(self.parsed)),
            _ => Ok(Parsed::Incomplete),
        }
    }

    fn line(&mut self, bytes: &[u8]) -> Result<Parsed, ProtocolError> {
        let from = self.parsed.min(bytes.len());
        let Some(end) = memchr::memchr(b'\n', &bytes[from..]) else {
            self.parsed = bytes.len();
            return match bytes.len() > MAX_LINE_BYTES {
                true => Err(ProtocolError::LineTooLong),
                false => Ok(Parsed::Incomplete),
            };
        };
        let end = from + end;
        if end > MAX_LINE_BYTES {
            return Err(ProtocolError::LineTooLong);
        }
        let mut start = 0;
        for word in bytes[..end].split(|byte| byte.is_ascii_whitespace()) {
            if !word.is_empty() {
                self.arguments
                    .push(start as u32..(start + word.len()) as u32);
            }
            start += word.len() + 1;
        }
        Ok(Parsed::Complete(end + 1))
    }
}

/// The bytes are no number.
struct NotANumber;

/// Reads a number that ends with `\r\n`; returns it and where the next byte is. None if the bytes
/// end before that.
#[inline]
fn number(bytes: &[u8], from: usize) -> Result<Option<(i64, usize)>, NotANumber> {
    let rest = bytes.get(from..).unwrap_or_default();
    let mut value: i64 = 0;
    let (negative, skip) = match rest.first() {
        Some(b'-') => (true, 1),
        _ => (false, 0),
    };
    for (at, &byte) in rest.iter().enumerate().skip(skip) {
        match byte {
            b'0'..=b'9' if at < MAX_NUMBER_BYTES => {
                let digit = i64::from(byte - b'0');
                let next = value.checked_mul(10).and_then(|it| it.checked_add(digit));
                value = next.ok_or(NotANumber)?;
            }
            b'\r' if at > skip => {
                return match rest.get(at + 1) {
                    None => Ok(None),
                    Some(b'\n') => {
                        let value = if negative { -value } else { value };
                        Ok(Some((value, from + at + 2)))
                    }
                    Some(_) => Err(NotANumber),
                };
            }
            _ => return Err(NotANumber),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: RequestLimits = RequestLimits {
        request_bytes: 1 << 20,
        argument_bytes: 1 << 16,
    };

    fn encode(arguments: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
        for argument in arguments {
            bytes.extend(format!("${}\r\n", argument.len()).bytes());
            bytes.extend(argument);
            bytes.extend(b"\r\n");
        }
        bytes
    }

    fn parsed(parser: &RequestParser, bytes: &[u8]) -> Vec<Vec<u8>> {
        parser
            .arguments(bytes)
            .from(0)
            .map(<[u8]>::to_vec)
            .collect()
    }

    fn error_of(text: &str) -> ProtocolError {
        let error = RequestParser::default().parse(text.as_bytes(), &LIMITS);
        error.expect_err(text)
    }

    proptest! {
        /// Requests that arrive in any pieces give the same arguments.
        #[test]
        fn pieces_do_not_matter(
            requests in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6), 1..6),
            pieces in prop::collection::vec(1_usize..30, 1..200),
        ) {
            let bytes: Vec<u8> = requests.iter().flat_map(|it| encode(it)).collect();
            let (mut parser, mut start, mut end) = (RequestParser::default(), 0, 0);
            let mut found = Vec::new();
            let mut pieces = pieces.iter().cycle();
            while end < bytes.len() {
                end = (end + pieces.next().expect("cycle")).min(bytes.len());
                while let Parsed::Complete(length) =
                    parser.parse(&bytes[start..end], &LIMITS).expect("valid")
                {
                    found.push(parsed(&parser, &bytes[start..end]));
                    start += length;
                }
            }
            prop_assert_eq!(found, requests);
        }

        /// Random bytes are refused or incomplete, and never a panic.
        #[test]
        fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut parser = RequestParser::default();
            for end in 0..=bytes.len() {
                if parser.parse(&bytes[..end], &LIMITS).is_err() {
                    break;
                }
            }
        }
    }

    #[test]
    fn a_claimed_length_allocates_nothing() {
        let mut parser = RequestParser::default();
        let claimed = b"*1048576\r\n$65536\r\nabc";
        assert_eq!(parser.parse(claimed, &LIMITS), Ok(Parsed::Incomplete));
        assert_eq!(parser.arguments.capacity(), 0);
    }

    #[test]
    fn malformed_requests_are_refused() {
        assert_eq!(error_of("*1048577\r\n"), ProtocolError::ArrayLength);
        assert_eq!(error_of("*x\r\n"), ProtocolError::ArrayLength);
        assert_eq!(
            error_of("*99999999999999999999\r\n"),
            ProtocolError::ArrayLength
        );
        assert_eq!(error_of("*1\r\n:1\r\n"), ProtocolError::NotBulk(b':'));
        assert_eq!(error_of("*1\r\n$-1\r\n"), ProtocolError::BulkLength);
        assert_eq!(error_of("*1\r\n$1\r\nabc"), ProtocolError::NoLineEnd);
        assert_eq!(
            error_of("*1\r\n$65537\r\n"),
            ProtocolError::ArgumentTooLong(65536)
        );
        assert_eq!(error_of(&"x".repeat(70_000)), ProtocolError::LineTooLong);
        let long = format!(
            "*20\r\n{}",
            "$65536\r\n".to_owned() + &"x".repeat(65536) + "\r\n"
        );
        let long = format!("*20\r\n{}", long.trim_start_matches("*20\r\n").repeat(17));
        assert_eq!(error_of(&long), ProtocolError::RequestTooLong(1 << 20));
    }

    #[test]
    fn lines_are_split_into_words() {
        let mut parser = RequestParser::default();
        let text = b"  ECHO \t hi\r\nPING\n";
        assert_eq!(parser.parse(text, &LIMITS), Ok(Parsed::Complete(13)));
        assert_eq!(parsed(&parser, text), [b"ECHO".to_vec(), b"hi".to_vec()]);
        assert_eq!(parser.parse(&text[13..], &LIMITS), Ok(Parsed::Complete(5)));
        assert_eq!(parsed(&parser, &text[13..]), [b"PING".to_vec()]);
        assert_eq!(parser.parse(b"\r\n", &LIMITS), Ok(Parsed::Complete(2)));
        assert!(parser.arguments(b"\r\n").is_empty());
        assert_eq!(parser.parse(b"*0\r\n", &LIMITS), Ok(Parsed::Complete(4)));
    }
}
