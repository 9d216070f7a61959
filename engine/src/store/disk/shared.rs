//! A store for many threads: several stores side by side, each with its own lock.
//!
//! A key always goes to the same part, so its verdicts come in the order of its
//! observations. The part is chosen by the low half of the fingerprint; inside a part,
//! positions come from the high bits, so that they stay spread.
//!
//! **Invariant:** no call holds two locks at once.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use super::directory::{Directory, rename_to_new_name, sync_directory};
use super::handle::{OpenOptions, Store};
use super::making::{random, random_id};
use crate::filter::{Observation, Verdict};
use crate::fingerprint::{Fingerprint, KeyHasher};
use crate::store::create::CreateOptions;
use crate::store::error::StoreError;
use crate::store::layout::MIN_LOG_BYTES;
use crate::store::names::{SHARD_COUNT, shard_name};

/// The most parts there can be: their names have three digits.
const MAX_SHARDS: usize = 1000;

/// A filter whose state survives, for many threads at once.
pub struct SharedStore {
    shards: Vec<Mutex<Store<Directory>>>,
    hasher: KeyHasher,
}

impl SharedStore {
    /// Makes a store of `shards` parts that share the memory; whatever is at the path
    /// already is left alone.
    pub fn create(
        path: impl AsRef<Path>,
        create: &CreateOptions,
        shards: usize,
        open: OpenOptions,
    ) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if !(1..=MAX_SHARDS).contains(&shards) {
            return Err(StoreError::Parameters(format!(
                "a shared store has 1 to {MAX_SHARDS} parts; {shards} were asked for"
            )));
        }
        if fs::symlink_metadata(path).is_ok() {
            return Err(StoreError::AlreadyExists {
                path: path.to_owned(),
            });
        }
        let part = part_of(create, shards);
        let layout = part.layout()?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let making = path.with_file_name(format!(".{name}.{}.making", std::process::id()));
        fs::create_dir(&making).map_err(|error| StoreError::on_path("create", &making, error))?;
        let make = || {
            for index in 0..shards {
                Directory::create(&making.join(shard_name(index)), &layout, |directory| {
                    part.fill(directory, random_id())
                })?;
            }
            let count = making.join(SHARD_COUNT);
            fs::write(&count, format!("{shards}\n"))
                .and_then(|()| fs::File::open(&count)?.sync_all())
                .map_err(|error| StoreError::on_path("write", &count, error))?;
            sync_directory(&making)?;
            rename_to_new_name(&making, path)?;
            match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
                _ => sync_directory(Path::new(".")),
            }
        };
        if let Err(error) = make() {
            // Ours alone, and never a store.
            let _ = fs::remove_dir_all(&making);
            return Err(error);
        }
        Self::open(path, open)
    }

    /// Opens a store and recovers the state of every part.
    pub fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let not_a_store = |reason: &str| StoreError::NotAStore {
            path: path.to_owned(),
            reason: reason.to_owned(),
        };
        fs::metadata(path).map_err(|error| StoreError::on_path("open", path, error))?;
        let count = fs::read_to_string(path.join(SHARD_COUNT))
            .map_err(|_| not_a_store("it has no file `shards`, so it is no shared store"))?;
        let count = count.trim().parse::<usize>().ok();
        let count = count.filter(|count| (1..=MAX_SHARDS).contains(count));
        let count = count.ok_or_else(|| not_a_store("its file `shards` holds no count"))?;
        let stores = (0..count).map(|index| Store::open(path.join(shard_name(index)), options));
        let stores = stores.collect::<Result<Vec<_>, _>>()?;
        let Some(first) = stores.first() else {
            return Err(not_a_store("it has no parts"));
        };
        let hasher = first.hasher();
        let alike = |store: &Store<Directory>| {
            store.hasher() == hasher && store.parameters().filter == first.parameters().filter
        };
        if !stores.iter().all(alike) {
            return Err(not_a_store("its parts differ in their filter or seed"));
        }
        Ok(SharedStore {
            shards: stores.into_iter().map(Mutex::new).collect(),
            hasher,
        })
    }

    /// Whether a key is new; from now on it is not.
    pub fn observe(&self, key: &[u8]) -> Result<Verdict, StoreError> {
        self.observe_one(self.hasher.fingerprint(key).into())
    }

    /// [`observe`](SharedStore::observe) for a key already hashed.
    pub fn observe_one(&self, observation: Observation) -> Result<Verdict, StoreError> {
        self.shard(self.shard_of(observation.fingerprint))?
            .observe_one(observation)
    }

    /// Observes many keys. Those of one part are observed in order; others may come between
    /// the parts. After an error some parts have taken theirs and some have not.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn observe_batch(
        &self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
    ) -> Result<(), StoreError> {
        assert_eq!(observations.len(), verdicts.len());
        let mut parts = vec![(Vec::new(), Vec::new()); self.shards.len()];
        for (place, &observation) in observations.iter().enumerate() {
            let (places, part) = &mut parts[self.shard_of(observation.fingerprint)];
            places.push(place);
            part.push(observation);
        }
        let mut part_verdicts = Vec::new();
        for (shard, (places, part)) in parts.iter().enumerate() {
            if part.is_empty() {
                continue;
            }
            part_verdicts.resize(part.len(), Verdict::New);
            self.shard(shard)?.observe_batch(part, &mut part_verdicts)?;
            for (&place, &verdict) in places.iter().zip(&part_verdicts) {
                verdicts[place] = verdict;
            }
        }
        Ok(())
    }

    /// Whether a key was met before; nothing is recorded.
    pub fn contains(&self, key: &[u8]) -> Result<Verdict, StoreError> {
        let fingerprint = self.hasher.fingerprint(key);
        let shard = self.shard(self.shard_of(fingerprint))?;
        Ok(shard.contains_fingerprint(fingerprint))
    }

    /// Makes everything observed so far durable.
    pub fn sync(&self) -> Result<(), StoreError> {
        (0..self.shards.len()).try_for_each(|shard| self.shard(shard)?.sync())
    }

    /// Folds every log into an image, one part after the other.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        (0..self.shards.len()).try_for_each(|shard| self.shard(shard)?.checkpoint())
    }

    /// Takes a last checkpoint of every part and ends.
    pub fn close(self) -> Result<(), StoreError> {
        let closed = self
            .shards
            .into_iter()
            .map(|shard| match shard.into_inner() {
                Ok(store) => store.close(),
                Err(_) => Err(broken()),
            });
        // Every part is closed, whatever becomes of the others.
        closed.fold(Ok(()), Result::and)
    }

    /// What hashes its keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// How many parts there are.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// Which part a key belongs to.
    pub fn shard_of(&self, fingerprint: Fingerprint) -> usize {
        shard_of(fingerprint, self.shards.len())
    }

    fn shard(&self, index: usize) -> Result<MutexGuard<'_, Store<Directory>>, StoreError> {
        self.shards[index].lock().map_err(|_| broken())
    }
}

fn shard_of(fingerprint: Fingerprint, shards: usize) -> usize {
    let low = fingerprint.0 & u64::from(u32::MAX);
    ((low * shards as u64) >> 32) as usize
}

/// A thread that stopped in the middle of a call may have left memory ahead of the log.
fn broken() -> StoreError {
    StoreError::Poisoned {
        cause: "a thread broke off in the middle of a call".to_owned(),
    }
}

/// What each part is to be: one seed for all, and a share of the rest.
fn part_of(create: &CreateOptions, shards: usize) -> CreateOptions {
    let share = |total: u64| total / shards as u64;
    CreateOptions {
        memory_bits: share(create.memory_bits),
        log_bytes: create
            .log_bytes
            .map(|bytes| share(bytes).max(MIN_LOG_BYTES)),
        seed: Some(create.seed.unwrap_or_else(random)),
        ..create.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_even_and_within_range() {
        for shards in [1, 2, 3, 7, 1000] {
            let mut counts = vec![0; shards];
            let hasher = KeyHasher::new(1);
            for key in 0..100 * shards as u64 {
                counts[shard_of(hasher.fingerprint(&key.to_le_bytes()), shards)] += 1;
            }
            // Five standard deviations of a Poisson count around 100.
            assert!(counts.iter().all(|count| (50..=150).contains(count)));
        }
        assert_eq!(shard_of(Fingerprint(u64::MAX), 3), 2);
    }

    #[test]
    fn it_goes_from_thread_to_thread() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<SharedStore>();
    }
}
