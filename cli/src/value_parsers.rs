//! Sizes, counts and times as people write them.

use std::time::Duration;

pub use dedupstore::figures::show_bits;

/// A size in bytes: `64MiB`, `2GB`, `64M`, `65536`. `K`, `M`, `G` and `T` alone are
/// powers of 1024, as for `sort -S`.
pub fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1000,
        "mb" => 1000u64.pow(2),
        "gb" => 1000u64.pow(3),
        "tb" => 1000u64.pow(4),
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        _ => {
            return Err(format!(
                "expected a size like 64MiB, 2GB or 65536; found `{text}`"
            ));
        }
    };
    scaled(number, factor)
        .ok_or_else(|| format!("expected a size like 64MiB, 2GB or 65536; found `{text}`"))
}

/// A count: `1e6`, `10M`, `1000000`.
pub fn count(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" => Some(1),
        "k" => Some(1000),
        "m" => Some(1000u64.pow(2)),
        "g" | "b" => Some(1000u64.pow(3)),
        _ => None,
    };
    factor
        .and_then(|factor| scaled(number, factor))
        .ok_or_else(|| format!("expected a count like 1000000, 1e6 or 10M; found `{text}`"))
}

/// A time: `500ms`, `30s`, `5m`, `12h`, `7d`.
pub fn time(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let milliseconds = match unit {
        "ms" => Some(1),
        "s" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    milliseconds
        .and_then(|milliseconds| scaled(number, milliseconds))
        .map(Duration::from_millis)
        .ok_or_else(|| format!("expected a time like 500ms, 30s or 7d; found `{text}`"))
}

/// A share above 0 and below 1: `0.001`, `1e-6`, `0.1%`.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    match number.parse::<f64>().map(|number| number / unit) {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(format!(
            "expected a share between 0 and 1 like 0.001, or 0.1%; found `{text}`"
        )),
    }
}

/// How many threads: 1 to 256.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=256) => Ok(number),
        _ => Err(format!("expected a number from 1 to 256; found `{text}`")),
    }
}

/// One byte: a character, or one of `\t`, `\0`, `\n`.
pub fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        b"\\0" => Ok(0),
        b"\\n" => Ok(b'\n'),
        _ => Err(format!("expected one byte, or \\t; found `{text}`")),
    }
}

fn split(text: &str) -> (&str, &str) {
    let exponent_follows = |at: usize| {
        let rest = &text.as_bytes()[at..];
        matches!(rest, [b'e' | b'E', b'0'..=b'9', ..])
    };
    let end = text
        .char_indices()
        .find(|&(at, c)| !(c.is_ascii_digit() || c == '.' || exponent_follows(at)))
        .map_or(text.len(), |(at, _)| at);
    (&text[..end], text[end..].trim_start())
}

fn scaled(number: &str, factor: u64) -> Option<u64> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let value = number.parse::<f64>().ok()? * factor as f64;
    (value >= 0.0 && value < 2f64.powi(63)).then_some(value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_write_them() {
        for (text, bytes) in [
            ("65536", 65_536),
            ("64MiB", 64 << 20),
            ("64mib", 64 << 20),
            ("64M", 64 << 20),
            ("2GB", 2_000_000_000),
            ("1.5KiB", 1536),
            ("10 MB", 10_000_000),
            ("0", 0),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "MiB",
            "-1",
            "64XB",
            "1e",
            "nan",
            "99999999999999999999",
            "1e30",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_as_people_write_them() {
        for (text, number) in [
            ("1000000", 1_000_000),
            ("1e6", 1_000_000),
            ("2.5e3", 2500),
            ("10M", 10_000_000),
            ("3k", 3000),
        ] {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        for text in ["", "M", "1MiB", "e6", "-3", "1e99"] {
            assert!(count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_as_people_write_them() {
        for (text, milliseconds) in [("500ms", 500), ("1s", 1000), ("0.5s", 500), ("2m", 120_000)] {
            assert_eq!(
                time(text),
                Ok(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        for text in ["", "1", "s", "1 week", "-1s"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_as_people_write_them() {
        assert_eq!(share("0.001"), Ok(0.001));
        assert_eq!(share("0.5%"), Ok(0.005));
        assert_eq!(share("1e-6"), Ok(1e-6));
        for text in ["", "0", "1", "-0.1", "nan", "100%", "x"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
