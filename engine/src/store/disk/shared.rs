//! A store for many threads: several stores, called shards, each under its own mutex.
//!
//! A key always goes to the same shard, so its verdicts follow the order of its observations.
//! The low half of the fingerprint chooses the shard. Positions inside a shard come from the
//! high bits, so that they stay evenly spread.
//!
//! **Invariant:** no call holds two mutexes at once.

use std::fmt;
use std::fs;
use std::path::Path;

use super::claims::{Claim, Ticket};
use super::concurrency::{Mutex, MutexGuard};
use super::create::{random, random_id};
use super::directory::{Directory, metadata};
use super::handle::Store;
use super::new_directory::{check_free, rename_to_new_name, sync_directory};
use super::open_options::OpenOptions;
use super::path_context::PathContext;
use super::quarantine::parent;
use super::unfinished::Unfinished;
use crate::filter::{Observation, Verdict};
use crate::fingerprint::{Fingerprint, KeyHasher};
use crate::store::create::{CreateOption, CreateOptions, agree};
use crate::store::error::{NotAStoreReason, StoreError};
use crate::store::medium::Medium;
use crate::store::names::{SHARD_COUNT, shard_name};
use crate::workers::Workers;

/// The largest number of shards: their names have three digits.
const MAX_SHARDS: usize = 1000;

/// Below this length of a batch, waking a thread costs more than it saves.
const SHORTEST_DIVIDED_BATCH: usize = 4096;

/// A filter whose state survives crashes and restarts, for use by many threads at once.
///
/// Dropping it does to every shard what dropping a [`Store`] does.
pub struct SharedStore<M: Medium = Directory> {
    shards: Vec<Mutex<Store<M>>>,
    hasher: KeyHasher,
    /// The threads that observe a batch together.
    workers: Workers,
}

impl SharedStore {
    /// Opens a store and recovers the state of every shard, with the default
    /// [`OpenOptions`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        OpenOptions::new().open_shared(path)
    }

    /// Creates a store with the default [`OpenOptions`]. The shards share the memory and the
    /// log size equally. Fails if the path exists.
    pub fn create(path: impl AsRef<Path>, options: &CreateOptions) -> Result<Self, StoreError> {
        OpenOptions::new().create_shared(path, options)
    }

    /// Opens a store, or creates it if the path does not exist, with the default
    /// [`OpenOptions`]. An existing store must agree with every option that is set; else this
    /// fails with [`StoreError::OptionMismatch`].
    pub fn open_or_create(
        path: impl AsRef<Path>,
        options: &CreateOptions,
    ) -> Result<Self, StoreError> {
        OpenOptions::new().open_or_create_shared(path, options)
    }

    pub(super) fn create_with(
        path: &Path,
        create: &CreateOptions,
        open: OpenOptions,
    ) -> Result<Self, StoreError> {
        let shards = create.shard_count().unwrap_or_else(|| {
            let processors = std::thread::available_parallelism();
            processors.map_or(1, |count| count.get().min(MAX_SHARDS))
        });
        if !(1..=MAX_SHARDS).contains(&shards) {
            return Err(StoreError::ShardCount {
                requested: shards,
                maximum: MAX_SHARDS,
            });
        }
        check_free(path)?;
        let shard = create
            .clone()
            .with_memory_and_seed(random)
            .for_one_of(shards);
        let layout = shard.layout()?;
        let unfinished = Unfinished::create(path)?;
        let temporary = unfinished.path().to_owned();
        let create_shards = || {
            for index in 0..shards {
                Directory::create(&temporary.join(shard_name(index)), &layout, |directory| {
                    shard.write_initial_files(directory, random_id())
                })?;
            }
            let count = temporary.join(SHARD_COUNT);
            fs::write(&count, format!("{shards}\n"))
                .and_then(|()| fs::File::open(&count)?.sync_all())
                .on_path("write", &count)?;
            sync_directory(&temporary)
        };
        let finish = |()| {
            unfinished.finish(|temporary| {
                rename_to_new_name(temporary, path)?;
                sync_directory(parent(path))
            })
        };
        create_shards()
            .and_then(finish)
            .map_err(|error| error.relocated(&temporary, path))?;
        Self::open_with(path, open)
    }

    pub(super) fn open_with(path: &Path, options: OpenOptions) -> Result<Self, StoreError> {
        let not_a_store = |reason| StoreError::NotAStore {
            path: path.to_owned(),
            reason,
        };
        metadata(path)?;
        let missing = NotAStoreReason::MissingFile { name: SHARD_COUNT };
        let count = fs::read_to_string(path.join(SHARD_COUNT)).map_err(|_| not_a_store(missing))?;
        let count = count.trim().parse::<usize>().ok();
        let count = count.filter(|count| (1..=MAX_SHARDS).contains(count));
        let count = count.ok_or_else(|| not_a_store(NotAStoreReason::BadShardCount))?;
        // Threads divide shards, not the rows of each.
        let of_shard = options.observing_threads(1);
        let stores = (0..count).map(|index| of_shard.open(path.join(shard_name(index))));
        let stores = stores.collect::<Result<Vec<_>, _>>()?;
        Self::of_shards(stores, options.observing_threads).map_err(not_a_store)
    }
}

impl<M: Medium> SharedStore<M> {
    /// Joins open stores, which must have the same filter and hash keys in the same way.
    #[doc(hidden)]
    pub fn of_shards(
        stores: Vec<Store<M>>,
        observing_threads: usize,
    ) -> Result<Self, NotAStoreReason> {
        let first = stores.first().ok_or(NotAStoreReason::BadShardCount)?;
        let hasher = first.hasher();
        let same_kind = |store: &Store<M>| {
            store.hasher() == hasher && store.parameters().filter == first.parameters().filter
        };
        if !stores.iter().all(same_kind) {
            return Err(NotAStoreReason::DifferentShards);
        }
        Ok(SharedStore {
            workers: Workers::start(observing_threads.min(stores.len())),
            shards: stores.into_iter().map(Mutex::new).collect(),
            hasher,
        })
    }

    /// Checks that the store agrees with every option that is set.
    pub fn check_agreement(&self, options: &CreateOptions) -> Result<(), StoreError> {
        if let Some(requested) = options.shard_count() {
            let stored = self.shards();
            agree(
                CreateOption::Shards,
                stored == requested,
                &stored,
                &requested,
            )?;
        }
        let of_shard = options.for_one_of(self.shards());
        (0..self.shards()).try_for_each(|shard| self.shard(shard)?.check_agreement(&of_shard))
    }

    /// Reports whether a key is new, and records it.
    pub fn observe(&self, key: impl AsRef<[u8]>) -> Result<Verdict, StoreError> {
        self.observe_fingerprint(self.hasher.fingerprint(key.as_ref()))
    }

    /// [`observe`](SharedStore::observe) for a key that is already hashed by the store's
    /// [hasher](SharedStore::hasher).
    pub fn observe_fingerprint(&self, fingerprint: Fingerprint) -> Result<Verdict, StoreError> {
        self.shard(self.shard_of(fingerprint))?
            .observe_fingerprint(fingerprint)
    }

    /// Reports whether a key is new at a time, in seconds since 1970, and records it; see
    /// [`Store::observe_at`]. Each shard has a clock of its own.
    pub fn observe_at(&self, key: impl AsRef<[u8]>, seconds: u64) -> Result<Verdict, StoreError> {
        let key = key.as_ref();
        let shard = self.shard_of(self.hasher.fingerprint(key));
        self.shard(shard)?.observe_at(key, seconds)
    }

    /// Observes a hashed key with its time and importance.
    pub fn observe_one(&self, observation: Observation) -> Result<Verdict, StoreError> {
        self.shard(self.shard_of(observation.fingerprint))?
            .observe_one(observation)
    }

    /// Observes many keys. The keys of one shard are observed in order and without
    /// interruption; other threads may observe keys between two shards. After an error, some
    /// shards have recorded their keys and some have not. Shards are observed at the same time by
    /// as many threads as [`OpenOptions::observing_threads`] says, if the batch is long enough.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn observe_batch(
        &self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
    ) -> Result<(), StoreError> {
        assert_eq!(observations.len(), verdicts.len());
        let mut by_shard: Vec<ShardBatch> = Vec::new();
        by_shard.resize_with(self.shards.len(), ShardBatch::default);
        for (index, &observation) in observations.iter().enumerate() {
            let batch = &mut by_shard[self.shard_of(observation.fingerprint)];
            batch.indices.push(index);
            batch.observations.push(observation);
        }
        let batches = by_shard.iter_mut().enumerate();
        let observe = |(shard, batch): (usize, &mut ShardBatch)| batch.observe(self, shard);
        match observations.len() < SHORTEST_DIVIDED_BATCH {
            true => batches.for_each(observe),
            false => self.workers.run(batches, observe),
        }
        for batch in by_shard {
            batch.result?;
            for (index, verdict) in batch.indices.into_iter().zip(batch.verdicts) {
                verdicts[index] = verdict;
            }
        }
        Ok(())
    }

    /// Reports whether a key was observed before. Records nothing.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> Result<Verdict, StoreError> {
        self.contains_fingerprint(self.hasher.fingerprint(key.as_ref()))
    }

    /// [`contains`](SharedStore::contains) for a key that is already hashed by the store's
    /// [hasher](SharedStore::hasher).
    pub fn contains_fingerprint(&self, fingerprint: Fingerprint) -> Result<Verdict, StoreError> {
        let shard = self.shard(self.shard_of(fingerprint))?;
        Ok(shard.contains_fingerprint(fingerprint))
    }

    /// Reports whether a key would be new at a time, in seconds since 1970; see
    /// [`Store::contains_at`].
    pub fn contains_at(&self, key: impl AsRef<[u8]>, seconds: u64) -> Result<Verdict, StoreError> {
        let key = key.as_ref();
        let shard = self.shard_of(self.hasher.fingerprint(key));
        Ok(self.shard(shard)?.contains_at(key, seconds))
    }

    /// Takes a key out and records it; see [`Store::forget`].
    pub fn forget(&self, key: impl AsRef<[u8]>) -> Result<Verdict, StoreError> {
        let key = key.as_ref();
        let shard = self.shard_of(self.hasher.fingerprint(key));
        self.shard(shard)?.forget(key)
    }

    /// Claims a key to work on; see [`Claim`].
    pub fn claim(&self, key: impl AsRef<[u8]>) -> Result<Claim, StoreError> {
        let key = key.as_ref();
        let shard = self.shard_of(self.hasher.fingerprint(key));
        Ok(self.shard(shard)?.claim(key))
    }

    /// Claims a key at a time, in seconds since 1970; see [`Store::claim_at`].
    pub fn claim_at(&self, key: impl AsRef<[u8]>, seconds: u64) -> Result<Claim, StoreError> {
        let key = key.as_ref();
        let shard = self.shard_of(self.hasher.fingerprint(key));
        Ok(self.shard(shard)?.claim_at(key, seconds))
    }

    /// Records a claimed key: the work on it is done.
    pub fn commit(&self, ticket: Ticket) -> Result<(), StoreError> {
        self.shard(self.shard_of(ticket.observation.fingerprint))?
            .commit(ticket)
    }

    /// Ends a claim without recording the key, which can then be claimed again.
    pub fn abort(&self, ticket: Ticket) -> Result<(), StoreError> {
        self.shard(self.shard_of(ticket.observation.fingerprint))?
            .abort(ticket);
        Ok(())
    }

    /// Makes everything observed so far durable.
    pub fn sync(&self) -> Result<(), StoreError> {
        (0..self.shards.len()).try_for_each(|shard| self.shard(shard)?.sync())
    }

    /// Takes a checkpoint of every shard, one after the other.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        (0..self.shards.len()).try_for_each(|shard| self.shard(shard)?.checkpoint())
    }

    /// Closes every shard; see [`Store::close`].
    pub fn close(self) -> Result<(), StoreError> {
        let closed = self
            .shards
            .into_iter()
            .map(|shard| match shard.into_inner() {
                Ok(store) => store.close(),
                Err(_) => Err(interrupted()),
            });
        // Closes every shard, even if another one fails.
        closed.fold(Ok(()), Result::and)
    }

    /// Returns the hasher of its keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Returns the number of shards.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// Returns the shard that a key belongs to.
    pub fn shard_of(&self, fingerprint: Fingerprint) -> usize {
        shard_of(fingerprint, self.shards.len())
    }

    fn shard(&self, index: usize) -> Result<MutexGuard<'_, Store<M>>, StoreError> {
        self.shards[index].lock().map_err(|_| interrupted())
    }
}

/// The keys of a batch that belong to one shard.
struct ShardBatch {
    indices: Vec<usize>,
    observations: Vec<Observation>,
    verdicts: Vec<Verdict>,
    result: Result<(), StoreError>,
}

impl Default for ShardBatch {
    fn default() -> Self {
        ShardBatch {
            indices: Vec::new(),
            observations: Vec::new(),
            verdicts: Vec::new(),
            result: Ok(()),
        }
    }
}

impl ShardBatch {
    fn observe(&mut self, store: &SharedStore<impl Medium>, shard: usize) {
        if self.observations.is_empty() {
            return;
        }
        self.verdicts.resize(self.observations.len(), Verdict::New);
        let shard = store.shard(shard);
        self.result =
            shard.and_then(|mut it| it.observe_batch(&self.observations, &mut self.verdicts));
    }
}

impl<M: Medium> fmt::Debug for SharedStore<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedStore")
            .field("shards", &self.shards.len())
            .finish_non_exhaustive()
    }
}

/// Returns the shard that a key belongs to, of so many. A program that divides keys among stores of
/// its own gets the verdicts of a [`SharedStore`] with this.
pub fn shard_of(fingerprint: Fingerprint, shards: usize) -> usize {
    let low = fingerprint.0 & u64::from(u32::MAX);
    ((low * shards as u64) >> 32) as usize
}

/// A thread that panicked during a call may have left memory ahead of the log.
fn interrupted() -> StoreError {
    StoreError::Poisoned {
        cause: "a thread panicked during a call".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_spread_evenly_over_the_shards() {
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
}
