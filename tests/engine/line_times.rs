//! Times of lines against a naive calendar.

use dedupstore::lines::{TimeFormat, TimeReader, TimeRule, ValueSelector};
use proptest::prelude::*;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

fn is_leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

fn days_of_month(year: i64, month: usize) -> i64 {
    let february = if is_leap(year) { 29 } else { 28 };
    [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
}

/// Returns the days from 1970 to a date by counting years and months. None if there is no such
/// date.
fn days(year: i64, month: usize, day: i64) -> Option<i64> {
    let is_date = (1..=12).contains(&month) && year > 0;
    if !is_date || !(1..=days_of_month(year, month)).contains(&day) {
        return None;
    }
    let of_year = |year: i64| if is_leap(year) { 366 } else { 365 };
    let before: i64 = match year >= 1970 {
        true => (1970..year).map(of_year).sum(),
        false => -(year..1970).map(of_year).sum::<i64>(),
    };
    let months: i64 = (1..month).map(|month| days_of_month(year, month)).sum();
    Some(before + months + day - 1)
}

/// A date, a time of day and a zone, not all of which exist.
#[derive(Clone, Debug)]
struct Written {
    date: (i64, usize, i64),
    time: (i64, i64, i64),
    zone_minutes: i64,
    fraction: Option<u32>,
}

fn written() -> impl Strategy<Value = Written> {
    let date = (0i64..2300, 0usize..14, 0i64..33);
    let time = (0i64..25, 0i64..62, 0i64..63);
    let zone = prop_oneof![Just(0i64), -24 * 60i64..=24 * 60];
    (date, time, zone, proptest::option::of(0u32..1000)).prop_map(
        |(date, time, zone_minutes, fraction)| Written {
            date,
            time,
            zone_minutes,
            fraction,
        },
    )
}

impl Written {
    /// Returns the seconds since 1970; None if there is no such time.
    fn seconds(&self) -> Option<i64> {
        let (hours, minutes, seconds) = self.time;
        let exists = hours < 24 && minutes < 60 && seconds <= 60;
        let days = days(self.date.0, self.date.1, self.date.2)?;
        let of_day = hours * 3600 + minutes * 60 + seconds;
        (exists && self.zone_minutes.abs() < 24 * 60)
            .then(|| days * 86_400 + of_day - self.zone_minutes * 60)
    }

    fn zone(&self, separator: &str) -> String {
        let sign = if self.zone_minutes < 0 { '-' } else { '+' };
        let minutes = self.zone_minutes.abs();
        format!("{sign}{:02}{separator}{:02}", minutes / 60, minutes % 60)
    }

    fn rfc3339(&self, separator: &str, zone: &str) -> String {
        let ((year, month, day), (hours, minutes, seconds)) = (self.date, self.time);
        let fraction = self.fraction.map_or(String::new(), |it| format!(".{it}"));
        format!(
            "{year:04}-{month:02}-{day:02}{separator}{hours:02}:{minutes:02}:{seconds:02}\
             {fraction}{zone}"
        )
    }

    /// Returns the time in the common log format. A month that does not exist has no name.
    fn clf(&self) -> String {
        let ((year, month, day), (hours, minutes, seconds)) = (self.date, self.time);
        let name = month.checked_sub(1).and_then(|month| MONTHS.get(month));
        format!(
            "[{day:02}/{}/{year:04}:{hours:02}:{minutes:02}:{seconds:02} {}]",
            name.unwrap_or(&"Foo"),
            self.zone("")
        )
    }
}

fn field(index: usize, delimiter: Option<u8>) -> TimeReader {
    TimeReader::new(TimeRule {
        selector: ValueSelector::Field { index, delimiter },
        format: TimeFormat::Auto,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn times_are_those_of_a_naive_calendar(written in written()) {
        let expected = written.seconds();
        let colon = written.zone(":");
        for text in [
            written.rfc3339("T", &colon),
            written.rfc3339(" ", &colon),
            written.rfc3339("T", &written.zone("")),
        ] {
            prop_assert_eq!(TimeFormat::Auto.parse(text.as_bytes()), expected, "{}", text);
            prop_assert_eq!(TimeFormat::Rfc3339.parse(text.as_bytes()), expected, "{}", text);
            let delimited = format!("a,{text},b");
            prop_assert_eq!(field(1, Some(b',')).seconds(delimited.as_bytes()), expected);
        }
        let text = written.clf();
        prop_assert_eq!(TimeFormat::Clf.parse(text.as_bytes()), expected, "{}", text);
        // A log has the zone in the next field.
        let line = format!("10.0.0.1 - -  {text} \"GET / HTTP/1.1\" 200 7");
        match (expected, TimeFormat::Auto.parse(text.as_bytes())) {
            (Some(_), _) => {
                prop_assert_eq!(field(3, None).seconds(line.as_bytes()), expected, "{}", line);
            }
            (None, found) => prop_assert_eq!(found, None, "{}", text),
        }
        if let Some(seconds) = expected.filter(|&seconds| seconds >= 0) {
            let milliseconds = format!("{}", seconds * 1000 + 999);
            let found = TimeFormat::Milliseconds.parse(milliseconds.as_bytes());
            prop_assert_eq!(found, Some(seconds));
            let with_fraction = format!("{seconds}.5");
            prop_assert_eq!(TimeFormat::Auto.parse(with_fraction.as_bytes()), Some(seconds));
        }
    }

    #[test]
    fn no_bytes_make_the_reader_fail(line in proptest::collection::vec(any::<u8>(), 0..80), index in 0usize..6) {
        for delimiter in [None, Some(b' '), Some(b',')] {
            for format in TimeFormat::ALL {
                let selector = ValueSelector::Field { index, delimiter };
                let mut reader = TimeReader::new(TimeRule { selector, format });
                if let Some(tick) = reader.tick(&line) {
                    prop_assert!(tick > 0);
                }
            }
        }
    }

    #[test]
    fn what_looks_like_a_time_does_not_make_the_reader_fail(line in "[\\[\"]?[0-9]{1,4}[-/]?[0-9A-Z]{0,3}[-/]?[0-9]{0,4}[T: ]?[0-9:.,+Z \\]-]{0,24}") {
        for format in TimeFormat::ALL {
            let selector = ValueSelector::Field { index: 0, delimiter: None };
            TimeReader::new(TimeRule { selector, format }).tick(line.as_bytes());
        }
    }
}
