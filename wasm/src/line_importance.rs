//! The importance of lines, for weighted errors and for filters that use it.
//!
//! Without the feature `all-filters`, no line has one.

use dedupstore::lines::KeyRule;
#[cfg(feature = "all-filters")]
use dedupstore::lines::{ImportanceReader, LEAST_IMPORTANCE};

/// Finds the importance of successive lines.
pub struct LineImportance {
    #[cfg(feature = "all-filters")]
    reader: Option<ImportanceReader>,
    without: u64,
}

#[cfg(feature = "all-filters")]
impl LineImportance {
    pub fn of(rule: &KeyRule) -> Self {
        LineImportance {
            reader: rule.importance.clone().map(ImportanceReader::new),
            without: 0,
        }
    }

    /// Whether lines have an importance.
    pub fn is_known(&self) -> bool {
        self.reader.is_some()
    }

    /// Returns the importance of a line that has a key: 0 if lines have none, and the least if it
    /// cannot be read, as on the command line.
    #[inline]
    pub fn read(&mut self, line: &[u8]) -> u16 {
        let Some(reader) = &mut self.reader else {
            return 0;
        };
        reader.importance(line).unwrap_or_else(|| {
            self.without += 1;
            LEAST_IMPORTANCE
        })
    }
}

#[cfg(not(feature = "all-filters"))]
impl LineImportance {
    pub fn of(_: &KeyRule) -> Self {
        LineImportance { without: 0 }
    }

    pub fn is_known(&self) -> bool {
        false
    }

    #[inline]
    pub fn read(&mut self, _: &[u8]) -> u16 {
        0
    }
}

impl LineImportance {
    /// Lines with a key whose importance could not be read.
    pub fn lines_without(&self) -> u64 {
        self.without
    }
}
