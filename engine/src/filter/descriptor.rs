//! What is known about a filter, as data. The command line's help, the page's form and the
//! documents are generated from it.

use serde::Serialize;

use super::citation::Citation;
use super::drawing::Drawing;
use super::parameter::Parameter;

/// An entry of the registry.
#[derive(Debug, Serialize)]
pub struct Descriptor {
    /// The name in a spec.
    pub name: &'static str,
    /// The name in a sentence.
    pub title: &'static str,
    /// How the filter works, in one sentence.
    pub summary: &'static str,
    /// What the filter guarantees, in one sentence.
    pub promise: &'static str,
    /// When to choose it, or not to, in one sentence.
    pub choose_when: &'static str,
    /// Which errors it can make.
    #[serde(rename = "errs")]
    pub errors: PossibleErrors,
    /// What an observation must carry besides the fingerprint.
    pub needs: Needs,
    /// Who designed it.
    #[serde(skip)]
    pub origin: Origin,
    /// The paper that describes it, or that it builds on.
    pub source: Citation,
    /// Why the adviser recommends it: the end of a sentence that begins with the memory per
    /// key, such as "with 8 bits for each distinct key, …".
    #[serde(skip)]
    pub advised_because: &'static str,
    /// How a new key changes a few cells.
    pub drawing: Drawing,
    /// The parameters, in the order of the text form.
    pub parameters: &'static [Parameter],
}

impl Descriptor {
    /// The reason for filters that have no reason of their own.
    pub(super) const FEWEST_ERRORS: &'static str = "its errors cost least here";

    /// Returns the parameter with this name, and its index.
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
pub enum PossibleErrors {
    /// A new key may be reported as Seen; a repeat is always reported as Seen.
    #[serde(rename = "drops-new")]
    FalsePositives,
    /// A repeat may be reported as New; a new key is always reported as New.
    #[serde(rename = "misses-repeats")]
    FalseNegatives,
    /// Both errors are possible.
    Both,
}

impl PossibleErrors {
    /// Describes the errors; follows "it".
    pub const fn in_words(self) -> &'static str {
        match self {
            PossibleErrors::FalsePositives => {
                "can have false positives (a new key reported as Seen) but no false negatives"
            }
            PossibleErrors::FalseNegatives => {
                "can have false negatives (a repeat reported as New) but no false positives"
            }
            PossibleErrors::Both => "can have false positives and false negatives",
        }
    }
}

/// What an observation must carry besides the fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// A time.
    pub tick: bool,
    /// A weight.
    pub importance: bool,
}

impl Needs {
    /// Nothing: the fingerprint is enough.
    pub const NONE: Needs = Needs {
        tick: false,
        importance: false,
    };
}

/// Who designed a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// One of the three papers on duplicates in streams whose tables this project reproduces.
    StreamPaper,
    /// Other published work.
    Literature,
    /// This project. The source is the work it builds on.
    Ours,
}
