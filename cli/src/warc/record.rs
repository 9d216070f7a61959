//! The records of a WARC file: a header block, then content of a stated length.
//!
//! Only the header block is read into memory, and its length is limited; content is copied or
//! skipped as it is read.

use std::io::{self, BufRead, Read};

use dedupstore_view::printable;

/// The longest header block: far more than any program writes.
const LONGEST_HEADER: u64 = 1 << 20;

/// The header block of a record.
#[derive(Debug, Default)]
pub struct Header {
    /// The block as it was read, with the empty line that ends it.
    pub bytes: Vec<u8>,
    /// The length of the content, without the two line ends after it.
    pub content_bytes: u64,
}

impl Header {
    /// Returns the value of a field, whose name is compared without case.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        let lines = self.bytes.split(|&byte| byte == b'\n').skip(1);
        let mut values = lines.filter_map(|line| {
            let colon = line.iter().position(|&byte| byte == b':')?;
            let (found, value) = line.split_at(colon);
            found
                .trim_ascii()
                .eq_ignore_ascii_case(name.as_bytes())
                .then(|| value[1..].trim_ascii())
        });
        values.next()
    }

    /// Returns the type of the record, such as `response`.
    pub fn record_type(&self) -> &[u8] {
        self.field("WARC-Type").unwrap_or_default()
    }

    /// Returns the address that the record is about. Old programs write it in angle brackets.
    pub fn target(&self) -> Option<&[u8]> {
        let target = self.field("WARC-Target-URI")?;
        let bare = target
            .strip_prefix(b"<")
            .and_then(|it| it.strip_suffix(b">"));
        Some(bare.unwrap_or(target))
    }
}

/// Reads the next header; false at the end of the input.
pub fn read_header(input: &mut impl BufRead, header: &mut Header) -> io::Result<bool> {
    header.bytes.clear();
    // Some programs write more line ends between records than the standard asks for.
    while let [b'\r' | b'\n', ..] = input.fill_buf()? {
        input.consume(1);
    }
    loop {
        let room = LONGEST_HEADER.saturating_sub(header.bytes.len() as u64);
        let start = header.bytes.len();
        let count = input
            .by_ref()
            .take(room)
            .read_until(b'\n', &mut header.bytes)?;
        match (&header.bytes[start..], start) {
            ([], 0) => return Ok(false),
            (_, 0) if !header.bytes.starts_with(b"WARC/") => {
                let found = String::from_utf8_lossy(&header.bytes[..count.min(40)]);
                let found = printable(found.trim_end()).into_owned();
                return Err(invalid(&format!(
                    "expected a record that begins with WARC/; found `{found}`"
                )));
            }
            (b"\r\n" | b"\n", _) => break,
            (line, _) if !line.ends_with(b"\n") => {
                return Err(invalid("a header is cut off or too long"));
            }
            _ => {}
        }
    }
    let length = header
        .field("Content-Length")
        .and_then(|it| std::str::from_utf8(it).ok());
    let length = length.and_then(|it| it.parse().ok());
    header.content_bytes = length.ok_or_else(|| invalid("a record has no Content-Length"))?;
    Ok(true)
}

/// Passes the content of a record and the two line ends after it to `sink`, in parts. `failed` wraps
/// an error of reading.
pub fn pass_content<E>(
    input: &mut impl BufRead,
    header: &Header,
    failed: impl Fn(io::Error) -> E,
    mut sink: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut left = header.content_bytes;
    while left > 0 {
        let part = match input.fill_buf() {
            Ok([]) => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
            Ok(part) => part,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        let count = part.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        sink(&part[..count])?;
        input.consume(count);
        left -= count as u64;
    }
    sink(b"\r\n\r\n")
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "WARC/1.0\r\nWARC-Type: response\r\nwarc-target-uri:  <http://a.example/> \r\n\
                          Content-Length: 5\r\n\r\nabcde\r\n\r\n";

    fn collect(input: &mut &[u8], header: &Header, content: &mut Vec<u8>) -> io::Result<()> {
        pass_content(
            input,
            header,
            |error| error,
            |part| {
                content.extend_from_slice(part);
                Ok(())
            },
        )
    }

    #[test]
    fn a_header_has_its_fields() {
        let mut header = Header::default();
        let text = format!("\r\n{RECORD}WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n");
        let mut input = text.as_bytes();
        assert!(read_header(&mut input, &mut header).expect("a record"));
        assert_eq!(header.record_type(), b"response");
        assert_eq!(header.target(), Some(&b"http://a.example/"[..]));
        let mut content = Vec::new();
        collect(&mut input, &header, &mut content).expect("its content");
        assert_eq!(content, b"abcde\r\n\r\n");
        assert!(read_header(&mut input, &mut header).expect("a record"));
        assert_eq!(header.target(), None);
        collect(&mut input, &header, &mut content).expect("no content");
        assert!(!read_header(&mut input, &mut header).expect("the end"));
    }

    #[test]
    fn what_is_no_record_is_an_error() {
        let mut header = Header::default();
        let long = format!("WARC/1.0\r\n{}", "a".repeat(LONGEST_HEADER as usize));
        for text in [
            "no warc\n",
            "WARC/1.0\r\nContent-Le",
            "WARC/1.0\r\n\r\n",
            &long,
        ] {
            assert!(read_header(&mut text.as_bytes(), &mut header).is_err());
        }
        let cut = &RECORD.as_bytes()[..RECORD.len() - 7];
        let mut input = cut;
        assert!(read_header(&mut input, &mut header).expect("a header"));
        assert!(collect(&mut input, &header, &mut Vec::new()).is_err());
    }
}
