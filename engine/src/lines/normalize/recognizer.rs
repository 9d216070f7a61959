//! Recognizes URLs that are already normal, in one pass over their bytes.
//!
//! It must never call a URL normal that the parser would change, but it may leave any URL to the
//! parser. So it knows only the usual form: `http` or `https`, a host of lower-case names, a port
//! that is not the default, a path without dot segments, and bytes that need no escape.

/// Bytes that stay as they are in a path. `/` is not among them, because a segment ends there.
const PATH: u8 = 1;
/// Bytes that stay as they are in a query.
const QUERY: u8 = 2;
/// Bytes that stay as they are in a host.
const HOST: u8 = 4;

/// For each byte, where it stays as it is.
static STAYS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0x21u8;
    while byte < 0x7F {
        let mut places = 0;
        // Some of these stay in a path, too; `^` and `|` do so in some versions of the standard.
        if !matches!(
            byte,
            b'"' | b'#' | b'<' | b'>' | b'?' | b'`' | b'{' | b'}' | b'\\' | b'^' | b'|' | b'/'
        ) {
            places |= PATH;
        }
        if !matches!(byte, b'"' | b'#' | b'<' | b'>' | b'\'') {
            places |= QUERY;
        }
        if matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.') {
            places |= HOST;
        }
        table[byte as usize] = places;
        byte += 1;
    }
    table
};

/// Returns the length of a URL without its fragment if the rest is normal. None if it may not be
/// normal.
#[inline]
pub(super) fn normal_length(url: &[u8]) -> Option<usize> {
    let (host_start, default_port) = if url.starts_with(b"https://") {
        (8, 443)
    } else if url.starts_with(b"http://") {
        (7, 80)
    } else {
        return None;
    };
    let host_end = host_start + staying(&url[host_start..], HOST);
    if !is_plain_host(&url[host_start..host_end]) {
        return None;
    }
    let mut at = host_end;
    if url.get(at) == Some(&b':') {
        at += 1 + plain_port(&url[at + 1..], default_port)?;
    }
    // Each segment of the path.
    while url.get(at) == Some(&b'/') {
        at += 1;
        if may_be_dots(&url[at..]) {
            return None;
        }
        at += staying(&url[at..], PATH);
        match url.get(at) {
            None | Some(b'#') => return Some(at),
            Some(b'/') => {}
            Some(b'?') => {
                at += 1;
                at += staying(&url[at..], QUERY);
                return matches!(url.get(at), None | Some(b'#')).then_some(at);
            }
            Some(_) => return None,
        }
    }
    None
}

/// Returns the number of bytes at the start that stay as they are.
#[inline]
fn staying(bytes: &[u8], place: u8) -> usize {
    let changes = |&byte: &u8| STAYS[byte as usize] & place == 0;
    bytes.iter().position(changes).unwrap_or(bytes.len())
}

/// Returns whether a host has no empty label, no label that may be encoded Unicode, and a last
/// label that starts with a letter, so that it is not an IPv4 address.
#[inline]
fn is_plain_host(host: &[u8]) -> bool {
    let mut last_start = 0;
    let mut previous = b'.';
    for (at, &byte) in host.iter().enumerate() {
        match (previous, byte) {
            // Two hyphens can be part of `xn--`.
            (b'.', b'.') | (b'-', b'-') => return false,
            (_, b'.') => last_start = at + 1,
            _ => {}
        }
        previous = byte;
    }
    host.len() <= 253 && host.get(last_start).is_some_and(u8::is_ascii_lowercase)
}

/// Returns the length of a port that is written without leading zeros and is not the default.
fn plain_port(text: &[u8], default: u32) -> Option<usize> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let (length, port) = digits.take(6).fold((0, 0), |(length, port), &digit| {
        (length + 1, port * 10 + u32::from(digit - b'0'))
    });
    let is_plain = text.first() != Some(&b'0') && port != default;
    (length > 0 && is_plain && port <= 65_535).then_some(length)
}

/// Returns whether a segment may be `.` or `..`, also percent-encoded.
#[inline]
fn may_be_dots(segment: &[u8]) -> bool {
    match segment {
        [b'.', rest @ ..] => !matches!(rest, [byte, ..] if byte.is_ascii_alphanumeric()),
        [b'%', b'2', ..] => true,
        _ => false,
    }
}
