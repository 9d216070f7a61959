//! The records that belong to one capture of a page, which share a verdict.
//!
//! A crawler writes several records per page: often a request, a response and metadata, one after
//! the other, with the same target. If each were judged by its target, the second would always be a
//! repeat of the first.

use dedupstore::Verdict;

/// The records of a page that were read so far.
#[derive(Debug, Default)]
pub struct Capture {
    target: Vec<u8>,
    types: Vec<Vec<u8>>,
    /// None while only records without a key were read.
    pub verdict: Option<Verdict>,
    /// Those records, to be passed on with the record that has the key.
    pub held: Vec<u8>,
}

impl Capture {
    /// Returns whether a record belongs to the capture: it has the same target, and no record of its
    /// type was there before.
    pub fn has(&self, target: Option<&[u8]>, record_type: &[u8]) -> bool {
        target.is_some_and(|target| target == self.target)
            && !self.types.is_empty()
            && !self.types.iter().any(|it| it == record_type)
    }

    /// Begins another capture; returns the held records of this one.
    pub fn begin(&mut self, target: Option<&[u8]>) -> Vec<u8> {
        self.target.clear();
        self.target.extend_from_slice(target.unwrap_or_default());
        self.types.clear();
        self.verdict = None;
        std::mem::take(&mut self.held)
    }

    /// Adds a record.
    pub fn add(&mut self, record_type: &[u8]) {
        self.types.push(record_type.to_vec());
    }
}
