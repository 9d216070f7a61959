//! Many threads on one store. Every key is new to exactly one of them.

use std::error::Error;
use std::thread;

use dedupstore::store::{CreateOptions, SharedStore, StoreError};

const KEYS: u32 = 10_000;

/// Observes all keys, starting at another one than the other threads.
fn count_new(store: &SharedStore, start: u32) -> Result<u32, StoreError> {
    let mut new = 0;
    for number in 0..KEYS {
        let key = format!("https://harbour.example/{}", (start + number) % KEYS);
        new += u32::from(store.observe(key)?.is_new());
    }
    Ok(new)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let options = CreateOptions::new("bloom:k=4")?.memory("4MiB").shards(4);
    let store = SharedStore::create(directory.path().join("shared.dds"), &options)?;
    let mut new = 0;
    thread::scope(|scope| {
        let store = &store;
        let starts = [0, 2500, 5000, 7500];
        let threads = starts.map(|start| scope.spawn(move || count_new(store, start)));
        for thread in threads {
            new += thread.join().expect("no panic")?;
        }
        Ok::<(), StoreError>(())
    })?;
    println!("{new} of {KEYS} keys were new to one of four threads");
    assert_eq!(new, KEYS);
    Ok(store.close()?)
}
