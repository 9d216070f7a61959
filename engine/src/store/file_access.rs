//! The calls of a [`Medium`] with errors that name the file.

use super::error::StoreError;
use super::medium::{Medium, StoreFile};

/// The calls of a [`Medium`], with a [`StoreError`] that names the operation and the file.
pub trait FileAccess: Medium {
    /// Returns the size of a file.
    fn file_bytes(&self, file: StoreFile) -> Result<u64, StoreError> {
        self.len(file)
            .map_err(|error| StoreError::on_file("look at", file, error))
    }

    /// Fills `buffer` from `offset`.
    fn read_at(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> Result<(), StoreError> {
        self.read(file, offset, buffer)
            .map_err(|error| StoreError::on_file("read", file, error))
    }

    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        self.write(file, offset, bytes)
            .map_err(|error| StoreError::on_file("write", file, error))
    }

    /// Makes everything written to the file durable.
    fn sync_file(&self, file: StoreFile) -> Result<(), StoreError> {
        self.sync(file)
            .map_err(|error| StoreError::on_file("sync", file, error))
    }
}

impl<M: Medium + ?Sized> FileAccess for M {}
