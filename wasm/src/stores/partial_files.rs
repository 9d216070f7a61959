//! The files of a store of which only some bytes are at hand.
//!
//! The browser reads files asynchronously. So an inspection fails at the first byte that is
//! not at hand, the page reads it, and the inspection starts again. It needs few bytes:
//! memory does not grow with the size of the store.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dedupstore::store::{Medium, StoreFile};

use super::MissingBytes;

/// A read-only medium over the bytes supplied so far.
pub struct PartialFiles {
    sizes: [u64; 5],
    unix_seconds: u64,
    supplied: Vec<(&'static str, u64, Vec<u8>)>,
    missing: Mutex<Option<MissingBytes>>,
}

impl PartialFiles {
    /// Files of these sizes, in the order of [`StoreFile::ALL`], without any bytes yet.
    pub fn new(sizes: [u64; 5], unix_seconds: u64) -> Self {
        PartialFiles {
            sizes,
            unix_seconds,
            supplied: Vec::new(),
            missing: Mutex::new(None),
        }
    }

    /// The bytes at which the last inspection failed; None if it needed no more.
    pub fn missing(&self) -> Option<MissingBytes> {
        *self.lock()
    }

    /// Supplies the missing bytes, and possibly bytes after them.
    pub fn supply(&mut self, bytes: Vec<u8>) {
        let missing = self.lock().take();
        if let Some(MissingBytes { file, offset, .. }) = missing {
            self.supplied.push((file, offset, bytes));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<MissingBytes>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, file: StoreFile, offset: u64, length: usize) -> Option<&[u8]> {
        self.supplied.iter().find_map(|(name, start, bytes)| {
            let from = usize::try_from(offset.checked_sub(*start)?).ok()?;
            bytes
                .get(from..from.checked_add(length)?)
                .filter(|_| *name == file.name())
        })
    }
}

impl Medium for PartialFiles {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        Ok(self.sizes[file as usize])
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.sizes[file as usize]) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match self.find(file, offset, buffer.len()) {
            Some(bytes) => {
                buffer.copy_from_slice(bytes);
                Ok(())
            }
            None => {
                self.lock().get_or_insert(MissingBytes {
                    file: file.name(),
                    offset,
                    length: buffer.len(),
                });
                Err(io::ErrorKind::WouldBlock.into())
            }
        }
    }

    fn write(&self, _file: StoreFile, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self, _file: StoreFile) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn unix_seconds(&self) -> u64 {
        self.unix_seconds
    }
}
