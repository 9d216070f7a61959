//! The parameters of filters and their values.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Serialize;

/// A parameter of a filter.
#[derive(Debug, Serialize)]
pub struct Parameter {
    /// The name in a spec.
    pub name: &'static str,
    /// What the parameter sets, in one phrase.
    pub meaning: &'static str,
    /// The allowed values.
    #[serde(flatten)]
    pub kind: Kind,
}

impl Parameter {
    /// Returns a parameter that takes whole numbers.
    pub(super) const fn integer(
        name: &'static str,
        meaning: &'static str,
        range: RangeInclusive<u64>,
        default: u64,
    ) -> Self {
        let (min, max) = (*range.start(), *range.end());
        Parameter {
            name,
            meaning,
            kind: Kind::Integer { min, max, default },
        }
    }

    /// Returns a parameter that is a probability.
    pub(super) const fn probability(
        name: &'static str,
        meaning: &'static str,
        default_millionths: u64,
    ) -> Self {
        Parameter {
            name,
            meaning,
            kind: Kind::Decimal {
                min_millionths: 0,
                max_millionths: MILLION,
                default_millionths,
            },
        }
    }

    /// Returns a parameter that takes one of a few words; the first is the default.
    pub(super) const fn choice(
        name: &'static str,
        meaning: &'static str,
        options: &'static [&'static str],
    ) -> Self {
        Parameter {
            name,
            meaning,
            kind: Kind::Choice { options },
        }
    }
}

/// The allowed values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// A whole number.
    Integer {
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
        /// The value if none is given.
        default: u64,
    },
    /// A number with up to six decimals. It is stored as a whole number of millionths, so that
    /// rounding cannot differ between machines.
    Decimal {
        /// The smallest value, in millionths.
        min_millionths: u64,
        /// The largest value, in millionths.
        max_millionths: u64,
        /// The value if none is given, in millionths.
        default_millionths: u64,
    },
    /// One of a few words; the first is the default.
    Choice {
        /// The words.
        options: &'static [&'static str],
    },
}

impl Kind {
    /// Describes the allowed values: "a whole number from 1 to 32".
    pub fn allowed(&self) -> String {
        match self {
            Kind::Integer { min, max, .. } => format!("a whole number from {min} to {max}"),
            Kind::Decimal {
                min_millionths,
                max_millionths,
                ..
            } => format!(
                "a number from {} to {} with at most 6 decimals",
                Value::Decimal(*min_millionths),
                Value::Decimal(*max_millionths)
            ),
            Kind::Choice { options } => format!("one of {}", options.join(", ")),
        }
    }

    /// Returns the value if none is given.
    pub fn default_value(&self) -> Value {
        match *self {
            Kind::Integer { default, .. } => Value::Integer(default),
            Kind::Decimal {
                default_millionths, ..
            } => Value::Decimal(default_millionths),
            Kind::Choice { options } => Value::Choice(options.first().copied().unwrap_or("")),
        }
    }

    /// Parses a value; None if it is not allowed.
    pub(super) fn parse(&self, text: &str) -> Option<Value> {
        match *self {
            Kind::Integer { min, max, .. } => {
                let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                let number = text.parse().ok().filter(|_| plain)?;
                (min..=max)
                    .contains(&number)
                    .then_some(Value::Integer(number))
            }
            Kind::Decimal {
                min_millionths,
                max_millionths,
                ..
            } => {
                let number = parse_millionths(text)?;
                (min_millionths..=max_millionths)
                    .contains(&number)
                    .then_some(Value::Decimal(number))
            }
            Kind::Choice { options } => {
                let word = options.iter().find(|option| **option == text)?;
                Some(Value::Choice(word))
            }
        }
    }
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A value of [`Kind::Integer`].
    Integer(u64),
    /// A value of [`Kind::Decimal`], in millionths.
    Decimal(u64),
    /// A value of [`Kind::Choice`].
    Choice(&'static str),
}

const MILLION: u64 = 1_000_000;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(number) => write!(f, "{number}"),
            Value::Decimal(millionths) => {
                let (whole, rest) = (millionths / MILLION, millionths % MILLION);
                let decimals = format!("{rest:06}");
                match decimals.trim_end_matches('0') {
                    "" => write!(f, "{whole}"),
                    decimals => write!(f, "{whole}.{decimals}"),
                }
            }
            Value::Choice(word) => f.write_str(word),
        }
    }
}

/// Parses `0.05` as 50,000. Accepts digits, and at most one point with digits on both sides.
fn parse_millionths(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 6 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let rest: u64 = format!("{decimals:0<6}").parse().ok()?;
    whole.checked_mul(MILLION)?.checked_add(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_have_one_text_form() {
        for (text, millionths, shown) in [
            ("0.05", 50_000, "0.05"),
            ("0.050000", 50_000, "0.05"),
            ("1", MILLION, "1"),
            ("1.0", MILLION, "1"),
            ("0.000001", 1, "0.000001"),
            ("12.5", 12_500_000, "12.5"),
        ] {
            assert_eq!(parse_millionths(text), Some(millionths));
            assert_eq!(Value::Decimal(millionths).to_string(), shown);
        }
        for text in ["", ".", ".5", "5.", "0.0000001", "-1", "+1", "1e3", "1.2.3"] {
            assert_eq!(parse_millionths(text), None, "{text}");
        }
    }
}
