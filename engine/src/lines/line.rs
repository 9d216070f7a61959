//! Lines, and an iterator over those of a block.

use memchr::{memchr_iter, memrchr};

/// A complete line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line<'a> {
    /// The line without its delimiter.
    pub content: &'a [u8],
    /// The line with its delimiter. The last line of an input may have none.
    pub with_delimiter: &'a [u8],
}

/// An iterator over the lines of a block; see
/// [`LineBuffer::complete_lines`](super::LineBuffer::complete_lines) and [`Lines::complete`].
#[derive(Debug)]
pub struct Lines<'a> {
    block: &'a [u8],
    line_start: usize,
    delimiters: memchr::Memchr<'a>,
}

impl<'a> Lines<'a> {
    /// Returns the complete lines of `bytes`, without copying, and the bytes after them.
    pub fn complete(delimiter: u8, bytes: &'a [u8]) -> (Self, &'a [u8]) {
        let end = memrchr(delimiter, bytes).map_or(0, |last| last + 1);
        let (block, rest) = bytes.split_at(end);
        (Lines::of(delimiter, block), rest)
    }

    /// Returns the bytes of all lines.
    pub fn text(&self) -> &'a [u8] {
        self.block
    }

    /// Skips the next line; returns where it ends in [`text`](Lines::text), after its delimiter.
    #[inline]
    pub fn next_end(&mut self) -> Option<usize> {
        self.line_start = self.delimiters.next()? + 1;
        Some(self.line_start)
    }

    /// Returns the bytes of the lines that are left.
    pub fn rest(&self) -> &'a [u8] {
        &self.block[self.line_start..]
    }

    pub(super) fn of(delimiter: u8, block: &'a [u8]) -> Self {
        Lines {
            block,
            line_start: 0,
            delimiters: memchr_iter(delimiter, block),
        }
    }
}

impl Default for Lines<'_> {
    /// No lines.
    fn default() -> Self {
        Lines::of(b'\n', &[])
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        let start = self.line_start;
        let end = self.next_end()?;
        Some(Line {
            content: &self.block[start..end - 1],
            with_delimiter: &self.block[start..end],
        })
    }
}
