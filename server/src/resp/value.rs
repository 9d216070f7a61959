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
const MAX_DEPTH: usize = 8;
/// The most elements for which memory is reserved before they have arrived.
const MAX_RESERVED: usize = 1024;

/// Reads replies from a stream of bytes. Every byte is looked at once, however small the pieces are
/// in which a reply arrives: the elements of an array are kept until it is complete.
#[derive(Debug, Default)]
pub struct ValueParser {
    buffer: Vec<u8>,
    /// Where the bytes begin that are not parsed yet.
    start: usize,
    /// Between `start` and here there is no end of a line.
    searched: usize,
    /// The length of the bulk string whose content begins at `start`.
    bulk: Option<usize>,
    /// The arrays that are not complete; each is an element of the one before it.
    open: Vec<OpenArray>,
}

/// An array some of whose elements have not arrived.
#[derive(Debug)]
struct OpenArray {
    elements: Vec<Value>,
    /// At least 1.
    missing: usize,
}

/// What a reply consists of.
enum Piece {
    Value(Value),
    /// So many values follow.
    Array(usize),
}

impl ValueParser {
    /// Adds bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched = self.searched.saturating_sub(self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next reply; None if it is incomplete.
    pub fn next_value(&mut self) -> Result<Option<Value>, ProtocolError> {
        while let Some(piece) = self.next_piece()? {
            let complete = match piece {
                Piece::Array(missing @ 1..) => {
                    let elements = Vec::with_capacity(missing.min(MAX_RESERVED));
                    self.open.push(OpenArray { elements, missing });
                    None
                }
                Piece::Array(0) => self.add(Value::Array(Vec::new())),
                Piece::Value(value) => self.add(value),
            };
            if complete.is_some() {
                return Ok(complete);
            }
        }
        Ok(None)
    }

    /// Adds a value to the array that it is an element of. Returns the reply that it completes.
    fn add(&mut self, mut value: Value) -> Option<Value> {
        while let Some(mut array) = self.open.pop() {
            array.elements.push(value);
            array.missing -= 1;
            if array.missing > 0 {
                self.open.push(array);
                return None;
            }
            value = Value::Array(array.elements);
        }
        Some(value)
    }

    /// Returns the next value that is no array, or the beginning of an array.
    fn next_piece(&mut self) -> Result<Option<Piece>, ProtocolError> {
        if self.bulk.is_none() {
            let Some((piece, next)) = self.line()? else {
                return Ok(None);
            };
            (self.start, self.searched) = (next, next);
            match piece {
                Line::Piece(piece) => return Ok(Some(piece)),
                Line::Bulk(length) => self.bulk = Some(length),
            }
        }
        let bulk = self.bulk.and_then(|length| self.start.checked_add(length));
        let end = bulk.ok_or(ProtocolError::BulkLength)?;
        let Some(line_end) = self.buffer.get(end..).and_then(|rest| rest.get(..2)) else {
            return Ok(None);
        };
        if line_end != b"\r\n" {
            return Err(ProtocolError::NoLineEnd);
        }
        let content = self.buffer[self.start..end].to_vec();
        (self.start, self.searched, self.bulk) = (end + 2, end + 2, None);
        Ok(Some(Piece::Value(Value::Bulk(content))))
    }

    /// Reads the line at `start`; returns what it says, and its end.
    fn line(&mut self) -> Result<Option<(Line, usize)>, ProtocolError> {
        let searched = self.searched.max(self.start);
        let Some(end) = memchr::memchr(b'\n', &self.buffer[searched..]) else {
            self.searched = self.buffer.len();
            return Ok(None);
        };
        let end = searched + end;
        let line = self.buffer[self.start..end].strip_suffix(b"\r");
        let line = line.ok_or(ProtocolError::NoLineEnd)?;
        let (&kind, text) = line.split_first().ok_or(ProtocolError::BulkLength)?;
        let text = String::from_utf8_lossy(text);
        let number = || text.parse::<i64>().map_err(|_| ProtocolError::BulkLength);
        let line = match kind {
            b'+' => Line::value(Value::Simple(text.into_owned())),
            b'-' => Line::value(Value::Error(text.into_owned())),
            b':' => Line::value(Value::Integer(number()?)),
            b'#' => Line::value(Value::Boolean(text == "t")),
            b'_' => Line::value(Value::Null),
            b'$' => match usize::try_from(number()?) {
                Ok(length) => Line::Bulk(length),
                Err(_) => Line::value(Value::Null),
            },
            b'*' | b'%' if self.open.len() < MAX_DEPTH => match usize::try_from(number()?) {
                Ok(length) => {
                    let values = if kind == b'%' { 2 } else { 1 };
                    Line::Piece(Piece::Array(length.saturating_mul(values)))
                }
                Err(_) => Line::value(Value::Null),
            },
            other => return Err(ProtocolError::NotBulk(other)),
        };
        Ok(Some((line, end + 1)))
    }
}

/// What a line says.
enum Line {
    Piece(Piece),
    /// A bulk string of this length follows.
    Bulk(usize),
}

impl Line {
    fn value(value: Value) -> Self {
        Line::Piece(Piece::Value(value))
    }
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

    /// What is parsed is not kept as bytes, so it cannot be parsed again.
    #[test]
    fn a_long_reply_in_small_pieces_is_parsed_once() {
        let mut parser = ValueParser::default();
        parser.push(b"*3\r\n*1000\r\n");
        for element in 0..1000 {
            assert_eq!(parser.next_value(), Ok(None), "{element}");
            parser.push(b":12");
            assert_eq!(parser.next_value(), Ok(None), "{element}");
            parser.push(b"34\r\n");
            assert!(parser.buffer.len() <= 2 * b":1234\r\n".len());
        }
        for at in 0..1000 {
            parser.push(if at == 0 { b"+" } else { b"." });
            assert_eq!(parser.next_value(), Ok(None));
            assert_eq!(parser.searched, parser.buffer.len());
        }
        parser.push(b"\r\n$1000\r\n");
        for _ in 0..1000 {
            assert_eq!(parser.next_value(), Ok(None));
            assert_eq!(parser.bulk, Some(1000));
            parser.push(b"x");
        }
        parser.push(b"\r\n");
        let Ok(Some(Value::Array(elements))) = parser.next_value() else {
            panic!("no array");
        };
        assert_eq!(elements[0], Value::Array(vec![Value::Integer(1234); 1000]));
        assert_eq!(elements[1], Value::Simple(".".repeat(999)));
        assert_eq!(elements[2], Value::Bulk(vec![b'x'; 1000]));
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
