//! A block of lines that another thread can take over.

use std::ops::Range;

use super::buffer::{Part, PartRange};
use super::line::Line;

/// The complete lines of a [`LineBuffer`](super::LineBuffer), with the memory that holds them; see
/// [`LineBuffer::take_block`](super::LineBuffer::take_block).
#[derive(Debug, Default)]
pub struct LineBlock {
    pub(super) bytes: Vec<u8>,
    pub(super) parts: Vec<PartRange>,
    pub(super) last_line: Option<Range<usize>>,
    delimiter: u8,
}

impl LineBlock {
    /// Returns the parts of the input in order, as
    /// [`LineBuffer::next_part`](super::LineBuffer::next_part) does.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let part = |range: &PartRange| range.part(self.delimiter, &self.bytes);
        self.parts.iter().map(part)
    }

    /// Returns the last line of the input, if it has no delimiter and was
    /// [taken](super::LineBuffer::take_last_line).
    pub fn last_line(&self) -> Option<Line<'_>> {
        let content = &self.bytes[self.last_line.clone()?];
        Some(Line {
            content,
            with_delimiter: content,
        })
    }

    /// Returns the size of its memory in bytes.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    pub(super) fn clear(&mut self, delimiter: u8) {
        self.parts.clear();
        self.last_line = None;
        self.delimiter = delimiter;
    }
}
