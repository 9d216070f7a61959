//! Where the time or the importance of a line is, and how it is written.

use std::fmt;
use std::str::FromStr;

use super::fields::FieldList;
use super::json_path::JsonPath;
use super::key_rule::{KeyRuleError, escaped};

/// How a value of a line, besides its key, is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueRule<F> {
    /// Which part of a line is the value.
    pub selector: ValueSelector,
    /// How it is written.
    pub format: F,
}

/// Which part of a line is a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueSelector {
    /// A field. A time with a blank in it may continue in the next field, as in
    /// `[10/Oct/2000:13:55:36 -0700]`, if blanks separate fields.
    Field {
        /// The index of the field, from 0.
        index: usize,
        /// The byte that separates fields. None: runs of blanks and tabs separate them.
        delimiter: Option<u8>,
    },
    /// A value of a JSON line: a string, or a number, which may have an exponent. An array is not a
    /// value, whatever is in it.
    Json(JsonPath),
}

/// The parts of a [`ValueRule`] that a caller asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueOptions<F> {
    /// Which part of a line is the value; None: as a store records. A field without a delimiter has
    /// that of a store.
    pub selector: Option<ValueSelector>,
    /// How it is written; None: as a store records, or the default.
    pub format: Option<F>,
}

impl<F: Copy + Default> ValueOptions<F> {
    /// Returns the rule, with what is not asked for taken from a store's rule or the defaults. None
    /// if nothing says which part of a line is the value.
    pub(super) fn over(&self, stored: Option<&ValueRule<F>>) -> Option<ValueRule<F>> {
        let of_store = stored.map(|stored| &stored.selector);
        let mut selector = self.selector.as_ref().or(of_store)?.clone();
        if let (
            ValueSelector::Field {
                delimiter: requested @ None,
                ..
            },
            Some(ValueRule {
                selector: ValueSelector::Field { delimiter, .. },
                ..
            }),
        ) = (&mut selector, stored)
        {
            *requested = *delimiter;
        }
        let format = self.format.or(stored.map(|stored| stored.format));
        Some(ValueRule {
            selector,
            format: format.unwrap_or_default(),
        })
    }
}

impl<F> From<ValueRule<F>> for ValueOptions<F> {
    /// Asks for every part of the rule.
    fn from(rule: ValueRule<F>) -> Self {
        ValueOptions {
            selector: Some(rule.selector),
            format: Some(rule.format),
        }
    }
}

impl<F> ValueRule<F>
where
    F: Default + PartialEq + fmt::Display + FromStr,
    KeyRuleError: From<F::Err>,
{
    /// Writes the parts of a key rule's text form, whose names begin with `name`.
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        match &self.selector {
            ValueSelector::Field { index, delimiter } => {
                write!(f, ",{name}={}", index + 1)?;
                if let Some(delimiter) = delimiter {
                    write!(f, ",{name}-delimiter={}", escaped(&[*delimiter]))?;
                }
            }
            ValueSelector::Json(path) => {
                write!(f, ",{name}-json={}", escaped(path.to_string().as_bytes()))?;
            }
        }
        match self.format == F::default() {
            true => Ok(()),
            false => write!(f, ",{name}-format={}", self.format),
        }
    }

    /// Adds a part of a key rule's text form to a rule; `suffix` is what follows the name of the
    /// value. Returns None if there is no such part, or not yet.
    pub(super) fn parse(
        rule: &mut Option<Self>,
        suffix: &str,
        value: &[u8],
    ) -> Result<Option<()>, KeyRuleError> {
        let text = str::from_utf8(value);
        match (suffix, rule, text) {
            ("-delimiter", Some(rule), _) => match (&mut rule.selector, value) {
                (ValueSelector::Field { delimiter, .. }, &[byte]) => *delimiter = Some(byte),
                _ => return Ok(None),
            },
            ("-format", Some(rule), Ok(text)) => rule.format = text.parse()?,
            ("", rule @ None, Ok(text)) => {
                let fields: FieldList = text.parse().map_err(KeyRuleError::Fields)?;
                let Some(index) = fields.single() else {
                    return Ok(None);
                };
                let delimiter = None;
                *rule = Some(Self::of(ValueSelector::Field { index, delimiter }));
            }
            ("-json", rule @ None, Ok(text)) => {
                let path: JsonPath = text.parse().map_err(KeyRuleError::Json)?;
                *rule = Some(Self::of(ValueSelector::Json(path)));
            }
            _ => return Ok(None),
        }
        Ok(Some(()))
    }

    fn of(selector: ValueSelector) -> Self {
        ValueRule {
            selector,
            format: F::default(),
        }
    }
}
