//! What is known of a filter, as data. The command line's help, the page's form and
//! the documents are made from it and repeat none of it.

use serde::Serialize;

use super::drawing::Drawing;
use super::spec::Value;

/// An entry of the registry.
#[derive(Debug, Serialize)]
pub struct Descriptor {
    /// The name in a spec.
    pub name: &'static str,
    /// The name in a sentence.
    pub title: &'static str,
    /// One sentence: how it works.
    pub summary: &'static str,
    /// One sentence: what it promises.
    pub promise: &'static str,
    /// One sentence: when to choose it, or not to.
    pub choose_when: &'static str,
    /// Which way it can err.
    pub errs: Errs,
    /// What an observation must carry beside the fingerprint.
    pub needs: Needs,
    /// Where it comes from.
    pub source: Citation,
    /// How it keeps a key.
    pub drawing: Drawing,
    /// Its parameters, in the order of the text form.
    pub parameters: &'static [Parameter],
}

impl Descriptor {
    /// The parameter of a name, with its place.
    pub fn parameter(&self, name: &str) -> Option<(usize, &'static Parameter)> {
        self.parameters
            .iter()
            .enumerate()
            .find(|(_, parameter)| parameter.name == name)
    }
}

/// The errors a filter can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Errs {
    /// A new key may be taken for a repeat; a repeat is always noticed.
    DropsNew,
    /// A repeat may be taken for new; a new key is never dropped.
    MissesRepeats,
    /// Either may happen.
    Both,
}

impl Errs {
    /// The error in words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Errs::DropsNew => "may drop new keys, never misses a repeat",
            Errs::MissesRepeats => "may miss repeats, never drops a new key",
            Errs::Both => "may drop new keys and may miss repeats",
        }
    }
}

/// What an observation must carry for a filter to work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// A time.
    pub tick: bool,
    /// A weight.
    pub importance: bool,
}

/// A published source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// Who.
    pub authors: &'static str,
    /// What.
    pub title: &'static str,
    /// When.
    pub year: u16,
}

/// A parameter of a filter.
#[derive(Debug, Serialize)]
pub struct Parameter {
    /// The name in a spec.
    pub name: &'static str,
    /// One phrase: what it sets.
    pub meaning: &'static str,
    /// What it may be.
    #[serde(flatten)]
    pub kind: Kind,
}

/// The values a parameter may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// A whole number.
    Integer {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
        /// When none is given.
        default: u64,
    },
    /// A number with up to six decimals, carried as a whole number of millionths: no
    /// rounding can make two machines differ.
    Decimal {
        /// The least.
        min_millionths: u64,
        /// The most.
        max_millionths: u64,
        /// When none is given.
        default_millionths: u64,
    },
    /// One of a few words; the first is the default.
    Choice {
        /// The words.
        options: &'static [&'static str],
    },
}

impl Kind {
    /// What is allowed, in words.
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

    /// The value when none is given.
    pub fn default_value(&self) -> Value {
        match *self {
            Kind::Integer { default, .. } => Value::Integer(default),
            Kind::Decimal {
                default_millionths, ..
            } => Value::Decimal(default_millionths),
            Kind::Choice { options } => Value::Choice(options.first().copied().unwrap_or("")),
        }
    }
}
