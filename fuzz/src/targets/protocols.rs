//! What a network client or an archive sends: RESP and WARC.

use std::io::{BufReader, Cursor};

use dedupstore_server::RequestLimits;
use dedupstore_server::resp::{Parsed, ProtocolError, RequestParser, Value, ValueParser};

#[path = "../../../cli/src/warc/record.rs"]
#[allow(dead_code)]
mod record;

const LIMITS: RequestLimits = RequestLimits {
    request_bytes: 4096,
    argument_bytes: 1024,
};

type Requests = (Vec<Vec<Vec<u8>>>, Option<ProtocolError>);

/// Parses all requests, of bytes that arrive in pieces.
fn requests(bytes: &[u8], piece: usize) -> Requests {
    let mut parser = RequestParser::default();
    let (mut found, mut start, mut end) = (Vec::new(), 0, 0);
    loop {
        match parser.parse(&bytes[start..end], &LIMITS) {
            Ok(Parsed::Complete(length)) => {
                let arguments = parser.arguments(&bytes[start..end]);
                found.push(arguments.from(0).map(<[u8]>::to_vec).collect());
                start += length;
            }
            Ok(Parsed::Incomplete) if end == bytes.len() => return (found, None),
            Ok(Parsed::Incomplete) => end = (end + piece).min(bytes.len()),
            Err(error) => return (found, Some(error)),
        }
    }
}

/// Requests: in whatever pieces they arrive, and as a naive parser finds them.
pub fn resp_request(input: &[u8]) {
    let [piece, bytes @ ..] = input else {
        return;
    };
    let whole = requests(bytes, bytes.len().max(1));
    let (found, error) = requests(bytes, usize::from(*piece).max(1));
    // An error may be noticed before or after the end of a limit, but the requests are the same.
    assert_eq!(found, whole.0);
    assert_eq!(
        error.is_some(),
        whole.1.is_some(),
        "{error:?} and {:?}",
        whole.1
    );
    let mut rest = bytes;
    for request in &whole.0 {
        rest = naive_request(rest, request);
    }
}

/// Checks that bytes begin with a request; returns those after it.
fn naive_request<'a>(bytes: &'a [u8], request: &[Vec<u8>]) -> &'a [u8] {
    if bytes[0] != b'*' {
        let end = bytes
            .iter()
            .position(|&byte| byte == b'\n')
            .expect("a line");
        let words = bytes[..end].split(u8::is_ascii_whitespace);
        let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
        assert_eq!(words, request);
        return &bytes[end + 1..];
    }
    let (count, mut rest) = naive_number(&bytes[1..]);
    assert_eq!(usize::try_from(count).unwrap_or(0), request.len());
    for argument in request {
        assert_eq!(rest[0], b'$');
        let (length, content) = naive_number(&rest[1..]);
        assert_eq!(length, argument.len() as i64);
        let (content, after) = content.split_at(argument.len());
        assert_eq!(content, argument);
        rest = after.strip_prefix(b"\r\n").expect("a line end");
    }
    rest
}

fn naive_number(bytes: &[u8]) -> (i64, &[u8]) {
    let end = bytes
        .windows(2)
        .position(|pair| pair == b"\r\n")
        .expect("a line end");
    let text = str::from_utf8(&bytes[..end]).expect("digits");
    (text.parse().expect("a number"), &bytes[end + 2..])
}

/// Replies: in whatever pieces they arrive.
pub fn resp_reply(input: &[u8]) {
    let [piece, bytes @ ..] = input else {
        return;
    };
    let values = |piece: usize| -> (Vec<Value>, bool) {
        let (mut parser, mut found) = (ValueParser::default(), Vec::new());
        for part in bytes.chunks(piece) {
            parser.push(part);
            loop {
                match parser.next_value() {
                    Ok(Some(value)) => found.push(value),
                    Ok(None) => break,
                    Err(_) => return (found, true),
                }
            }
        }
        (found, false)
    };
    let whole = values(bytes.len().max(1));
    let (found, failed) = values(usize::from(*piece).max(1));
    assert_eq!(format!("{found:?}"), format!("{:?}", whole.0));
    assert_eq!(failed, whole.1);
    whole.0.iter().for_each(|value| drop(value.to_string()));
}

/// The records of a WARC file: the same with any buffer.
pub fn warc(input: &[u8]) {
    let [piece, bytes @ ..] = input else {
        return;
    };
    let whole = records(bytes, bytes.len().max(1));
    let pieces = records(bytes, usize::from(*piece).max(1));
    assert_eq!(pieces, whole);
    let content: usize = whole
        .0
        .iter()
        .map(|(header, content)| header.len() + content.len())
        .sum();
    // Besides the line ends that are missing between records.
    assert!(content <= bytes.len() + 4 * whole.0.len());
}

type Records = (Vec<(Vec<u8>, Vec<u8>)>, Option<String>);

fn records(bytes: &[u8], capacity: usize) -> Records {
    let mut input = BufReader::with_capacity(capacity, Cursor::new(bytes));
    let (mut found, mut header) = (Vec::new(), record::Header::default());
    loop {
        match record::read_header(&mut input, &mut header) {
            Ok(true) => {}
            Ok(false) => return (found, None),
            Err(error) => return (found, Some(error.to_string())),
        }
        let _ = (header.record_type(), header.target());
        let mut content = Vec::new();
        let passed = record::pass_content(
            &mut input,
            &header,
            |error| error,
            |part| {
                content.extend_from_slice(part);
                Ok(())
            },
        );
        if let Err(error) = passed {
            return (found, Some(error.to_string()));
        }
        found.push((header.bytes.clone(), content));
    }
}
