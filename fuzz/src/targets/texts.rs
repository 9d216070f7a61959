//! Texts that people write: filters, sizes, streams, addresses, names.

use dedupstore::lab::StreamSpec;
use dedupstore::{AnyFilter, ByteSize, FilterSpec, quantity};
use dedupstore_server::{ServerAddress, name_of};

use super::{lossy, path_of, percent_decoded};

/// A filter: its text form must be parsed back, and building it takes no memory of its size.
pub fn filter_spec(input: &[u8]) {
    let text = lossy(input);
    match text.parse::<FilterSpec>() {
        Ok(spec) => {
            let written = spec.to_string();
            let again: FilterSpec = written.parse().expect("its own text form");
            assert_eq!(again, spec, "{written}");
            for memory_bits in [0, 64, 5000, 1 << 33, u64::MAX] {
                if let Ok(filter) = AnyFilter::build(&spec, memory_bits) {
                    assert!(
                        filter.region_bytes() as u64 <= memory_bits / 8 + 8192,
                        "{written}"
                    );
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A size in bytes, compared with exact decimal arithmetic.
pub fn sizes(input: &[u8]) {
    let text = lossy(input);
    if let Ok(size) = text.parse::<ByteSize>() {
        assert_eq!(size.to_string().parse(), Ok(size), "{text}");
    }
    let found = quantity(&text, |unit| match unit {
        "" => Some(1),
        "k" => Some(1000),
        "d" => Some(86_400_000),
        _ => None,
    });
    if let Some(expected) = naive_quantity(&text) {
        match (expected, found) {
            (None, None) => {}
            (Some(expected), Some(found)) => {
                // Fractions are computed with 53 bits, and one half may be rounded either way.
                let tolerance = match text.contains('.') {
                    true => 1.max(expected >> 52),
                    false => 0,
                };
                let difference = expected.abs_diff(u128::from(found));
                assert!(difference <= tolerance, "{text}: {found}, not {expected}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

/// Returns what a text of digits, a decimal point and a unit means, in exact arithmetic; None if the
/// text is of another form or near the limit of 64 bits.
fn naive_quantity(text: &str) -> Option<Option<u128>> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: u128 = match unit.trim_start() {
        "" => 1,
        "k" => 1000,
        "d" => 86_400_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = whole.len() + fraction.len();
    if digits == 0 || fraction.contains('.') {
        return Some(None);
    }
    if digits > 25 {
        return None;
    }
    let all: u128 = (whole.to_owned() + fraction).parse().ok()?;
    let scale = 10u128.pow(fraction.len() as u32);
    let value = (all * factor + scale / 2) / scale;
    match value {
        // Whole numbers may be as large as 64 bits allow; others must be below 2^63.
        0..0x7fff_0000_0000_0000 => Some(Some(value)),
        _ => None,
    }
}

/// A stream of the laboratory.
pub fn stream(input: &[u8]) {
    let text = lossy(input);
    if let Ok(spec) = text.parse::<StreamSpec>() {
        let written = spec.to_string();
        assert_eq!(
            written.parse::<StreamSpec>().expect("its own text form"),
            spec,
            "{written}"
        );
    }
}

/// The address of a server, and the name of a store's directory.
pub fn address(input: &[u8]) {
    let text = lossy(input);
    match text.parse::<ServerAddress>() {
        Ok(address) => {
            assert!(!address.store.is_empty());
            assert!(ServerAddress::is_address(&text));
            if !text.starts_with("redis+unix:") {
                let store = path_of(&text).and_then(percent_decoded);
                assert_eq!(store.as_ref(), Some(&address.store), "{text}");
            }
            let shown = |password: &[u8]| {
                let password = Some(password.to_vec());
                format!(
                    "{:?}",
                    ServerAddress {
                        password,
                        ..address.clone()
                    }
                )
            };
            assert_eq!(shown(b"first"), shown(b"second"), "the password is shown");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Some(name) = name_of(&text) {
        assert!(
            !text.contains(['/', '\\', '\0']) && !text.starts_with('.'),
            "{text}: {name:?}"
        );
    }
}
