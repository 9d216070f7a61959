//! The one narrow interface to the disk.
//!
//! A store is five files of fixed size. Everything it does to them goes through
//! [`Medium`], so that a simulated one can record every write, yield every state that a
//! crash could leave, fail any call and flip any bit.

use std::fmt;
use std::io;
use std::ops::Range;
use std::time::Duration;

use crate::region::Memory;

/// A file of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreFile {
    /// The image of even generations.
    Image0,
    /// The image of odd generations.
    Image1,
    /// The log of even epochs.
    Log0,
    /// The log of odd epochs.
    Log1,
    /// How many observations are known to be durable.
    Mark,
    /// The file that the one writer locks. It holds no data of the store, so no medium reads
    /// or writes it.
    Lock,
}

impl StoreFile {
    /// Every file with data of the store.
    pub const ALL: [StoreFile; 5] = [
        StoreFile::Image0,
        StoreFile::Image1,
        StoreFile::Log0,
        StoreFile::Log1,
        StoreFile::Mark,
    ];

    /// Returns the image of a generation.
    pub const fn image(generation: u64) -> Self {
        match generation % 2 {
            0 => StoreFile::Image0,
            _ => StoreFile::Image1,
        }
    }

    /// Returns the log of an epoch.
    pub const fn log(epoch: u64) -> Self {
        match epoch % 2 {
            0 => StoreFile::Log0,
            _ => StoreFile::Log1,
        }
    }

    /// Returns the file's name in the directory.
    pub const fn name(self) -> &'static str {
        match self {
            StoreFile::Image0 => "image.0",
            StoreFile::Image1 => "image.1",
            StoreFile::Log0 => "log.0",
            StoreFile::Log1 => "log.1",
            StoreFile::Mark => "mark",
            StoreFile::Lock => "lock",
        }
    }
}

impl serde::Serialize for StoreFile {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl fmt::Display for StoreFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Five files of fixed size that can be read, written in place, and synced.
pub trait Medium: Send + Sync + 'static {
    /// Returns the size of a file; 0 if it is missing.
    fn len(&self, file: StoreFile) -> io::Result<u64>;

    /// Returns whether a file exists. A store that lacks a file is opened only to examine it.
    fn exists(&self, _file: StoreFile) -> bool {
        true
    }

    /// Fills `buffer` from `offset`, or fails.
    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`, or fails. Durable only after a sync.
    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Returns when everything written to the file before is durable.
    fn sync(&self, file: StoreFile) -> io::Result<()>;

    /// Returns the current time in seconds since 1970.
    fn unix_seconds(&self) -> u64;

    /// Maps part of a file into memory; changes to the memory do not reach the file. Returns
    /// None if the medium has no files to map: the store then reads them instead.
    fn map_private(
        &self,
        _file: StoreFile,
        _offset: u64,
        _length: usize,
    ) -> Option<io::Result<Memory>> {
        None
    }

    /// Fills part of a log with zeros and returns it as memory: at most `length` bytes from
    /// `offset` on. Returns None if frames must be written with [`write`](Medium::write).
    ///
    /// A medium returns a window only if storing into it needs no space that the file does not
    /// have, because a store cannot report that the disk is full.
    fn map_log(
        &self,
        _file: StoreFile,
        _offset: u64,
        _length: u64,
    ) -> Option<io::Result<Box<dyn LogWindow>>> {
        None
    }

    /// Calls `work` from several threads at once if the medium reads faster that way, and
    /// returns when all have returned. By default calls it once, on this thread.
    fn in_parallel(&self, work: &(dyn Fn() + Sync)) {
        work();
    }

    /// Returns a file that was deleted while it was open. What is written to it is lost when it
    /// is closed, although no write fails. By default there is none.
    fn deleted_file(&self) -> Option<StoreFile> {
        None
    }

    /// Waits to give another process that writes to the files time to make progress. By
    /// default does not wait: nobody else writes to a medium in memory.
    fn pause(&self, _time: Duration) {}
}

/// Part of a log as memory. What is stored in it has been written to the file, as by
/// [`Medium::write`]: killing the process does not undo it, reads return it, and
/// [`Medium::sync`] makes it durable.
pub trait LogWindow: Send + Sync {
    /// Returns the part of the file.
    fn range(&self) -> Range<u64>;

    /// Stores a frame at an offset of the file: first all bytes but the first eight, then these.
    /// So a process that is killed meanwhile leaves no frame with a checksum, and nobody reads
    /// half a frame. Offset and length must be multiples of eight, and inside the range.
    fn store(&mut self, offset: u64, frame: &[u8]) -> io::Result<()>;
}
