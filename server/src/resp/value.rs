//! Reads replies, for clients.

use std::fmt;

use super::request::ProtocolError;

/// A reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A simple string.
    Simple(String),
    /// An error; its first word is its kind.
    Error(String),
    /// An integer.
    Integer(i64),
    /// A boolean of RESP3.
    Boolean(bool),
    /// A bulk string.
    Bulk(Vec<u8>),
    /// A null.
    Null,
    /// An array, or a map as an array of keys and values.
    Array(Vec<Value>),
}

/// The text of a reply, without quotes; elements of an array are separated by spaces.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Simple(text) | Value::Error(text) => f.write_str(text),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::Bulk(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Value::Null => f.write_str("nil"),
            Value::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    let space = if at > 0 { " " } else { "" };
                    write!(f, "{space}{value}")?;
                }
                Ok(())
            }
        }
    }
}

/// The deepest nesting of arrays: no reply of a server has more.
const MAX_DEPTH: u32 = 8;
/// The most elements for which memory is reserved before they have arrived.
const MAX_RESERVED: usize = 1024;

/// Reads replies from a stream of bytes.
#[derive(Debug, Default)]
pub struct ValueParser {
    buffer: Vec<u8>,
    start: usize,
}

impl ValueParser {
    /// Adds bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next reply; None if it is incomplete.
    pub fn next_value(&mut self) -> Result<Option<Value>, ProtocolError> {
        match value(&self.buffer, self.start, 0)? {
            Some((value, end)) => {
                self.start = end;
                Ok(Some(value))
            }
            None => Ok(None),
        }
    }
}

/// Reads the value at a position; returns it and its end.
fn value(bytes: &[u8], at: usize, depth: u32) -> Result<Option<(Value, usize)>, ProtocolError> {
    let rest = bytes.get(at..).unwrap_or_default();
    let Some(end) = memchr::memchr(b'\n', rest) else {
        return Ok(None);
    };
    let line = rest[..end].strip_suffix(b"\r");
    let line = line.ok_or(ProtocolError::NoLineEnd)?;
    let next = at + end + 1;
    let (&kind, text) = line.split_first().ok_or(ProtocolError::BulkLength)?;
    let text = String::from_utf8_lossy(text);
    let number = || text.parse::<i64>().map_err(|_| ProtocolError::BulkLength);
    let value = match kind {
        b'+' => Value::Simple(text.into_owned()),
        b'-' => Value::Error(text.into_owned()),
        b':' => Value::Integer(number()?),
        b'#' => Value::Boolean(text == "t"),
        b'_' => Value::Null,
        b'$' => {
            let Ok(length) = usize::try_from(number()?) else {
                return Ok(Some((Value::Null, next)));
            };
            let end = next.checked_add(length).ok_or(ProtocolError::BulkLength)?;
            return match (bytes.get(next..end), bytes.get(end..end + 2)) {
                (Some(content), Some(b"\r\n")) => {
                    Ok(Some((Value::Bulk(content.to_vec()), end + 2)))
                }
                (_, None) => Ok(None),
                _ => Err(ProtocolError::NoLineEnd),
            };
        }
        b'*' | b'%' if depth < MAX_DEPTH => {
            let Ok(length) = usize::try_from(number()?) else {
                return Ok(Some((Value::Null, next)));
            };
            let length = length.saturating_mul(if kind == b'%' { 2 } else { 1 });
            let mut elements = Vec::with_capacity(length.min(MAX_RESERVED));
            let mut at = next;
            for _ in 0..length {
                let Some((element, end)) = self::value(bytes, at, depth + 1)? else {
                    return Ok(None);
                };
                elements.push(element);
                at = end;
            }
            return Ok(Some((Value::Array(elements), at)));
        }
        other => return Err(ProtocolError::NotBulk(other)),
    };
    Ok(Some((value, next)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_in_any_pieces() {
        let bytes = b"+OK\r\n:-7\r\n$3\r\na\nb\r\n*2\r\n:1\r\n$-1\r\n-ERR no\r\n%1\r\n#t\r\n_\r\n";
        let expected = [
            Value::Simple("OK".to_owned()),
            Value::Integer(-7),
            Value::Bulk(b"a\nb".to_vec()),
            Value::Array(vec![Value::Integer(1), Value::Null]),
            Value::Error("ERR no".to_owned()),
            Value::Array(vec![Value::Boolean(true), Value::Null]),
        ];
        for piece in [1, 2, 5, bytes.len()] {
            let (mut parser, mut found) = (ValueParser::default(), Vec::new());
            for part in bytes.chunks(piece) {
                parser.push(part);
                while let Some(value) = parser.next_value().expect("valid") {
                    found.push(value);
                }
            }
            assert_eq!(found, expected, "pieces of {piece}");
        }
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for text in ["x\r\n", "$3\r\nabcd\r\n", ":x\r\n", "\r\n", "+a\n"] {
            let mut parser = ValueParser::default();
            parser.push(text.as_bytes());
            assert!(parser.next_value().is_err(), "{text:?}");
        }
        let mut parser = ValueParser::default();
        parser.push("*1\r\n".repeat(100_000).as_bytes());
        assert!(parser.next_value().is_err(), "too deep");
    }
}
