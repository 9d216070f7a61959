//! The importance of a log's lines, for `simulate` and the adviser.

use dedupstore::lines::{ImportanceReader, KeyRule, LEAST_IMPORTANCE};

use crate::missing_importance;

/// Finds the importance of a log's lines, where the options say.
pub struct LogImportance {
    reader: ImportanceReader,
    keys: u64,
    without: u64,
    first_without: u64,
}

impl LogImportance {
    /// Returns None if lines have no importance.
    pub fn new(rule: &KeyRule) -> Option<Self> {
        Some(LogImportance {
            reader: ImportanceReader::new(rule.importance.clone()?),
            keys: 0,
            without: 0,
            first_without: 0,
        })
    }

    /// Returns the importance of a line that has a key.
    pub fn of(&mut self, line: &[u8]) -> u16 {
        self.keys += 1;
        self.reader.importance(line).unwrap_or_else(|| {
            self.without += 1;
            if self.without == 1 {
                self.first_without = self.keys;
            }
            LEAST_IMPORTANCE
        })
    }

    /// Returns a message about lines without a readable importance.
    pub fn message(&self, rule: &KeyRule) -> Option<String> {
        missing_importance::message(rule, self.without, self.first_without, self.keys)
    }
}
