//! Dates, times of day and time zones as numbers.

/// Returns the days from 1970 to a date of the Gregorian calendar. None if there is no such date
/// between the years 1 and 9999.
///
/// The computation starts years in March, so that the leap day is the last day of a year.
pub(super) fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_date = (1..=9999).contains(&year) && (1..=12).contains(&month);
    if !is_date || !(1..=days_of_month(year, month)).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    Some(365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468)
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Parses the English abbreviation of a month, with a capital letter, as its number.
pub(super) fn month_of_name(name: &[u8]) -> Option<i64> {
    const NAMES: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let position = NAMES.chunks(3).position(|month| month == name)?;
    Some(position as i64 + 1)
}

/// Parses `12:34:56` as seconds. Accepts a leap second.
pub(super) fn time_of_day(text: &[u8; 8]) -> Option<i64> {
    let [h, i, b':', m, n, b':', s, t] = *text else {
        return None;
    };
    let (hours, minutes, seconds) = (two_digits(h, i)?, two_digits(m, n)?, two_digits(s, t)?);
    (hours < 24 && minutes < 60 && seconds <= 60).then_some(hours * 3600 + minutes * 60 + seconds)
}

/// Parses a zone at the start of a text, such as `Z`, `+0100`, `+01:00` or `-05`, as seconds east
/// of UTC. Also returns its length.
pub(super) fn zone_offset(text: &[u8]) -> Option<(i64, usize)> {
    let (sign, digits) = match text {
        [b'Z' | b'z', ..] => return Some((0, 1)),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let (hours, minutes, length) = match *digits {
        [h, i, b':', m, n, ..] => (two_digits(h, i)?, two_digits(m, n)?, 6),
        [h, i, m, n, ..] if m.is_ascii_digit() => (two_digits(h, i)?, two_digits(m, n)?, 5),
        [h, i, ..] => (two_digits(h, i)?, 0, 3),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some((sign * (hours * 3600 + minutes * 60), length))
}

#[inline]
pub(super) fn two_digits(tens: u8, ones: u8) -> Option<i64> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| i64::from(tens * 10 + ones))
}

/// Parses decimal digits and nothing else.
pub(super) fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0i64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_account_for_leap_years() {
        for (date, days) in [
            ((1, 1, 1), Some(-719_162)),
            ((1970, 1, 1), Some(0)),
            ((1980, 1, 1), Some(3_652)),
            ((2000, 2, 29), Some(11_016)),
            ((2000, 3, 1), Some(11_017)),
            ((2100, 2, 29), None),
            ((2100, 3, 1), Some(47_541)),
            ((9999, 12, 31), Some(2_932_896)),
            ((2026, 4, 31), None),
            ((2026, 0, 1), None),
            ((0, 1, 1), None),
        ] {
            assert_eq!(days_since_1970(date.0, date.1, date.2), days, "{date:?}");
        }
    }

    #[test]
    fn zones_are_seconds_east_of_utc() {
        for (text, offset) in [
            ("Z rest", Some((0, 1))),
            ("+0530", Some((19_800, 5))),
            ("-07:00]", Some((-25_200, 6))),
            ("+01", Some((3600, 3))),
            ("+24:00", None),
            ("+1", None),
            ("", None),
        ] {
            assert_eq!(zone_offset(text.as_bytes()), offset, "{text}");
        }
    }
}
