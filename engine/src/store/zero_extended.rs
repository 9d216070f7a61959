//! Files that appear to have their correct size.

use std::io;
use std::time::Duration;

use super::format::layout::Layout;
use super::medium::{Medium, StoreFile};

/// A read-only medium that extends truncated files with zeros to their correct size, so that
/// the rest of a damaged store can be read as usual.
pub struct ZeroExtended<M> {
    medium: M,
    /// The correct sizes, if a superblock is readable.
    layout: Option<Layout>,
}

impl<M: Medium> ZeroExtended<M> {
    pub fn new(medium: M, layout: Option<Layout>) -> Self {
        ZeroExtended { medium, layout }
    }

    /// Returns the files as they are.
    pub fn into_inner(self) -> M {
        self.medium
    }
}

impl<M: Medium> Medium for ZeroExtended<M> {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        match self.layout {
            Some(layout) => Ok(layout.file_bytes(file)),
            None => self.medium.len(file),
        }
    }

    fn exists(&self, file: StoreFile) -> bool {
        self.medium.exists(file)
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

    fn in_parallel(&self, work: &(dyn Fn() + Sync)) {
        self.medium.in_parallel(work);
    }

    fn pause(&self, time: Duration) {
        self.medium.pause(time);
    }

    fn unix_seconds(&self) -> u64 {
        self.medium.unix_seconds()
    }
}
