//! The time in a JSON value that is not a string.

use super::time_format::TimeFormat;

/// Longer numbers are no times.
const MAX_DIGITS: usize = 40;

/// Parses a number, as seconds since 1970. None if the value is not a number or not a time.
pub(super) fn seconds(format: TimeFormat, value: &[u8]) -> Option<i64> {
    if !value.first()?.is_ascii_digit() {
        return None;
    }
    let exponent_at = value.iter().position(|byte| matches!(byte, b'e' | b'E'));
    match exponent_at {
        None => format.parse(value),
        Some(at) => format.parse(&without_exponent(&value[..at], &value[at + 1..])?),
    }
}

/// Writes a number without its exponent, and without what is behind the point then: 1.7e9 is
/// 1700000000.
fn without_exponent(number: &[u8], exponent: &[u8]) -> Option<Vec<u8>> {
    let exponent: i64 = std::str::from_utf8(exponent).ok()?.parse().ok()?;
    let point = number.iter().position(|&byte| byte == b'.');
    let point = point.unwrap_or(number.len());
    let mut digits = number[..point].to_vec();
    digits.extend(number.get(point + 1..).unwrap_or_default());
    let length = usize::try_from(exponent.checked_add(point as i64)?).ok()?;
    if !(1..=MAX_DIGITS).contains(&length) {
        return None;
    }
    digits.resize(length, b'0');
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    Some(digits.split_off(zeros.min(length - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_have_an_exponent() {
        for (value, expected) in [
            ("1700000000", Some(1_700_000_000)),
            ("1.7e9", Some(1_700_000_000)),
            ("1.7E+9", Some(1_700_000_000)),
            ("17e8", Some(1_700_000_000)),
            ("1700000000e0", Some(1_700_000_000)),
            ("1700000000.5e0", Some(1_700_000_000)),
            ("17000000005e-1", Some(1_700_000_000)),
            ("1.700000000123e12", Some(1_700_000_000)),
            ("0.0017e12", Some(1_700_000_000)),
            ("0e9", Some(0)),
            ("5e-1", None),
            ("1e99", None),
            ("1e99999999999999999999", None),
            ("-1.7e9", None),
            ("true", None),
            ("[1700000000]", None),
            ("{\"a\":1}", None),
        ] {
            let found = seconds(TimeFormat::Auto, value.as_bytes());
            assert_eq!(found, expected, "{value}");
        }
        assert_eq!(
            seconds(TimeFormat::Milliseconds, b"1.7e12"),
            Some(1_700_000_000)
        );
    }
}
