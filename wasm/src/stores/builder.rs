//! Builds a store from a log, without a disk.

use dedupstore::lab::Sampling;
use dedupstore::store::{CreateOptions, InitialFiles, LOCK, Layout, StoreFile, StoreId};
use dedupstore::{Memory, Observation, SeenSet, Verdict};
use dedupstore_view::show_bits;

use super::{StoreFileSize, StorePart};
use crate::key_choice::KeyChoice;
use crate::line_feed::LineFeed;

/// The largest store that the page builds: the browser keeps a whole download in memory.
const MAX_DISK_BYTES: u64 = 1 << 30;
/// Enough to hide the latency of memory.
const BATCH: usize = 256;
const ENDED: &str = "The log has already ended.";

/// A store that observes a log.
pub struct Builder {
    options: CreateOptions,
    layout: Layout,
    feed: LineFeed,
    observations: Vec<Observation>,
    /// None after the end of the log.
    set: Option<SeenSet>,
    /// The completed store, and the number of its parts that were returned.
    completed: Option<(InitialFiles<Memory>, usize)>,
    /// The bytes of the part that was returned last.
    part_bytes: Vec<u8>,
}

impl Builder {
    pub fn new(filter: &str, memory_bits: u64, seed: u64, key: &KeyChoice) -> Result<Self, String> {
        let options = CreateOptions::new(filter).map_err(message)?;
        let uses_importance = options
            .spec()
            .is_some_and(|it| it.descriptor().needs.importance);
        let key = match uses_importance {
            true => key,
            false => &key.without_importance(),
        };
        let options = options.memory_bits(memory_bits).seed(seed).key(key.rule());
        let layout = options.layout().map_err(message)?;
        if layout.disk_bytes() > MAX_DISK_BYTES {
            return Err(format!(
                "The store needs {} of disk. This page builds stores of up to {}: use the \
                 commands above instead.",
                show_bits(8 * layout.disk_bytes()),
                show_bits(8 * MAX_DISK_BYTES),
            ));
        }
        Ok(Builder {
            set: Some(options.in_memory().map_err(message)?),
            options,
            layout,
            feed: LineFeed::new(key, seed, Sampling::All),
            observations: Vec::with_capacity(BATCH),
            completed: None,
            part_bytes: Vec::new(),
        })
    }

    /// Observes the next bytes of the log.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), String> {
        let set = self.set.as_mut().ok_or(ENDED)?;
        let observations = &mut self.observations;
        let fed = self.feed.feed(chunk, |keyed| {
            observations.push(keyed.observation());
            if observations.len() == BATCH {
                observe(set, observations);
            }
        });
        fed.map_err(message)
    }

    /// Ends the log and completes the store.
    pub fn finish(&mut self, store_id: &[u8], unix_seconds: u64) -> Result<(), String> {
        let store_id = StoreId::try_from(store_id).map_err(message)?;
        let mut set = self.set.take().ok_or(ENDED)?;
        let observations = &mut self.observations;
        self.feed
            .finish(|keyed| observations.push(keyed.observation()));
        observe(&mut set, observations);
        let files = self.options.primed(set, store_id, unix_seconds);
        self.completed = Some((files.map_err(message)?, 0));
        Ok(())
    }

    /// Lists the store's files.
    pub fn files(&self) -> Vec<StoreFileSize> {
        let lock = StoreFileSize {
            name: LOCK,
            bytes: 0,
        };
        let files = StoreFile::ALL.map(|file| StoreFileSize {
            name: file.name(),
            bytes: self.layout.file_bytes(file),
        });
        [lock].into_iter().chain(files).collect()
    }

    /// Returns the next part of the completed store; None after the last.
    pub fn next_part(&mut self) -> Result<Option<StorePart>, String> {
        let Some((files, returned)) = &mut self.completed else {
            return Ok(None);
        };
        let next = files.parts().map_err(message)?.nth(*returned);
        *returned += 1;
        Ok(next.map(|part| {
            self.part_bytes = part.bytes.into_owned();
            StorePart {
                file: part.file.name(),
                offset: part.offset,
            }
        }))
    }

    /// Returns the bytes of the part that was returned last, once.
    pub fn take_part_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.part_bytes)
    }
}

fn observe(set: &mut SeenSet, observations: &mut Vec<Observation>) {
    let mut verdicts = [Verdict::New; BATCH];
    set.observe_batch(observations, &mut verdicts[..observations.len()]);
    observations.clear();
}

fn message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use dedupstore::store::{InMemory, verify_on};

    use super::*;
    use crate::key_choice::{Fields, KeyPart, KeySpec};

    fn key(part: KeyPart) -> KeyChoice {
        let spec = KeySpec {
            part,
            normalize: false,
            importance: None,
        };
        KeyChoice::new(&spec).expect("a valid key")
    }

    /// Builds a store from a log in chunks; returns the contents of its files.
    fn build(log: &[u8], chunk_bytes: usize) -> Vec<Vec<u8>> {
        let first_field = key(KeyPart::Fields(Fields {
            numbers: vec![1],
            delimiter: Some(",".to_owned()),
        }));
        let mut builder = Builder::new("rlbsbf", 8 << 13, 7, &first_field).expect("a store");
        for chunk in log.chunks(chunk_bytes) {
            builder.feed(chunk).expect("short lines");
        }
        builder.finish(&[9; 16], 1000).expect("a complete store");
        let listed = builder.files();
        assert_eq!((listed[0].name, listed[0].bytes), ("lock", 0));
        let mut files: Vec<(&str, Vec<u8>)> = listed[1..]
            .iter()
            .map(|file| (file.name, vec![0; file.bytes as usize]))
            .collect();
        while let Some(part) = builder.next_part().expect("encoded") {
            let file = files.iter_mut().find(|(name, _)| *name == part.file);
            let bytes = builder.take_part_bytes();
            let at = part.offset as usize;
            let place = &mut file.expect("a listed file").1[at..at + bytes.len()];
            place.copy_from_slice(&bytes);
        }
        files.into_iter().map(|(_, bytes)| bytes).collect()
    }

    #[test]
    fn the_store_does_not_depend_on_chunk_boundaries() {
        let log: String = (0..3000).map(|i| format!("{},x\n", i * i % 997)).collect();
        let log = log.trim_end().as_bytes();
        let whole = build(log, usize::MAX);
        assert!(build(log, 7) == whole);
        let files = whole.try_into().expect("five files");
        assert_eq!(verify_on(InMemory::holding(files, 1000)).expect("read"), []);
    }

    #[test]
    fn a_store_too_large_for_a_download_is_refused() {
        let refused = Builder::new("bloom", 8 << 30, 1, &key(KeyPart::Line)).map(|_| ());
        let text = refused.expect_err("it is too large");
        assert!(
            text.starts_with("The store needs 4.00 GiB of disk. This page builds"),
            "{text}"
        );
    }
}
