//! Standard output with one large buffer.

use crate::error::Failure;
use crate::inherited;
use crate::interruptible_file::InterruptibleFile;
use crate::torn_output;

const BUFFER_BYTES: usize = 128 << 10;

/// Standard output.
pub struct Output {
    buffer: Vec<u8>,
    file: InterruptibleFile,
}

impl Output {
    /// Opens standard output directly: the standard library's handle is line-buffered, so it
    /// would search every block for its last newline and copy the rest.
    pub fn standard() -> Result<Self, Failure> {
        if inherited::stdout_is_closed() {
            return Err(Failure::ClosedOutput);
        }
        Self::unused()
    }

    /// Opens standard output for a command that prints nothing: it may be closed.
    pub fn unused() -> Result<Self, Failure> {
        Ok(Output {
            buffer: Vec::with_capacity(BUFFER_BYTES),
            file: InterruptibleFile::standard_output().map_err(Failure::writing)?,
        })
    }

    /// Returns whether the output is appended to a file that ends within a line.
    pub fn begins_within_line(&self, line_end: u8) -> bool {
        torn_output::ends_within_line(self.file.file(), line_end)
    }

    /// Adds bytes. They are written when the buffer is full.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.make_room(bytes)
        } else {
            self.buffer.extend_from_slice(bytes);
            Ok(())
        }
    }

    #[cold]
    fn make_room(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.flush()?;
        if bytes.len() < BUFFER_BYTES {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.file.write_all(bytes)
    }

    /// Writes the buffer.
    pub fn flush(&mut self) -> Result<(), Failure> {
        let written = self.file.write_all(&self.buffer);
        self.buffer.clear();
        written
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.put(text.as_bytes())
    }
}
