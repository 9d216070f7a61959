//! Simulated disks, found by their names.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dedupstore::store::{LogWindow, Medium, StoreError, StoreFile};

thread_local! {
    static DISKS: RefCell<HashMap<PathBuf, Arc<dyn Medium>>> = RefCell::default();
}

/// Gives a disk a name.
pub fn provide(path: &Path, disk: impl Medium) {
    DISKS.with_borrow_mut(|disks| disks.insert(path.to_owned(), Arc::new(disk)));
}

pub fn reset() {
    DISKS.take();
}

/// Returns the disk of this name.
pub fn named(path: &Path) -> Result<NamedDisk, StoreError> {
    let disk = DISKS.with_borrow(|disks| disks.get(path).cloned());
    disk.map(NamedDisk).ok_or_else(|| StoreError::NotFound {
        path: path.to_owned(),
    })
}

/// A disk of any kind.
pub struct NamedDisk(Arc<dyn Medium>);

impl Medium for NamedDisk {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        self.0.len(file)
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read(file, offset, buffer)
    }

    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write(file, offset, bytes)
    }

    fn sync(&self, file: StoreFile) -> io::Result<()> {
        self.0.sync(file)
    }

    fn unix_seconds(&self) -> u64 {
        self.0.unix_seconds()
    }

    fn map_log(
        &self,
        file: StoreFile,
        offset: u64,
        length: u64,
    ) -> Option<io::Result<Box<dyn LogWindow>>> {
        self.0.map_log(file, offset, length)
    }

    fn deleted_file(&self) -> Option<StoreFile> {
        self.0.deleted_file()
    }

    fn pause(&self, time: Duration) {
        self.0.pause(time);
    }
}
