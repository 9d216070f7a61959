//! Files as if they had the size they should have.

use std::io;
use std::time::Duration;

use super::layout::Layout;
use super::medium::{Medium, StoreFile};

/// A medium to read whose files, where they are cut short, go on with zeros. So the rest
/// of a damaged store can be looked at in the ordinary way.
pub struct Padded<M> {
    medium: M,
    /// The sizes there should be, if anything tells.
    layout: Option<Layout>,
}

impl<M: Medium> Padded<M> {
    pub fn new(medium: M, layout: Option<Layout>) -> Self {
        Padded { medium, layout }
    }

    /// The files as they are.
    pub fn into_inner(self) -> M {
        self.medium
    }
}

impl<M: Medium> Medium for Padded<M> {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        match self.layout {
            Some(layout) => Ok(layout.file_bytes(file)),
            None => self.medium.len(file),
        }
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let there = self.medium.len(file)?.saturating_sub(offset);
        let (present, missing) = buffer.split_at_mut(
            usize::try_from(there)
                .unwrap_or(usize::MAX)
                .min(buffer.len()),
        );
        missing.fill(0);
        match present.is_empty() {
            true => Ok(()),
            false => self.medium.read(file, offset, present),
        }
    }

    fn write(&self, _file: StoreFile, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self, _file: StoreFile) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn pause(&self, time: Duration) {
        self.medium.pause(time);
    }

    fn unix_seconds(&self) -> u64 {
        self.medium.unix_seconds()
    }
}
