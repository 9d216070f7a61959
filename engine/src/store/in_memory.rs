//! A medium in memory, for places without a disk.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::lock::lock;
use super::medium::{Medium, StoreFile};

/// The five files of a store in memory. Nothing survives the process, and the time is fixed.
#[derive(Debug)]
pub struct InMemory {
    files: Mutex<[Vec<u8>; 5]>,
    unix_seconds: u64,
}

impl InMemory {
    /// Holds the given files, in the order of [`StoreFile::ALL`].
    pub fn holding(files: [Vec<u8>; 5], unix_seconds: u64) -> Self {
        InMemory {
            files: Mutex::new(files),
            unix_seconds,
        }
    }

    /// Returns the files.
    pub fn into_files(self) -> [Vec<u8>; 5] {
        let files = self.files.into_inner();
        files.unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self) -> MutexGuard<'_, [Vec<u8>; 5]> {
        lock(&self.files)
    }
}

/// Returns the range of `length` bytes from `offset`, if it can be addressed.
fn range(offset: u64, length: usize) -> io::Result<std::ops::Range<usize>> {
    let start = usize::try_from(offset).ok();
    let end = start.and_then(|start| start.checked_add(length));
    let range = start.zip(end).map(|(start, end)| start..end);
    range.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

impl Medium for InMemory {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        Ok(self.files()[file as usize].len() as u64)
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let range = range(offset, buffer.len())?;
        let files = self.files();
        let found = files[file as usize].get(range);
        buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let range = range(offset, bytes.len())?;
        let mut files = self.files();
        let found = files[file as usize].get_mut(range);
        found
            .ok_or(io::ErrorKind::StorageFull)?
            .copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self, _file: StoreFile) -> io::Result<()> {
        Ok(())
    }

    fn unix_seconds(&self) -> u64 {
        self.unix_seconds
    }
}
