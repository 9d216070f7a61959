//! The one text form of a filter: `name:param=value,param=value`.
//!
//! It is the same on the command line, on the page, in documents, stores and tests.
//! What is left out takes its default; what is printed leaves out nothing.

use std::fmt;
use std::str::FromStr;

use super::any::registry;
use super::descriptor::{Descriptor, Kind, Parameter};

/// A filter of the registry with a value for each of its parameters.
#[derive(Clone, Debug)]
pub struct FilterSpec {
    descriptor: &'static Descriptor,
    values: Vec<Value>,
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Of a [`Kind::Integer`].
    Integer(u64),
    /// Of a [`Kind::Decimal`], in millionths.
    Decimal(u64),
    /// Of a [`Kind::Choice`].
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

impl FilterSpec {
    /// A filter with every parameter at its default.
    pub fn with_defaults(descriptor: &'static Descriptor) -> Self {
        let parameters = descriptor.parameters.iter();
        let values = parameters.map(|p| p.kind.default_value()).collect();
        FilterSpec { descriptor, values }
    }

    /// The filter's entry in the registry.
    pub fn descriptor(&self) -> &'static Descriptor {
        self.descriptor
    }

    /// Each parameter with its value, in the order of the text form.
    pub fn values(&self) -> impl Iterator<Item = (&'static Parameter, Value)> + '_ {
        self.descriptor
            .parameters
            .iter()
            .zip(self.values.iter().copied())
    }

    /// The same filter with one parameter changed.
    pub fn with(&self, parameter: &str, value: &str) -> Result<Self, SpecError> {
        let mut changed = self.clone();
        changed.assign(parameter, value)?;
        Ok(changed)
    }

    /// The number a filter finds under one of its own integer parameters.
    ///
    /// A filter asks only for what its descriptor lists, so zero is never seen.
    pub(super) fn integer(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Integer(number)) => number,
            _ => 0,
        }
    }

    /// The number of millionths under one of a filter's own decimal parameters.
    pub(super) fn millionths(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Decimal(millionths)) => millionths,
            _ => 0,
        }
    }

    pub(super) fn is_choice(&self, name: &str, word: &str) -> bool {
        matches!(self.value(name), Some(Value::Choice(chosen)) if chosen == word)
    }

    fn value(&self, name: &str) -> Option<Value> {
        let (place, _) = self.descriptor.parameter(name)?;
        self.values.get(place).copied()
    }

    fn assign(&mut self, name: &str, text: &str) -> Result<(), SpecError> {
        let Some((place, parameter)) = self.descriptor.parameter(name) else {
            return Err(SpecError::UnknownParameter {
                filter: self.descriptor.name,
                found: name.to_owned(),
                allowed: names(self.descriptor.parameters.iter().map(|p| p.name)),
            });
        };
        self.values[place] = parse_value(parameter, text).ok_or_else(|| SpecError::BadValue {
            filter: self.descriptor.name,
            parameter: parameter.name,
            found: text.to_owned(),
            allowed: parameter.kind.allowed(),
        })?;
        Ok(())
    }
}

impl PartialEq for FilterSpec {
    fn eq(&self, other: &Self) -> bool {
        self.descriptor.name == other.descriptor.name && self.values == other.values
    }
}

impl Eq for FilterSpec {}

impl fmt::Display for FilterSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.descriptor.name)?;
        for (i, (parameter, value)) in self.values().enumerate() {
            let separator = if i == 0 { ':' } else { ',' };
            write!(f, "{separator}{}={value}", parameter.name)?;
        }
        Ok(())
    }
}

impl FromStr for FilterSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        let Some(descriptor) = registry().iter().copied().find(|d| d.name == name) else {
            return Err(SpecError::unknown_filter(name));
        };
        let mut spec = FilterSpec::with_defaults(descriptor);
        let mut given: Vec<&str> = Vec::new();
        for part in rest.into_iter().flat_map(|rest| rest.split(',')) {
            let Some((parameter, value)) = part.split_once('=') else {
                return Err(SpecError::NotAnAssignment {
                    filter: descriptor.name,
                    found: part.to_owned(),
                    allowed: names(descriptor.parameters.iter().map(|p| p.name)),
                });
            };
            if given.contains(&parameter) {
                return Err(SpecError::GivenTwice {
                    filter: descriptor.name,
                    parameter: parameter.to_owned(),
                });
            }
            spec.assign(parameter, value)?;
            given.push(parameter);
        }
        Ok(spec)
    }
}

/// A text that is not a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No filter has this name.
    #[error("there is no filter `{found}`{}; there are: {allowed}", meant(.suggestion))]
    UnknownFilter {
        /// The name given.
        found: String,
        /// The name that may have been meant.
        suggestion: Option<&'static str>,
        /// The names there are.
        allowed: String,
    },
    /// The filter has no such parameter.
    #[error("{filter} has no parameter `{found}`; it has: {allowed}")]
    UnknownParameter {
        /// The filter.
        filter: &'static str,
        /// The name given.
        found: String,
        /// The names there are.
        allowed: String,
    },
    /// A part without an equals sign.
    #[error("{filter}: expected `parameter=value`, found `{found}`; the parameters are: {allowed}")]
    NotAnAssignment {
        /// The filter.
        filter: &'static str,
        /// The part.
        found: String,
        /// The names there are.
        allowed: String,
    },
    /// A parameter named twice.
    #[error("{filter}: `{parameter}` is given twice")]
    GivenTwice {
        /// The filter.
        filter: &'static str,
        /// The parameter.
        parameter: String,
    },
    /// A value outside what the parameter takes.
    #[error("{filter}: `{parameter}` must be {allowed}; found `{found}`")]
    BadValue {
        /// The filter.
        filter: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The value given.
        found: String,
        /// What is allowed, in words.
        allowed: String,
    },
}

impl SpecError {
    fn unknown_filter(found: &str) -> Self {
        let known = registry().iter().map(|d| d.name);
        let nearest = known
            .clone()
            .min_by_key(|name| strsim::damerau_levenshtein(found, name));
        SpecError::UnknownFilter {
            found: found.to_owned(),
            suggestion: nearest
                .filter(|name| strsim::damerau_levenshtein(found, name) <= 1 + name.len() / 4),
            allowed: names(known),
        }
    }
}

fn meant(suggestion: &Option<&'static str>) -> String {
    match suggestion {
        Some(name) => format!(" (did you mean `{name}`?)"),
        None => String::new(),
    }
}

fn names(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn parse_value(parameter: &Parameter, text: &str) -> Option<Value> {
    match parameter.kind {
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

/// `0.05` as 50,000. Digits, and at most one point with digits on both sides.
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

    fn error_of(text: &str) -> String {
        text.parse::<FilterSpec>().expect_err(text).to_string()
    }

    #[test]
    fn every_filter_round_trips_through_its_text() {
        for descriptor in registry() {
            let spec = FilterSpec::with_defaults(descriptor);
            assert_eq!(spec.to_string().parse(), Ok(spec.clone()));
            assert_eq!(descriptor.name.parse(), Ok(spec));
        }
    }

    #[test]
    fn what_is_left_out_takes_its_default() {
        let spec: FilterSpec = "stable:max=3".parse().expect("a filter");
        assert_eq!(spec.to_string(), "stable:k=2,p=4,max=3");
    }

    #[test]
    fn order_does_not_matter() {
        let a: FilterSpec = "stable:p=9,k=3".parse().expect("a filter");
        let b: FilterSpec = "stable:k=3,p=9".parse().expect("a filter");
        assert_eq!(a, b);
    }

    #[test]
    fn decimals_are_exact_and_have_one_form() {
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

    #[test]
    fn errors_name_the_part_and_what_is_allowed() {
        assert!(error_of("blom").contains("did you mean `bloom`?"));
        assert!(error_of("nonsense:k=x").starts_with("there is no filter `nonsense`; there are: "));
        assert!(error_of("").starts_with("there is no filter ``; there are: "));
        assert_eq!(
            error_of("stable:q=1"),
            "stable has no parameter `q`; it has: k, p, max"
        );
        assert_eq!(
            error_of("stable:k=x"),
            "stable: `k` must be a whole number from 1 to 32; found `x`"
        );
        assert_eq!(
            error_of("stable:k=0"),
            "stable: `k` must be a whole number from 1 to 32; found `0`"
        );
        assert!(error_of("stable:k=+2").contains("found `+2`"));
        assert!(error_of("stable:k=99999999999999999999").contains("a whole number"));
        assert_eq!(
            error_of("stable:k"),
            "stable: expected `parameter=value`, found `k`; the parameters are: k, p, max"
        );
        assert!(error_of("stable:").contains("found ``"));
        assert_eq!(error_of("stable:k=1,k=2"), "stable: `k` is given twice");
        assert_eq!(
            error_of("bloom:layout=heap"),
            "bloom: `layout` must be one of shared, partitioned; found `heap`"
        );
    }
}
