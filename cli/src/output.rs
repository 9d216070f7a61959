//! Standard output with one large buffer.

use std::fs::File;
use std::io::{self, Write};

use crate::error::Failure;

const BUFFER_BYTES: usize = 128 << 10;

/// Standard output.
pub struct Output {
    buffer: Vec<u8>,
    file: File,
}

impl Output {
    /// Opens standard output directly: the standard library's handle is line-buffered, so it
    /// would search every block for its last newline and copy the rest.
    pub fn standard() -> Result<Self, Failure> {
        #[cfg(unix)]
        let handle = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned();
        #[cfg(windows)]
        let handle = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned();
        Ok(Output {
            buffer: Vec::with_capacity(BUFFER_BYTES),
            file: File::from(handle.map_err(Failure::writing)?),
        })
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
        self.file.write_all(bytes).map_err(Failure::writing)
    }

    /// Writes the buffer.
    pub fn flush(&mut self) -> Result<(), Failure> {
        let written = self.file.write_all(&self.buffer);
        self.buffer.clear();
        written.map_err(Failure::writing)
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.put(text.as_bytes())
    }
}
