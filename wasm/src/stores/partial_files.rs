//! The files of a store of which only some parts are at hand.
//!
//! A browser reads files only while nobody waits for it. So a look at a store fails at the
//! first byte that is not there, the page fetches it, and the look begins anew. It needs
//! little of a store: a large one costs no more memory than a small one.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dedupstore::store::{Medium, StoreFile};

use super::Wanted;

/// Files to read.
pub struct PartialFiles {
    sizes: [u64; 5],
    unix_seconds: u64,
    at_hand: Vec<(&'static str, u64, Vec<u8>)>,
    wanted: Mutex<Option<Wanted>>,
}

impl PartialFiles {
    /// Files of these sizes, in the order of [`StoreFile::ALL`], of which nothing is at hand.
    pub fn new(sizes: [u64; 5], unix_seconds: u64) -> Self {
        PartialFiles {
            sizes,
            unix_seconds,
            at_hand: Vec::new(),
            wanted: Mutex::new(None),
        }
    }

    /// What the last look stopped at, if it stopped.
    pub fn wanted(&self) -> Option<Wanted> {
        *self.slot()
    }

    /// Brings what was wanted, and perhaps what follows it.
    pub fn supply(&mut self, bytes: Vec<u8>) {
        let wanted = self.slot().take();
        if let Some(Wanted { file, offset, .. }) = wanted {
            self.at_hand.push((file, offset, bytes));
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, file: StoreFile, offset: u64, length: usize) -> Option<&[u8]> {
        self.at_hand.iter().find_map(|(of, start, bytes)| {
            let from = usize::try_from(offset.checked_sub(*start)?).ok()?;
            bytes
                .get(from..from.checked_add(length)?)
                .filter(|_| *of == file.name())
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
                self.slot().get_or_insert(Wanted {
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
