//! Findings of a check of a store.

use std::fmt;

use crate::store::error::Damage;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// No damage: what a crash leaves behind. Opening the store cleans it up.
    Information,
    /// Damage that loses nothing, because the other image or slot holds the same data. The
    /// store opens; a repair restores the redundancy.
    Covered,
    /// Damage that prevents opening the store.
    Refused,
}

impl Severity {
    /// Returns the severity in words, for people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Severity::Information => "no damage",
            Severity::Covered => "nothing is lost: another file holds the same data",
            Severity::Refused => "the store cannot be opened",
        }
    }
}

/// Something found in a file of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How serious it is.
    pub severity: Severity,
    /// The place, what was expected there, and what was found.
    pub damage: Damage,
}

impl Finding {
    /// Returns whether the finding is damage, not only information.
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

/// A list of findings with at most one per place.
#[derive(Debug, Default)]
pub struct Findings {
    found: Vec<Finding>,
}

impl Findings {
    /// Adds a finding. If there is one at the same place, keeps the more serious one.
    pub fn add(&mut self, severity: Severity, damage: Damage) {
        let place = |other: &Damage| (other.file, other.offset) == (damage.file, damage.offset);
        match self.found.iter_mut().find(|other| place(&other.damage)) {
            Some(same) if same.severity >= severity => {}
            Some(same) => *same = Finding { severity, damage },
            None => self.found.push(Finding { severity, damage }),
        }
    }

    /// Returns the number of findings.
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// Returns whether a finding prevents opening the store.
    pub fn prevent_opening(&self) -> bool {
        let refused = |finding: &Finding| finding.severity == Severity::Refused;
        self.found.iter().any(refused)
    }

    /// Returns the findings ordered by file and offset.
    pub fn into_sorted(mut self) -> Vec<Finding> {
        self.found
            .sort_by_key(|finding| (finding.damage.file as usize, finding.damage.offset));
        self.found
    }
}
