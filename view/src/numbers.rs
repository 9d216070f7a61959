//! Formats numbers for people, in the same way on the terminal and on the page.

/// Formats a number with commas between thousands: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its noun: `1 line`, `2,000 lines`.
pub fn plural(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", grouped(count)),
    }
}

/// Formats a share between 0 and 1 as a percentage with three significant digits; None as a
/// dash.
pub fn percent(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| percent_with(share, DIGITS))
}

/// The number of significant digits of a percentage.
const DIGITS: usize = 3;

fn percent_with(share: f64, digits: usize) -> String {
    match 100.0 * share {
        0.0 => "0 %".to_owned(),
        percent if percent < 1e-9 && digits == DIGITS => "under 1e-9 %".to_owned(),
        percent => format!("{} %", significant(percent, digits)),
    }
}

/// Formats two different shares as percentages with as many significant digits as it takes to
/// tell them apart, at least three: `1.0003 %` and `1.0000 %`.
pub fn different_percents(one: f64, other: f64) -> (String, String) {
    let texts = |digits: usize| [one, other].map(|share| percent_with(share, digits));
    let digits = (DIGITS..=17).find(|&digits| {
        let [one, other] = texts(digits);
        one != other
    });
    let [one, other] = texts(digits.unwrap_or(DIGITS));
    (one, other)
}

/// Formats a positive number below 1000 with so many significant digits, at least three.
fn significant(number: f64, digits: usize) -> String {
    // The exponent after rounding: 9.996 is 10.0.
    let decimals = digits - 1;
    let scientific = format!("{number:.decimals$e}");
    let exponent = scientific.split('e').nth(1);
    match exponent.and_then(|exponent| exponent.parse::<i32>().ok()) {
        Some(exponent @ -3..=2) => {
            let decimals = decimals as i32 - exponent;
            format!("{number:.decimals$}", decimals = decimals as usize)
        }
        _ => scientific,
    }
}

/// Formats a size given in bits, in the largest unit that leaves at least 1: `1.24 MiB`.
pub fn show_bits(bits: u64) -> String {
    if !bits.is_multiple_of(8) {
        return format!("{bits} bits");
    }
    let bytes = bits / 8;
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = (bytes.max(1).ilog2() / 10).min(4);
    let value = bytes as f64 / (1u64 << (10 * power)) as f64;
    let digits = match value {
        v if v == v.trunc() => 0,
        v if v < 10.0 => 2,
        _ => 1,
    };
    format!("{value:.digits$} {}", units[power as usize])
}

/// Formats a time in the largest unit that leaves at least 2: `119 s`, `2 min`.
pub fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_shares_are_percentages() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(plural(1, "line"), "1 line");
        assert_eq!(plural(2000, "line"), "2,000 lines");
        assert_eq!(percent(None), "–");
        assert_eq!(percent(Some(0.0)), "0 %");
        assert_eq!(percent(Some(0.16361)), "16.4 %");
        assert_eq!(percent(Some(0.0163)), "1.63 %");
        for (share, text) in [
            (1.0, "100 %"),
            (0.9996, "100 %"),
            (0.5, "50.0 %"),
            (0.099_97, "10.0 %"),
            (0.009_997, "1.00 %"),
            (0.0084, "0.840 %"),
            (0.000_163, "0.0163 %"),
            (0.000_016_3, "0.00163 %"),
            (0.000_001, "1.00e-4 %"),
            (8.24e-11, "8.24e-9 %"),
            (1e-30, "under 1e-9 %"),
        ] {
            assert_eq!(percent(Some(share)), text);
        }
    }

    #[test]
    fn sizes_have_the_largest_fitting_unit() {
        for (bits, text) in [
            (64, "8 B"),
            (67, "67 bits"),
            (8 << 10, "1 KiB"),
            (8 * 1536, "1.50 KiB"),
            (8 << 26, "64 MiB"),
            (8 * 1_300_000, "1.24 MiB"),
        ] {
            assert_eq!(show_bits(bits), text);
        }
    }

    #[test]
    fn times_have_the_largest_fitting_unit() {
        for (seconds, text) in [
            (0, "0 s"),
            (119, "119 s"),
            (120, "2 min"),
            (7200, "2 h"),
            (864_000, "10 d"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}
