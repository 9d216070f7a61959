//! A store that has met a log, made without a disk.

use dedupstore::figures::show_bits;
use dedupstore::lab::Sampling;
use dedupstore::store::{Beginning, CreateOptions, LOCK, Layout, StoreFile, StoreId};
use dedupstore::{Memory, Observation, SeenSet, Verdict};

use super::StorePart;
use crate::key::KeyChoice;
use crate::line_feed::LineFeed;

/// Larger stores are made by the command line: a browser keeps all of a download.
const MOST_DISK_BYTES: u64 = 1 << 30;
/// Enough to hide the latency of memory.
const BATCH: usize = 256;

/// A store to be, as far as it has come.
pub struct Primer {
    options: CreateOptions,
    layout: Layout,
    feed: LineFeed,
    observations: Vec<Observation>,
    /// Until the log has ended.
    set: Option<SeenSet>,
    /// From then on, with how many of its parts have been handed over.
    made: Option<(Beginning<Memory>, usize)>,
}

impl Primer {
    pub fn new(filter: &str, memory_bits: u64, seed: u64, key: &KeyChoice) -> Result<Self, String> {
        let filter = filter.parse().map_err(in_words)?;
        let mut options = CreateOptions::new(filter, memory_bits);
        options.seed = Some(seed);
        options.normalization = key.normalization().recorded().to_owned();
        let layout = options.layout().map_err(in_words)?;
        if layout.disk_bytes() > MOST_DISK_BYTES {
            return Err(format!(
                "The store takes {} of disk, and this page makes them up to {}: the commands \
                 above make it where it is to be.",
                show_bits(8 * layout.disk_bytes()),
                show_bits(8 * MOST_DISK_BYTES),
            ));
        }
        Ok(Primer {
            set: Some(options.in_memory(seed).map_err(in_words)?),
            options,
            layout,
            feed: LineFeed::new(key, seed, Sampling::All),
            observations: Vec::with_capacity(BATCH),
            made: None,
        })
    }

    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), String> {
        let Some(set) = &mut self.set else {
            return Err("The log has ended already.".to_owned());
        };
        let observations = &mut self.observations;
        let fed = self.feed.feed(chunk, |keyed| {
            observations.push(keyed.fingerprint.into());
            if observations.len() == BATCH {
                observe(set, observations);
            }
        });
        fed.map_err(in_words)
    }

    pub fn finish(&mut self, store_id: &[u8], unix_seconds: u64) -> Result<(), String> {
        let store_id = StoreId::try_from(store_id).map_err(in_words)?;
        let Some(mut set) = self.set.take() else {
            return Err("The log has ended already.".to_owned());
        };
        let observations = &mut self.observations;
        self.feed
            .finish(|keyed| observations.push(keyed.fingerprint.into()));
        observe(&mut set, observations);
        let primed = self.options.primed(set, store_id, unix_seconds);
        self.made = Some((primed.map_err(in_words)?, 0));
        Ok(())
    }

    /// Names and sizes.
    pub fn files(&self) -> Vec<(&'static str, u64)> {
        let files = StoreFile::ALL.map(|file| (file.name(), self.layout.file_bytes(file)));
        [(LOCK, 0)].into_iter().chain(files).collect()
    }

    pub fn next_part(&mut self) -> Result<Option<StorePart>, String> {
        let Some((made, given)) = &mut self.made else {
            return Ok(None);
        };
        let next = made.parts().map_err(in_words)?.nth(*given);
        *given += 1;
        Ok(next.map(|part| StorePart {
            file: part.file.name(),
            offset: part.offset,
            bytes: part.bytes.into_owned(),
        }))
    }
}

fn observe(set: &mut SeenSet, observations: &mut Vec<Observation>) {
    let mut verdicts = [Verdict::New; BATCH];
    set.observe_batch(observations, &mut verdicts[..observations.len()]);
    observations.clear();
}

fn in_words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use dedupstore::store::{InMemory, verify};

    use super::*;

    #[test]
    fn a_log_in_any_pieces_makes_the_same_store() {
        let log: String = (0..3000).map(|i| format!("{},x\n", i * i % 997)).collect();
        let log = log.trim_end().as_bytes();
        let key = KeyChoice::fields(vec![1], Some(",".to_owned())).unwrap_or_else(|_| panic!());
        let made = |piece: usize| {
            let mut primer = Primer::new("rlbsbf", 8 << 13, 7, &key).expect("a store");
            log.chunks(piece)
                .for_each(|chunk| primer.feed(chunk).expect("fed"));
            primer.finish(&[9; 16], 1000).expect("made");
            let files = primer.files();
            assert_eq!(files[0], ("lock", 0));
            let mut files: Vec<(&str, Vec<u8>)> = files[1..]
                .iter()
                .map(|&(name, bytes)| (name, vec![0; bytes as usize]))
                .collect();
            while let Some(part) = primer.next_part().expect("encoded") {
                let file = files.iter_mut().find(|(name, _)| *name == part.file);
                let at = part.offset as usize;
                let place = &mut file.expect("a file").1[at..at + part.bytes.len()];
                place.copy_from_slice(&part.bytes);
            }
            files
                .into_iter()
                .map(|(_, bytes)| bytes)
                .collect::<Vec<_>>()
        };
        let whole = made(usize::MAX);
        assert!(made(7) == whole);
        let files = whole.try_into().expect("five files");
        assert_eq!(verify(InMemory::holding(files, 1000)).expect("read"), []);
    }

    #[test]
    fn a_store_too_large_for_a_download_is_refused_with_what_to_do() {
        let key = KeyChoice::whole_line();
        let refused = Primer::new("bloom", 8 << 30, 1, &key).map(|_| ());
        let text = refused.expect_err("it is too large");
        assert!(
            text.starts_with("The store takes 4.00 GiB of disk, and this"),
            "{text}"
        );
    }
}
