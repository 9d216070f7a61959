//! A buffer that splits a stream of bytes into lines.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

use super::block::LineBlock;
use super::line::{Line, Lines};

/// The least space offered to a read. Large enough that system calls are rare, small enough
/// that a block is still in the L2 cache when its lines are written.
const BLOCK_BYTES: usize = 256 << 10;

/// Collects bytes and returns the complete lines among them.
///
/// ```
/// use dedupstore::lines::LineBuffer;
///
/// let mut buffer = LineBuffer::new(b'\n');
/// let space = buffer.space()?;
/// space[..5].copy_from_slice(b"a\nb\nc");
/// buffer.filled(5);
/// let lines: Vec<_> = buffer.complete_lines().map(|line| line.content).collect();
/// assert_eq!(lines, [b"a", b"b"]);
/// assert_eq!(buffer.last_line().map(|line| line.content), Some(&b"c"[..]));
/// # Ok::<(), dedupstore::lines::LineTooLong>(())
/// ```
#[derive(Debug)]
pub struct LineBuffer {
    delimiter: u8,
    /// The length of the longest line that is returned whole, without its delimiter.
    max_line: usize,
    /// Whether the first bytes continue a longer line.
    inside_long_line: bool,
    bytes: Vec<u8>,
    /// End of the bytes that were returned as lines.
    start: usize,
    /// End of the bytes that are known to hold no further delimiter.
    searched: usize,
    /// End of the input received so far.
    end: usize,
}

/// The error for a line that does not fit in memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a line of more than {bytes} bytes does not fit in memory; check that the input is a log of lines"
)]
pub struct LineTooLong {
    /// The number of its bytes that were read.
    pub bytes: usize,
}

/// Part of the input; see [`LineBuffer::next_part`].
#[derive(Debug)]
pub enum Part<'a> {
    /// Complete lines, none of them too long.
    Lines(Lines<'a>),
    /// A piece of a line that is longer than the limit.
    LongLine(Piece<'a>),
}

/// A piece of a line that is longer than the limit of a [`LineBuffer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The bytes. The last piece of a line ends with its delimiter, if it has one.
    pub bytes: &'a [u8],
    /// Whether a line begins here.
    pub is_first: bool,
}

/// Where a [`Part`] is in the bytes of a buffer.
#[derive(Clone, Debug)]
pub(super) enum PartRange {
    Lines(Range<usize>),
    LongLine { range: Range<usize>, is_first: bool },
}

impl PartRange {
    pub(super) fn part<'a>(&self, delimiter: u8, bytes: &'a [u8]) -> Part<'a> {
        match self {
            PartRange::Lines(range) => Part::Lines(Lines::of(delimiter, &bytes[range.clone()])),
            PartRange::LongLine { range, is_first } => Part::LongLine(Piece {
                bytes: &bytes[range.clone()],
                is_first: *is_first,
            }),
        }
    }
}

impl LineBuffer {
    /// Creates an empty buffer for lines that end in `delimiter`.
    pub fn new(delimiter: u8) -> Self {
        LineBuffer::with_max_line(delimiter, usize::MAX)
    }

    /// Creates an empty buffer that returns lines of up to `max_line` bytes whole, and longer
    /// ones in pieces. It takes little more memory than the longest of these lines.
    pub fn with_max_line(delimiter: u8, max_line: usize) -> Self {
        LineBuffer {
            delimiter,
            max_line,
            inside_long_line: false,
            bytes: Vec::new(),
            start: 0,
            searched: 0,
            end: 0,
        }
    }

    /// Returns space for the next bytes. Call [`filled`](LineBuffer::filled) with the number of
    /// bytes written to it.
    pub fn space(&mut self) -> Result<&mut [u8], LineTooLong> {
        // A long line that is already at the front must not be copied again for each block.
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.searched -= self.start;
            self.end -= self.start;
            self.start = 0;
        }
        if self.bytes.len() - self.end < BLOCK_BYTES {
            // The buffer doubles for a line that is longer than it, so the bytes of a long
            // line are copied at most twice on average.
            let needed = self.end + BLOCK_BYTES;
            let most = self.max_line.saturating_add(BLOCK_BYTES).max(needed);
            let wanted = needed.max(self.end.saturating_mul(2)).min(most);
            let more = wanted - self.bytes.len().min(wanted);
            self.bytes
                .try_reserve_exact(more)
                .map_err(|_| LineTooLong { bytes: self.end })?;
            self.bytes.resize(wanted.max(self.bytes.len()), 0);
        }
        // Always the same size, so that blocks of a file do not depend on who takes them.
        Ok(&mut self.bytes[self.end..self.end + BLOCK_BYTES])
    }

    /// Adds the first `count` bytes of the [`space`](LineBuffer::space) to the input.
    ///
    /// # Panics
    /// If `count` exceeds the length of the space.
    pub fn filled(&mut self, count: usize) {
        assert!(self.end + count <= self.bytes.len());
        self.end += count;
    }

    /// Returns whether all input has been returned as lines.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Returns the complete lines that have not been returned yet.
    pub fn complete_lines(&mut self) -> Lines<'_> {
        let fresh = &self.bytes[self.searched..self.end];
        let complete = match memrchr(self.delimiter, fresh) {
            Some(last) => self.searched + last + 1,
            None => self.start,
        };
        let block = &self.bytes[self.start..complete];
        self.start = complete;
        self.searched = self.end;
        Lines::of(self.delimiter, block)
    }

    /// Returns the next part of the input: complete lines, or a piece of a line that is too
    /// long. Returns None if more input is needed.
    pub fn next_part(&mut self) -> Option<Part<'_>> {
        let range = self.next_range()?;
        Some(range.part(self.delimiter, &self.bytes))
    }

    /// Moves all parts of the input that are complete to a block, which gives its memory in
    /// return. Only the incomplete line after them is copied.
    pub fn take_block(&mut self, block: &mut LineBlock) {
        block.clear(self.delimiter);
        while let Some(range) = self.next_range() {
            block.parts.push(range);
        }
        if !block.parts.is_empty() {
            self.swap_bytes(block);
        }
    }

    /// Moves the bytes after the last delimiter to a block; call it at the end of the input.
    pub fn take_last_line(&mut self, block: &mut LineBlock) {
        block.clear(self.delimiter);
        let (start, end) = (self.start, self.end);
        self.last_line();
        if start < end {
            block.last_line = Some(start..end);
            self.swap_bytes(block);
        }
    }

    /// Exchanges memory with a block, and keeps the bytes that were not returned.
    fn swap_bytes(&mut self, block: &mut LineBlock) {
        std::mem::swap(&mut self.bytes, &mut block.bytes);
        let rest = &block.bytes[self.start..self.end];
        if self.bytes.len() < rest.len() {
            self.bytes.resize(rest.len(), 0);
        }
        self.bytes[..rest.len()].copy_from_slice(rest);
        self.searched -= self.start;
        self.end -= self.start;
        self.start = 0;
    }

    fn next_range(&mut self) -> Option<PartRange> {
        if self.inside_long_line {
            return self.continue_long_line();
        }
        let fresh = &self.bytes[self.searched..self.end];
        let Some(last) = memrchr(self.delimiter, fresh) else {
            self.searched = self.end;
            return match self.end - self.start > self.max_line {
                true => {
                    self.inside_long_line = true;
                    Some(self.take_piece(self.end, true))
                }
                false => None,
            };
        };
        let mut complete = self.searched + last + 1;
        // Lines are measured only if one of them can be too long.
        if complete - self.start - 1 > self.max_line {
            match self.first_long_line(complete) {
                Some((start, end)) if start == self.start => {
                    self.searched = end;
                    return Some(self.take_piece(end, true));
                }
                Some((start, _)) => complete = start,
                None => {}
            }
        }
        let start = std::mem::replace(&mut self.start, complete);
        self.searched = complete;
        Some(PartRange::Lines(start..complete))
    }

    /// Returns the first line that is too long among the complete lines that end at `complete`.
    fn first_long_line(&self, complete: usize) -> Option<(usize, usize)> {
        let mut start = self.start;
        for at in memchr_iter(self.delimiter, &self.bytes[self.start..complete]) {
            let end = self.start + at + 1;
            if end - start - 1 > self.max_line {
                return Some((start, end));
            }
            start = end;
        }
        None
    }

    fn continue_long_line(&mut self) -> Option<PartRange> {
        let rest = &self.bytes[self.start..self.end];
        if rest.is_empty() {
            return None;
        }
        let end = match memchr(self.delimiter, rest) {
            Some(at) => {
                self.inside_long_line = false;
                self.start + at + 1
            }
            None => self.end,
        };
        self.searched = end;
        Some(self.take_piece(end, false))
    }

    fn take_piece(&mut self, end: usize, is_first: bool) -> PartRange {
        let start = std::mem::replace(&mut self.start, end);
        PartRange::LongLine {
            range: start..end,
            is_first,
        }
    }

    /// Forgets all input that has not been returned: the input has failed in the middle of a
    /// line.
    pub fn clear(&mut self) {
        (self.start, self.searched, self.end) = (0, 0, 0);
        self.inside_long_line = false;
    }

    /// Returns the bytes after the last delimiter; call it at the end of the input. None if
    /// there are none.
    pub fn last_line(&mut self) -> Option<Line<'_>> {
        let content = &self.bytes[self.start..self.end];
        self.start = self.end;
        self.searched = self.end;
        self.inside_long_line = false;
        (!content.is_empty()).then_some(Line {
            content,
            with_delimiter: content,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split_in_pieces(input: &[u8], piece: usize) -> Vec<Vec<u8>> {
        let mut buffer = LineBuffer::new(b'\n');
        let mut lines = Vec::new();
        for chunk in input.chunks(piece) {
            buffer.space().expect("small")[..chunk.len()].copy_from_slice(chunk);
            buffer.filled(chunk.len());
            lines.extend(
                buffer
                    .complete_lines()
                    .map(|line| line.with_delimiter.to_vec()),
            );
        }
        lines.extend(buffer.last_line().map(|line| line.with_delimiter.to_vec()));
        lines
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_the_input_is_chunked(
            input in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200),
            piece in 1usize..50,
        ) {
            let expected: Vec<Vec<u8>> =
                input.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
            let (whole, rest) = Lines::complete(b'\n', &input);
            let mut in_place: Vec<Vec<u8>> = whole.map(|line| line.with_delimiter.to_vec()).collect();
            in_place.extend((!rest.is_empty()).then(|| rest.to_vec()));
            prop_assert_eq!(&in_place, &expected);
            prop_assert_eq!(split_in_pieces(&input, piece), expected);
        }
    }

    /// Adds the lines of a part, each with whether it came whole.
    fn add_part(lines: &mut Vec<(Vec<u8>, bool)>, part: Part<'_>) {
        match part {
            Part::Lines(whole) => {
                lines.extend(whole.map(|line| (line.with_delimiter.to_vec(), true)));
            }
            Part::LongLine(piece) if piece.is_first => lines.push((piece.bytes.to_vec(), false)),
            Part::LongLine(piece) => {
                let (line, whole) = lines.last_mut().expect("its first piece");
                assert!(!*whole && !line.ends_with(b"\n"));
                line.extend_from_slice(piece.bytes);
            }
        }
    }

    /// Returns the lines, each with whether it came whole.
    fn split_with_limit(input: &[u8], piece: usize, max_line: usize) -> Vec<(Vec<u8>, bool)> {
        let mut buffer = LineBuffer::with_max_line(b'\n', max_line);
        let mut lines: Vec<(Vec<u8>, bool)> = Vec::new();
        for chunk in input.chunks(piece) {
            buffer.space().expect("small")[..chunk.len()].copy_from_slice(chunk);
            buffer.filled(chunk.len());
            while let Some(part) = buffer.next_part() {
                add_part(&mut lines, part);
            }
        }
        let last = buffer.last_line();
        lines.extend(last.map(|line| (line.with_delimiter.to_vec(), true)));
        lines
    }

    proptest! {
        #[test]
        fn only_lines_above_the_limit_come_in_pieces(
            input in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'x')], 0..200),
            piece in 1usize..50,
            max_line in 0usize..12,
        ) {
            let expected: Vec<(Vec<u8>, bool)> = input
                .split_inclusive(|&b| b == b'\n')
                .map(|line| {
                    let length = line.strip_suffix(b"\n").unwrap_or(line).len();
                    (line.to_vec(), length <= max_line)
                })
                .collect();
            prop_assert_eq!(&split_with_limit(&input, piece, max_line), &expected);
            prop_assert_eq!(&split_in_blocks(&input, piece, max_line), &expected);
        }
    }

    /// Like `split_with_limit`, by blocks.
    fn split_in_blocks(input: &[u8], piece: usize, max_line: usize) -> Vec<(Vec<u8>, bool)> {
        let mut buffer = LineBuffer::with_max_line(b'\n', max_line);
        // Two blocks take turns, as if another thread still used one.
        let mut blocks = [LineBlock::default(), LineBlock::default()];
        let mut lines: Vec<(Vec<u8>, bool)> = Vec::new();
        for (number, chunk) in input.chunks(piece).enumerate() {
            buffer.space().expect("small")[..chunk.len()].copy_from_slice(chunk);
            buffer.filled(chunk.len());
            let block = &mut blocks[number % 2];
            buffer.take_block(block);
            assert!(block.last_line().is_none());
            for part in block.parts() {
                add_part(&mut lines, part);
            }
        }
        let [block, _] = &mut blocks;
        buffer.take_last_line(block);
        assert_eq!(block.parts().count(), 0);
        let last = block.last_line();
        lines.extend(last.map(|line| (line.with_delimiter.to_vec(), true)));
        assert!(buffer.is_empty());
        lines
    }

    #[test]
    fn a_line_above_the_limit_does_not_grow_the_buffer() {
        let max_line = 4 * BLOCK_BYTES;
        let mut buffer = LineBuffer::with_max_line(b'\n', max_line);
        let mut returned = 0;
        for _ in 0..100 {
            let space = buffer.space().expect("small");
            let length = space.len();
            space.fill(b'a');
            buffer.filled(length);
            while let Some(Part::LongLine(piece)) = buffer.next_part() {
                returned += piece.bytes.len();
            }
        }
        assert!(returned > 80 * BLOCK_BYTES, "{returned}");
        let limit = max_line + 2 * BLOCK_BYTES;
        assert!(
            buffer.bytes.capacity() <= limit,
            "{}",
            buffer.bytes.capacity()
        );
    }

    #[test]
    fn a_line_longer_than_a_block_is_returned_whole() {
        let mut input = vec![b'x'; 3 * BLOCK_BYTES + 17];
        input.push(b'\n');
        input.extend_from_slice(b"short");
        let lines = split_in_pieces(&input, 100_000);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].len(), 3 * BLOCK_BYTES + 18);
    }

    #[test]
    fn short_lines_do_not_grow_the_buffer() {
        let mut buffer = LineBuffer::new(b'\n');
        for _ in 0..100 {
            let space = buffer.space().expect("small");
            let length = space.len();
            space.fill(b'a');
            space[length / 2] = b'\n';
            buffer.filled(length);
            assert_eq!(buffer.complete_lines().count(), 1);
        }
        assert!(
            buffer.bytes.len() <= 4 * BLOCK_BYTES,
            "{}",
            buffer.bytes.len()
        );
    }
}
