//! A store on a medium of one's own: five byte vectors in memory, with a count of the syncs.
//!
//! The same trait would serve a raw disk, or a device that encrypts.

use std::error::Error;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use dedupstore::store::{CreateOptions, Layout, Medium, OpenOptions, StoreFile};

#[derive(Default)]
struct State {
    files: [Vec<u8>; 5],
    syncs: u64,
}

/// A handle to the files. Clones share them, as two handles of a file do.
#[derive(Clone, Default)]
struct CountingMedium(Arc<Mutex<State>>);

impl CountingMedium {
    /// Creates files of the sizes that a store needs, filled with zeros.
    fn zeroed(layout: &Layout) -> Self {
        let medium = CountingMedium::default();
        medium.with(|state| {
            for file in StoreFile::ALL {
                state.files[file as usize] = vec![0; layout.file_bytes(file) as usize];
            }
        });
        medium
    }

    fn with<T>(&self, use_state: impl FnOnce(&mut State) -> T) -> T {
        use_state(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn syncs(&self) -> u64 {
        self.with(|state| state.syncs)
    }
}

impl Medium for CountingMedium {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        Ok(self.with(|state| state.files[file as usize].len()) as u64)
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.with(|state| {
            let bytes = state.files[file as usize].get(offset as usize..);
            let bytes = bytes.and_then(|bytes| bytes.get(..buffer.len()));
            buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.with(|state| {
            let place = state.files[file as usize].get_mut(offset as usize..);
            let place = place.and_then(|place| place.get_mut(..bytes.len()));
            place
                .ok_or(io::ErrorKind::StorageFull)?
                .copy_from_slice(bytes);
            Ok(())
        })
    }

    fn sync(&self, _file: StoreFile) -> io::Result<()> {
        self.with(|state| state.syncs += 1);
        Ok(())
    }

    fn unix_seconds(&self) -> u64 {
        0
    }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let options = CreateOptions::new("bloom:k=4")?.memory("1MiB");
    let medium = CountingMedium::zeroed(&options.layout()?);
    let mut store = OpenOptions::new().create_on(medium.clone(), &options)?;
    assert!(store.observe("https://harbour.example/")?.is_new());
    store.close()?;
    println!("{} syncs to create, write and close", medium.syncs());
    let mut store = OpenOptions::new().open_on(medium)?;
    assert!(store.observe("https://harbour.example/")?.is_seen());
    Ok(())
}
