//! Writes replies.

/// The version of the protocol that a client asked for with HELLO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// RESP2, which has no booleans and maps.
    #[default]
    Two,
    /// RESP3.
    Three,
}

/// Writes a simple string. It must not contain a line end.
pub fn simple(output: &mut Vec<u8>, text: &str) {
    output.push(b'+');
    output.extend_from_slice(text.as_bytes());
    output.extend_from_slice(b"\r\n");
}

/// Writes an error, whose first word is its kind. Line ends become spaces.
pub fn error(output: &mut Vec<u8>, text: &str) {
    output.push(b'-');
    let line_ends = |byte: u8| match byte {
        b'\r' | b'\n' => b' ',
        byte => byte,
    };
    output.extend(text.bytes().map(line_ends));
    output.extend_from_slice(b"\r\n");
}

/// Writes an integer.
#[inline]
pub fn integer(output: &mut Vec<u8>, value: i64) {
    match value {
        0 => output.extend_from_slice(b":0\r\n"),
        1 => output.extend_from_slice(b":1\r\n"),
        value => with_number(output, b':', value),
    }
}

/// Writes a boolean, which RESP2 shows as 1 or 0.
#[inline]
pub fn boolean(output: &mut Vec<u8>, protocol: Protocol, value: bool) {
    output.extend_from_slice(match (protocol, value) {
        (Protocol::Two, false) => b":0\r\n",
        (Protocol::Two, true) => b":1\r\n",
        (Protocol::Three, false) => b"#f\r\n",
        (Protocol::Three, true) => b"#t\r\n",
    });
}

/// Writes a bulk string.
pub fn bulk(output: &mut Vec<u8>, bytes: &[u8]) {
    with_number(output, b'$', bytes.len() as i64);
    output.extend_from_slice(bytes);
    output.extend_from_slice(b"\r\n");
}

/// Writes a null.
pub fn null(output: &mut Vec<u8>, protocol: Protocol) {
    output.extend_from_slice(match protocol {
        Protocol::Two => b"$-1\r\n",
        Protocol::Three => b"_\r\n",
    });
}

/// Writes the head of an array; its elements follow.
pub fn array(output: &mut Vec<u8>, length: usize) {
    with_number(output, b'*', length as i64);
}

/// Writes the head of a map; so many pairs of a key and a value follow. RESP2 shows it as an array.
pub fn map(output: &mut Vec<u8>, protocol: Protocol, pairs: usize) {
    match protocol {
        Protocol::Two => array(output, 2 * pairs),
        Protocol::Three => with_number(output, b'%', pairs as i64),
    }
}

fn with_number(output: &mut Vec<u8>, kind: u8, value: i64) {
    output.push(kind);
    output.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    output.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut output = Vec::new();
        write(&mut output);
        String::from_utf8(output).expect("text")
    }

    #[test]
    fn replies_have_the_bytes_of_the_protocol() {
        assert_eq!(written(|out| simple(out, "OK")), "+OK\r\n");
        assert_eq!(written(|out| error(out, "ERR a\r\nb")), "-ERR a  b\r\n");
        assert_eq!(written(|out| integer(out, -12)), ":-12\r\n");
        assert_eq!(written(|out| integer(out, 1)), ":1\r\n");
        assert_eq!(written(|out| bulk(out, b"a\r\n")), "$3\r\na\r\n\r\n");
        assert_eq!(written(|out| null(out, Protocol::Two)), "$-1\r\n");
        assert_eq!(written(|out| null(out, Protocol::Three)), "_\r\n");
        assert_eq!(written(|out| boolean(out, Protocol::Two, true)), ":1\r\n");
        assert_eq!(
            written(|out| boolean(out, Protocol::Three, false)),
            "#f\r\n"
        );
        assert_eq!(written(|out| map(out, Protocol::Two, 2)), "*4\r\n");
        assert_eq!(written(|out| map(out, Protocol::Three, 2)), "%2\r\n");
    }
}
