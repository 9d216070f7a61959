//! A buffer that splits a stream of bytes into lines.

use memchr::{memchr_iter, memrchr};

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

/// A complete line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line<'a> {
    /// The line without its delimiter.
    pub content: &'a [u8],
    /// The line with its delimiter. The last line of an input may have none.
    pub with_delimiter: &'a [u8],
}

impl LineBuffer {
    /// Creates an empty buffer for lines that end in `delimiter`.
    pub fn new(delimiter: u8) -> Self {
        LineBuffer {
            delimiter,
            bytes: Vec::new(),
            start: 0,
            searched: 0,
            end: 0,
        }
    }

    /// Returns space for the next bytes. Call [`filled`](LineBuffer::filled) with the number of
    /// bytes written to it.
    pub fn space(&mut self) -> Result<&mut [u8], LineTooLong> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.searched -= self.start;
        self.end -= self.start;
        self.start = 0;
        if self.bytes.len() - self.end < BLOCK_BYTES {
            // The buffer doubles for a line that is longer than it, so the bytes of a long
            // line are copied at most twice on average.
            let wanted = (self.end + BLOCK_BYTES).max(if self.end > 0 { 2 * self.end } else { 0 });
            let more = wanted - self.bytes.len().min(wanted);
            self.bytes
                .try_reserve_exact(more)
                .map_err(|_| LineTooLong { bytes: self.end })?;
            self.bytes.resize(wanted.max(self.bytes.len()), 0);
        }
        Ok(&mut self.bytes[self.end..])
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

    /// Returns the bytes after the last delimiter; call it at the end of the input. None if
    /// there are none.
    pub fn last_line(&mut self) -> Option<Line<'_>> {
        let content = &self.bytes[self.start..self.end];
        self.start = self.end;
        self.searched = self.end;
        (!content.is_empty()).then_some(Line {
            content,
            with_delimiter: content,
        })
    }
}

/// An iterator over the lines of a block; see [`LineBuffer::complete_lines`] and
/// [`Lines::complete`].
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

    fn of(delimiter: u8, block: &'a [u8]) -> Self {
        Lines {
            block,
            line_start: 0,
            delimiters: memchr_iter(delimiter, block),
        }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        let end = self.delimiters.next()?;
        let start = self.line_start;
        self.line_start = end + 1;
        Some(Line {
            content: &self.block[start..end],
            with_delimiter: &self.block[start..=end],
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
