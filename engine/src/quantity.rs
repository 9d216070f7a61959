//! Numbers with a unit, such as `64MiB`, `10M` or `1.5h`.

/// Parses a number with an optional unit, and returns it in the smallest unit. `factor_of` returns
/// the factor of a unit, or None if there is no such unit; the unit may be empty. Returns None if
/// the text is not a quantity, or if it exceeds 64 bits.
///
/// ```
/// use dedupstore::quantity;
///
/// let seconds = |text| {
///     quantity(text, |unit| match unit {
///         "" | "s" => Some(1),
///         "h" => Some(3600),
///         _ => None,
///     })
/// };
/// assert_eq!(seconds("1.5h"), Some(5400));
/// assert_eq!(seconds("2e3 s"), Some(2000));
/// assert_eq!(seconds("2 days"), None);
/// ```
pub fn quantity(text: &str, factor_of: impl FnOnce(&str) -> Option<u64>) -> Option<u64> {
    let (number, unit) = split_unit(text);
    scaled(number, factor_of(unit)?)
}

/// Splits `1.5e3 MB` into its number and its unit.
fn split_unit(text: &str) -> (&str, &str) {
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
    fn a_number_and_its_unit_are_separated() {
        for (text, parts) in [
            ("64MiB", ("64", "MiB")),
            ("1.5e3 MB", ("1.5e3", "MB")),
            ("2e", ("2", "e")),
            ("7", ("7", "")),
            ("days", ("", "days")),
            ("3\u{e9}", ("3", "\u{e9}")),
        ] {
            assert_eq!(split_unit(text), parts, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_no_quantity() {
        let plain = |text| quantity(text, |_| Some(2));
        assert_eq!(plain("9223372036854775807"), Some(u64::MAX - 1));
        for text in ["9223372036854775808", "1e30", "", "-1", "1.2.3"] {
            assert_eq!(plain(text), None, "{text}");
        }
    }
}
