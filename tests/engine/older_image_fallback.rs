//! After a power cut, the older image must still lead to the same state as the newest.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

use dedupstore::store::{
    CreateOptions, Durability, Medium, OpenOptions, StoreFile, inspect_on, verify_on,
};

/// Files in memory: as written, and as a power cut would leave them.
#[derive(Clone, Default)]
struct Files(Arc<Mutex<HashMap<StoreFile, [Vec<u8>; 2]>>>);

impl Files {
    fn with<T>(&self, file: StoreFile, job: impl FnOnce(&mut [Vec<u8>; 2]) -> T) -> T {
        job(self.0.lock().expect("no panic").entry(file).or_default())
    }

    /// Returns the files after a power cut that keeps only synced writes.
    fn after_a_power_cut(&self) -> Self {
        let left = Files::default();
        for file in StoreFile::ALL {
            let durable = self.with(file, |[_, durable]| durable.clone());
            left.with(file, |both| *both = [durable.clone(), durable]);
        }
        left
    }
}

impl Medium for Files {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        Ok(self.with(file, |[written, _]| written.len() as u64))
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.with(file, |[written, _]| {
            buffer.copy_from_slice(&written[offset as usize..][..buffer.len()]);
        });
        Ok(())
    }

    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.with(file, |[written, _]| {
            written[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        });
        Ok(())
    }

    fn sync(&self, file: StoreFile) -> io::Result<()> {
        self.with(file, |[written, durable]| durable.clone_from(written));
        Ok(())
    }

    fn unix_seconds(&self) -> u64 {
        1_000_000_000
    }
}

fn created(create: &CreateOptions) -> Files {
    let files = Files::default();
    let layout = create.layout().expect("a layout");
    for file in StoreFile::ALL {
        let zeros = vec![0; layout.file_bytes(file) as usize];
        files.with(file, |both| *both = [zeros.clone(), zeros]);
    }
    create.write_initial_files(&files, [7; 16]).expect("filled");
    files
}

#[test]
fn both_images_lead_to_the_same_state_at_every_point_of_a_checkpoint() {
    let create = CreateOptions::new("rlbsbf:k=2")
        .expect("a filter")
        .memory_bits(8 * 8192 * 5);
    let files = created(&create);
    assert_eq!(verify_on(files.clone()).expect("read"), [], "never opened");
    let options = OpenOptions::new()
        .durability(Durability::None)
        .threads(false);
    let mut store = options.open_on(files.clone()).expect("opened");
    let check = |checkpoints: u64| {
        let left = files.after_a_power_cut();
        let found = verify_on(left.clone()).expect("read");
        assert!(
            !found.iter().any(|finding| finding.is_damage()),
            "{found:?}"
        );
        assert_eq!(inspect_on(&left).expect("read").generation, checkpoints);
    };
    for checkpoints in 0..4 {
        for key in 0..1000u32 {
            store.observe(key.to_le_bytes()).expect("observed");
        }
        store.begin_checkpoint().expect("begun");
        check(checkpoints);
        store.advance_by(2).expect("written");
        check(checkpoints);
        store.observe(b"while it is written").expect("observed");
        store.advance_by(u64::MAX).expect("finished");
        check(checkpoints + 1);
    }
}
