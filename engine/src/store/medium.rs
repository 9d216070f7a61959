//! The one narrow seam to the disk.
//!
//! A store is five files of fixed size. Everything it does to them goes through
//! [`Medium`], so that a simulated one can record every write, yield every state that a
//! crash could leave, fail any call and flip any bit.

use std::fmt;
use std::io;
use std::time::Duration;

/// A file of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreFile {
    /// An image of the region: even generations.
    Image0,
    /// An image of the region: odd generations.
    Image1,
    /// Observations since an image: even epochs.
    Log0,
    /// Observations since an image: odd epochs.
    Log1,
    /// What is known to be durable.
    Mark,
}

impl StoreFile {
    /// Every file.
    pub const ALL: [StoreFile; 5] = [
        StoreFile::Image0,
        StoreFile::Image1,
        StoreFile::Log0,
        StoreFile::Log1,
        StoreFile::Mark,
    ];

    /// The image of a generation.
    pub const fn image(generation: u64) -> Self {
        match generation % 2 {
            0 => StoreFile::Image0,
            _ => StoreFile::Image1,
        }
    }

    /// The log of an epoch.
    pub const fn log(epoch: u64) -> Self {
        match epoch % 2 {
            0 => StoreFile::Log0,
            _ => StoreFile::Log1,
        }
    }

    /// Its name in the directory.
    pub const fn name(self) -> &'static str {
        match self {
            StoreFile::Image0 => "image.0",
            StoreFile::Image1 => "image.1",
            StoreFile::Log0 => "log.0",
            StoreFile::Log1 => "log.1",
            StoreFile::Mark => "mark",
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
    /// The size of a file.
    fn len(&self, file: StoreFile) -> io::Result<u64>;

    /// Fills `buffer` from `offset`, or fails.
    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`, or fails. Durable only after a sync.
    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Returns when everything written to the file before is durable.
    fn sync(&self, file: StoreFile) -> io::Result<()>;

    /// A private map of part of a file: changes stay in memory. `None` where files cannot
    /// be mapped.
    #[cfg(not(target_family = "wasm"))]
    fn map_private(
        &self,
        _file: StoreFile,
        _offset: u64,
        _length: usize,
    ) -> Option<io::Result<memmap2::MmapMut>> {
        None
    }

    /// Gives whoever else writes to the files this time to go on. A medium that nobody else
    /// can write to need not wait.
    fn pause(&self, _time: Duration) {}

    /// Seconds since 1970.
    #[cfg(target_family = "wasm")]
    fn unix_seconds(&self) -> u64;

    /// Seconds since 1970.
    #[cfg(not(target_family = "wasm"))]
    fn unix_seconds(&self) -> u64 {
        let now = std::time::SystemTime::now();
        now.duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs())
    }
}
