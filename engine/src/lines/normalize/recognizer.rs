//! Recognizes URLs that are already normal, in one pass over their bytes.
//!
//! It must never call a URL normal that the parser would change, but it may leave any URL to the
//! parser. So it knows only the usual form: `http` or `https`, a host of lower-case names, a port
//! that is not the default, a path without dot segments, and bytes that need no escape.
//!
//! The simplest of these URLs are recognized by [`is_simple`], which tests sixteen bytes at a time:
//! its loops have no branch, so the compiler turns them into vector instructions.

/// Bytes that stay as they are in a path. `/` is not among them, because a segment ends there.
const PATH: u8 = 1;
/// Bytes that stay as they are in a query.
const QUERY: u8 = 2;

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
    match is_simple(url, host_start) {
        true => Some(url.len()),
        false => normal_length_by_parts(url, host_start, default_port),
    }
}

/// Returns whether a URL has a plain host, no port, no fragment, no segment that starts with a dot
/// or an escape, and only bytes that stay as they are in both path and query.
#[inline]
fn is_simple(url: &[u8], host_start: usize) -> bool {
    let host = plain_host(&url[host_start..]);
    host.is_some_and(|length| url.get(host_start + length) == Some(&b'/')) && has_simple_bytes(url)
}

/// Tests every byte together with the one after it.
#[inline]
fn has_simple_bytes(url: &[u8]) -> bool {
    const BYTES: usize = 16;
    // The last pairs are tested twice, so that no shorter rest is left.
    let (Some(last), mut rest) = (url.last_chunk::<{ BYTES + 1 }>(), url) else {
        return false;
    };
    let mut others = is_other(url[url.len() - 1], 0);
    while let Some(pairs) = rest.first_chunk::<{ BYTES + 1 }>() {
        others |= has_others(pairs);
        rest = &rest[BYTES..];
    }
    !(others | has_others(last))
}

#[inline]
fn has_others(bytes: &[u8; 17]) -> bool {
    let mut others = false;
    for at in 0..16 {
        others |= is_other(bytes[at], bytes[at + 1]);
    }
    others
}

/// Returns whether a byte needs a closer look, because of itself or of the next one.
#[inline]
fn is_other(byte: u8, next: u8) -> bool {
    let is_graphic = byte.wrapping_sub(0x21) < 0x7F - 0x21;
    let changes = (byte == b'"')
        | (byte == b'#')
        | (byte == b'\'')
        | (byte == b'<')
        | (byte == b'>')
        | (byte == b'\\')
        | (byte == b'^')
        | (byte == b'`')
        | (byte.wrapping_sub(b'{') < 3);
    let starts_segment = (byte == b'/') & ((next == b'.') | (next == b'%'));
    !is_graphic | changes | starts_segment
}

/// Looks at the parts of a URL one after the other.
fn normal_length_by_parts(url: &[u8], host_start: usize, default_port: u32) -> Option<usize> {
    let mut at = host_start + plain_host(&url[host_start..])?;
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

/// Returns the length of the host at the start of a text, if it has only lower-case names, no empty
/// label, no label that may be encoded Unicode, and a last label that starts with a letter, so that
/// it is not an IPv4 address.
///
/// It looks at eight bytes at a time. In a mask, the high bit of each byte is the answer for that
/// byte.
#[inline]
fn plain_host(text: &[u8]) -> Option<usize> {
    // The byte before the host counts as a dot, so that a dot at the start is one of two.
    let (mut dot_before, mut hyphen_before) = (0x80, 0);
    let (mut at, mut last_label) = (0, 0);
    loop {
        let word = match text[at..].first_chunk() {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => padded(&text[at..]),
        };
        let class = Class::of(word);
        let others = HIGH & !class.in_host;
        // All bytes before the first other one.
        let inside = others.wrapping_sub(1) & !others;
        let inside = if others == 0 { u64::MAX } else { inside >> 7 };
        let dots = class.dots & inside;
        let hyphens = class.hyphens & inside;
        // Two hyphens can be part of `xn--`.
        let doubled =
            (dots & (dots << 8 | dot_before)) | (hyphens & (hyphens << 8 | hyphen_before));
        if doubled != 0 {
            return None;
        }
        if dots != 0 {
            last_label = at + 8 - dots.leading_zeros() as usize / 8;
        }
        if others != 0 {
            let length = at + others.trailing_zeros() as usize / 8;
            let letter = text.get(last_label).is_some_and(u8::is_ascii_lowercase);
            return (letter && length <= 253).then_some(length);
        }
        (dot_before, hyphen_before) = (dots >> 56, hyphens >> 56);
        at += 8;
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Masks of the bytes of a word.
struct Class {
    in_host: u64,
    dots: u64,
    hyphens: u64,
}

impl Class {
    #[inline]
    fn of(word: u64) -> Self {
        // Without the high bits, sums stay within their bytes.
        let low = word & !HIGH;
        let ascii = HIGH & !word;
        let from = |byte: u8| low + ONES * u64::from(0x80 - byte);
        let range = |first: u8, last: u8| from(first) & !from(last + 1) & ascii;
        let (dots, hyphens) = (range(b'.', b'.'), range(b'-', b'-'));
        let letters = range(b'a', b'z') | range(b'0', b'9') | range(b'_', b'_');
        Class {
            in_host: letters | dots | hyphens,
            dots,
            hyphens,
        }
    }
}

/// Returns up to seven bytes as a word, followed by zeros.
fn padded(bytes: &[u8]) -> u64 {
    let places = bytes.iter().zip((0..).step_by(8));
    places.fold(0, |word, (&byte, shift)| word | u64::from(byte) << shift)
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
