//! Errors of the file system that name the path.

use std::io;
use std::path::Path;

use crate::store::error::StoreError;

/// Adds the operation and the path to the error of a file system call.
pub trait PathContext<T> {
    /// Turns the error into a [`StoreError`] that says what was tried on which path.
    fn on_path(self, operation: &'static str, path: &Path) -> Result<T, StoreError>;
}

impl<T> PathContext<T> for io::Result<T> {
    fn on_path(self, operation: &'static str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|error| StoreError::on_path(operation, path, error))
    }
}
