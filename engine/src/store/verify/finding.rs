//! What a look at every byte of a store brings up.

use std::fmt;

use super::error::Damage;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// No damage: what a crash leaves behind, and opening the store sees to.
    Information,
    /// Damage that loses nothing, because the other image or slot stands in. Opening the
    /// store works; repairing it restores the second leg to stand on.
    Covered,
    /// Damage at which opening the store stops.
    Refused,
}

impl Severity {
    /// For people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Severity::Information => "no damage",
            Severity::Covered => "nothing is lost: another part stands in",
            Severity::Refused => "the store does not open",
        }
    }
}

/// Something found in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// Where, what must be there, and what is.
    pub damage: Damage,
}

impl Finding {
    /// Whether something is broken.
    pub fn is_damage(&self) -> bool {
        self.severity > Severity::Information
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage {
            file,
            offset,
            expected,
            found,
        } = &self.damage;
        let severity = self.severity.in_words();
        write!(
            f,
            "{file}: byte {offset}: expected {expected}, found {found} ({severity})"
        )
    }
}

/// Findings, each place once.
#[derive(Debug, Default)]
pub struct Findings {
    found: Vec<Finding>,
}

impl Findings {
    /// Adds a finding. One at the same place is the same one, seen from elsewhere: the
    /// graver view counts.
    pub fn add(&mut self, severity: Severity, damage: Damage) {
        let place = |other: &Damage| (other.file, other.offset) == (damage.file, damage.offset);
        match self.found.iter_mut().find(|other| place(&other.damage)) {
            Some(same) if same.severity >= severity => {}
            Some(same) => *same = Finding { severity, damage },
            None => self.found.push(Finding { severity, damage }),
        }
    }

    /// Whether opening the store would stop at one.
    pub fn refuse(&self) -> bool {
        let refused = |finding: &Finding| finding.severity == Severity::Refused;
        self.found.iter().any(refused)
    }

    /// All of them, by file and place.
    pub fn into_sorted(mut self) -> Vec<Finding> {
        self.found
            .sort_by_key(|finding| (finding.damage.file as usize, finding.damage.offset));
        self.found
    }
}
