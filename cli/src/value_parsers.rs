//! Parsers for the values of options: sizes, counts, times, shares.

use std::time::Duration;

use clap::builder::{PossibleValue, TypedValueParser};
use dedupstore::filter::Descriptor;
use dedupstore::lines::{ImportanceFormat, Normalization, TimeFormat};
use dedupstore::store::Durability;
use dedupstore::{ByteSize, ByteSizeError, FilterSpec, quantity, registry};
pub use dedupstore_view::show_bits;

use crate::given_filter::GivenFilter;

/// Parses a size in bytes, as [`ByteSize`] does: `64MiB`, `2GB`, `64M`, `65536`.
pub fn size(text: &str) -> Result<u64, ByteSizeError> {
    text.parse().map(ByteSize::bytes)
}

/// Parses the length of the longest line, which is at least one byte.
pub fn max_line(text: &str) -> Result<ByteSize, String> {
    match text.parse::<ByteSize>() {
        Ok(size) if size.bytes() == 0 => Err("a line has at least one byte".to_owned()),
        Ok(size) => Ok(size),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses a count: `1e6`, `10M`, `1000000`.
pub fn count(text: &str) -> Result<u64, String> {
    let factor_of = |unit: &str| match unit.to_ascii_lowercase().as_str() {
        "" => Some(1),
        "k" => Some(1000),
        "m" => Some(1000u64.pow(2)),
        "g" | "b" => Some(1000u64.pow(3)),
        _ => None,
    };
    quantity(text, factor_of)
        .ok_or_else(|| format!("expected a count like 1000000, 1e6 or 10M; found `{text}`"))
}

/// Parses a time: `500ms`, `30s`, `5m`, `12h`, `7d`.
pub fn time(text: &str) -> Result<Duration, String> {
    let milliseconds_of = |unit: &str| match unit {
        "ms" => Some(1),
        "s" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    quantity(text, milliseconds_of)
        .map(Duration::from_millis)
        .ok_or_else(|| {
            let unit = match text.parse::<f64>().is_ok_and(|number| number >= 0.0) {
                true => ", which has no unit",
                false => "",
            };
            format!("expected a time like 500ms, 30s or 7d; found `{text}`{unit}")
        })
}

/// Parses a span in whole seconds, as [`span`](dedupstore_view::span) writes it or shorter: `30s`,
/// `90m`, `1d12h`, `7 d 14 h`. A unit occurs once, the larger ones first.
fn whole_seconds(text: &str) -> Option<u64> {
    if let Ok(single) = time(text) {
        let milliseconds = single.as_millis();
        let seconds = u64::try_from(milliseconds / 1000).ok();
        return seconds.filter(|_| milliseconds.is_multiple_of(1000));
    }
    let (mut rest, mut seconds, mut larger) = (text, 0u64, u64::MAX);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start_matches(' ');
        let letters = after.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, after) = after.split_at(letters.unwrap_or(after.len()));
        let unit = match unit {
            "s" => 1,
            "m" | "min" => 60,
            "h" => 3600,
            "d" => 86_400,
            _ => return None,
        };
        if unit >= larger {
            return None;
        }
        let part = number.parse::<u64>().ok()?.checked_mul(unit)?;
        (seconds, larger) = (seconds.checked_add(part)?, unit);
        rest = after.trim_start_matches(' ');
    }
    (larger < u64::MAX).then_some(seconds)
}

/// Parses the span of a window, in whole seconds: `30s`, `90m`, `12h`, `1d12h`, `7d`.
pub fn window(text: &str) -> Result<u64, String> {
    match whole_seconds(text) {
        Some(seconds) if seconds > 0 && seconds < 1 << 40 => Ok(seconds),
        _ => Err(format!(
            "expected a span of whole seconds like 30s, 90m, 12h, 1d12h or 7d; found `{text}`"
        )),
    }
}

/// A moment: a number of seconds since 1970, or relative to the clock of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    UnixSeconds(u64),
    Later(u64),
}

/// Parses a moment: `1772368496`, `2026-03-01T12:34:56Z`, `+7d`, `+1d12h`.
pub fn moment(text: &str) -> Result<Moment, String> {
    if text
        .strip_prefix('-')
        .is_some_and(|span| whole_seconds(span).is_some())
    {
        return Err(format!(
            "found `{text}`, a time before the store's clock; a store does not know what it \
             forgot, so keys are looked up as of now or later"
        ));
    }
    let parsed = match text.strip_prefix('+') {
        Some(span) => whole_seconds(span).map(Moment::Later),
        None => {
            let seconds = TimeFormat::Auto.parse(text.as_bytes());
            seconds.map(|seconds| Moment::UnixSeconds(seconds.max(0) as u64))
        }
    };
    parsed.ok_or_else(|| {
        format!(
            "expected a time like 2026-03-01T12:34:56Z, seconds since 1970, or a span like +7d or \
             +1d12h; found `{text}`"
        )
    })
}

/// Parses the number of a field, from 1.
pub fn field_number(text: &str) -> Result<usize, String> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number @ 1..) if is_number => Ok(number),
        _ => Err(format!(
            "expected the number of one field, counted from 1; found `{text}`"
        )),
    }
}

/// Parses when observations become durable: `every`, `none`, or an interval.
pub fn durability(text: &str) -> Result<Durability, String> {
    let expected = || format!("expected every, none, or a time like 1s or 500ms; found `{text}`");
    match text {
        "every" => Ok(Durability::Every),
        "none" => Ok(Durability::None),
        _ => match time(text) {
            Ok(Duration::ZERO) => Err(format!("{}; use `every` for no delay", expected())),
            Ok(interval) => Ok(Durability::Interval(interval)),
            Err(_) => Err(expected()),
        },
    }
}

/// Parses a share above 0 and below 1: `0.001`, `1e-6`, `0.1%`.
pub fn share(text: &str) -> Result<f64, String> {
    match fraction(text) {
        Some(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(format!(
            "expected a share between 0 and 1, like 0.001 or 0.1%; found `{text}`"
        )),
    }
}

/// Parses a limit of a share, above 0 and at most 1: `0.001`, `0.1%`, `1`.
pub fn limit(text: &str) -> Result<f64, String> {
    match fraction(text) {
        Some(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(format!(
            "expected a share above 0 and at most 1, like 0.01 or 1%; found `{text}`"
        )),
    }
}

fn fraction(text: &str) -> Option<f64> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    number.parse::<f64>().ok().map(|number| number / unit)
}

/// Parses a number of threads, from 1 to 256.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 0..=256) => Ok(number),
        _ => Err(format!("expected a number from 0 to 256; found `{text}`")),
    }
}

/// Parses a normalization. Its names are offered by shell completions.
pub fn normalization() -> impl TypedValueParser<Value = Normalization> {
    let names = Normalization::ALL
        .iter()
        .map(|it| PossibleValue::new(it.name()));
    Offering::new(names.collect(), str::parse::<Normalization>)
}

/// Parses a format of times. The names are offered by shell completions.
pub fn time_format() -> impl TypedValueParser<Value = TimeFormat> {
    let names = TimeFormat::ALL
        .iter()
        .map(|it| PossibleValue::new(it.name()));
    Offering::new(names.collect(), str::parse::<TimeFormat>)
}

/// Parses the format of an importance.
pub fn importance_format() -> impl TypedValueParser<Value = ImportanceFormat> {
    let names = ImportanceFormat::ALL
        .iter()
        .map(|it| PossibleValue::new(it.name()));
    Offering::new(names.collect(), str::parse::<ImportanceFormat>)
}

/// Parses a filter. The default form of every filter is offered by shell completions.
pub fn given_filter() -> impl TypedValueParser<Value = GivenFilter> {
    Offering::new(filter_specs(), str::parse::<GivenFilter>)
}

/// Accepts any text, and offers the filters and `all`.
pub fn filter_spec_or_all() -> impl TypedValueParser<Value = String> {
    let mut values = filter_specs();
    values.push(PossibleValue::new("all").help("Every filter"));
    Offering::new(values, |text: &str| {
        Ok::<_, std::convert::Infallible>(text.to_owned())
    })
}

fn filter_specs() -> Vec<PossibleValue> {
    let value = |descriptor: &'static Descriptor| {
        let spec = FilterSpec::with_defaults(descriptor).to_string();
        PossibleValue::new(spec).help(descriptor.title)
    };
    registry().iter().copied().map(value).collect()
}

/// A parser that offers some values to shell completions and accepts others, too.
#[derive(Clone)]
struct Offering<P> {
    values: Vec<PossibleValue>,
    parse: P,
}

impl<P> Offering<P> {
    fn new(values: Vec<PossibleValue>, parse: P) -> Self {
        Offering { values, parse }
    }
}

impl<T, E, P> TypedValueParser for Offering<P>
where
    T: Clone + Send + Sync + 'static,
    E: std::error::Error + Send + Sync + 'static,
    P: Fn(&str) -> Result<T, E> + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<T, clap::Error> {
        // The parser of a closure words its error as for every other option.
        TypedValueParser::parse_ref(&self.parse, command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values.iter().cloned()))
    }
}

/// Parses one byte: a character, or one of `\t`, `\0`, `\n`.
pub fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        b"\\0" => Ok(0),
        b"\\n" => Ok(b'\n'),
        _ => Err(format!("expected one byte, or \\t; found `{text}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_with_and_without_units() {
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
    fn times_with_units() {
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
    fn windows_are_whole_seconds() {
        for (text, seconds) in [
            ("30s", 30),
            ("90m", 5400),
            ("12h", 43_200),
            ("7d", 604_800),
            ("1d12h", 129_600),
            ("7d14h", 655_200),
            ("7 d 14 h", 655_200),
            ("1 h 30 min", 5400),
            ("1d1s", 86_401),
        ] {
            assert_eq!(window(text), Ok(seconds), "{text}");
        }
        for seconds in [1, 59, 5400, 86_401, 655_200, 694_861] {
            assert_eq!(window(&dedupstore_view::span(seconds)), Ok(seconds));
        }
        for text in [
            "",
            "0s",
            "7",
            "500ms",
            "1.5s",
            "-1d",
            "1 week",
            "12h1d",
            "1d1d",
            "1d12",
            "d",
            "1d-2h",
            "99999999999d",
        ] {
            assert!(window(text).is_err(), "{text}");
        }
    }

    #[test]
    fn moments_are_absolute_or_relative() {
        for (text, expected) in [
            ("1772368496", Moment::UnixSeconds(1_772_368_496)),
            ("2026-03-01T12:34:56Z", Moment::UnixSeconds(1_772_368_496)),
            (
                "2026-03-01 13:34:56+01:00",
                Moment::UnixSeconds(1_772_368_496),
            ),
            ("+7d", Moment::Later(604_800)),
            ("+1d12h", Moment::Later(129_600)),
            ("+7 d 14 h", Moment::Later(655_200)),
        ] {
            assert_eq!(moment(text), Ok(expected), "{text}");
        }
        for text in ["", "tomorrow", "+", "-5", "-2h", "-7d", "7d"] {
            assert!(moment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durability_by_name_or_interval() {
        assert_eq!(durability("every"), Ok(Durability::Every));
        assert_eq!(durability("none"), Ok(Durability::None));
        assert_eq!(durability("1s"), Ok(Durability::default()));
        let half = Durability::Interval(Duration::from_millis(500));
        assert_eq!(durability("500ms"), Ok(half));
        for text in ["", "never", "0s", "1", "-1s"] {
            assert!(durability(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_and_percentages() {
        assert_eq!(share("0.001"), Ok(0.001));
        assert_eq!(share("0.5%"), Ok(0.005));
        assert_eq!(share("1e-6"), Ok(1e-6));
        for text in ["", "0", "1", "-0.1", "nan", "100%", "x"] {
            assert!(share(text).is_err(), "{text}");
        }
        assert_eq!(limit("1%"), Ok(0.01));
        assert_eq!((limit("1"), limit("100%")), (Ok(1.0), Ok(1.0)));
        for text in ["", "0", "1.1", "-0.1", "nan", "101%"] {
            assert!(limit(text).is_err(), "{text}");
        }
    }
}
