//! Exact sets of keys on disk, each with suitable settings.

#![allow(unsafe_code)]

use std::collections::HashSet;
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{BufWriter, Write};
use std::path::Path;

use dedupstore::Observation;
use dedupstore::store::{Directory, Store};
use heed::types::{Bytes, Unit};
use heed::{CommitOrAbort, EnvFlags, EnvOpenOptions, IntegerComparator};

const CACHE_BYTES: usize = 1 << 30;

/// A durable set of keys.
pub trait Rival {
    /// Observes keys. Returns the number of new keys.
    fn observe(&mut self, keys: &[Observation]) -> usize;

    /// Makes all observed keys durable.
    fn commit(&mut self);
}

/// Our store. It syncs by itself at the interval; each round ends with an explicit sync.
impl Rival for Store<Directory> {
    fn observe(&mut self, keys: &[Observation]) -> usize {
        let mut verdicts = vec![dedupstore::Verdict::New; keys.len()];
        self.observe_batch(keys, &mut verdicts).expect("observed");
        let new = verdicts.iter();
        new.filter(|&&verdict| verdict == dedupstore::Verdict::New)
            .count()
    }

    fn commit(&mut self) {
        self.sync().expect("synced");
    }
}

/// A hash set and a log of its new keys. Keys are hashes already, so they are not hashed again.
pub struct SetWithLog {
    known: HashSet<u64, BuildHasherDefault<IdentityHasher>>,
    log: BufWriter<File>,
}

#[derive(Default)]
pub struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

impl SetWithLog {
    pub fn create(directory: &Path) -> Self {
        let log = File::create(directory.join("log")).expect("a file");
        SetWithLog {
            known: HashSet::default(),
            log: BufWriter::with_capacity(1 << 20, log),
        }
    }
}

impl Rival for SetWithLog {
    fn observe(&mut self, keys: &[Observation]) -> usize {
        let mut new = 0;
        for key in keys {
            if self.known.insert(key.fingerprint.0) {
                let bytes = key.fingerprint.0.to_le_bytes();
                self.log.write_all(&bytes).expect("written");
                new += 1;
            }
        }
        new
    }

    fn commit(&mut self) {
        self.log.flush().expect("written");
        self.log.get_ref().sync_data().expect("synced");
    }
}

const TABLE: redb::TableDefinition<'_, u64, ()> = redb::TableDefinition::new("keys");

/// redb: 1 GiB of cache; one write transaction per interval; each key is looked up first, because
/// most are known.
pub struct Redb {
    database: redb::Database,
    transaction: Option<redb::WriteTransaction>,
}

impl Redb {
    pub fn create(directory: &Path) -> Self {
        let mut builder = redb::Database::builder();
        builder.set_cache_size(CACHE_BYTES);
        let database = builder
            .create(directory.join("keys.redb"))
            .expect("created");
        Redb {
            database,
            transaction: None,
        }
    }
}

impl Rival for Redb {
    fn observe(&mut self, keys: &[Observation]) -> usize {
        use redb::ReadableTable;
        let begin = || self.database.begin_write().expect("begun");
        let transaction = self.transaction.get_or_insert_with(begin);
        let mut table = transaction.open_table(TABLE).expect("a table");
        let mut new = 0;
        for key in keys {
            if table.get(key.fingerprint.0).expect("read").is_none() {
                table.insert(key.fingerprint.0, ()).expect("written");
                new += 1;
            }
        }
        new
    }

    fn commit(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            transaction.commit().expect("committed");
        }
    }
}

/// fjall: 1 GiB of cache, 256 MiB of memtable, no compression, otherwise defaults; its journal is
/// synced once per interval; each key is looked up first, because most are known.
pub struct Fjall {
    database: fjall::Database,
    keys: fjall::Keyspace,
}

impl Fjall {
    pub fn create(directory: &Path) -> Self {
        let database = fjall::Database::builder(directory.join("fjall"))
            .cache_size(CACHE_BYTES as u64)
            .manual_journal_persist(true)
            .open()
            .expect("created");
        let options = || fjall::KeyspaceCreateOptions::default().max_memtable_size(256 << 20);
        let keys = database.keyspace("keys", options).expect("created");
        Fjall { database, keys }
    }
}

impl Rival for Fjall {
    fn observe(&mut self, keys: &[Observation]) -> usize {
        let mut new = 0;
        for key in keys {
            let bytes = key.fingerprint.0.to_be_bytes();
            if !self.keys.contains_key(bytes).expect("read") {
                self.keys.insert(bytes, []).expect("written");
                new += 1;
            }
        }
        new
    }

    fn commit(&mut self) {
        let mode = fjall::PersistMode::SyncData;
        self.database.persist(mode).expect("synced");
    }
}

/// LMDB: a writable map of 64 GiB, keys as integers; one write transaction per interval; each key
/// is looked up first, because most are known.
pub struct Lmdb {
    environment: &'static heed::Env,
    keys: heed::Database<'static, Bytes, Unit, IntegerComparator>,
    transaction: Option<heed::RwTxn<'static>>,
}

impl Lmdb {
    pub fn create(directory: &Path) -> Self {
        let mut options = EnvOpenOptions::new();
        options.map_size(64 << 30);
        // SAFETY: no other process uses the temporary directory, and this program writes to the map
        // only through LMDB.
        let environment = unsafe { options.flags(EnvFlags::WRITE_MAP).open(directory) };
        // Transactions borrow the environment, so it is leaked.
        let environment: &heed::Env = Box::leak(Box::new(environment.expect("created")));
        let transaction = environment.write_txn().expect("begun");
        let created =
            environment.create_databases_and_commit(transaction, |opener, transaction| {
                let options = opener.database_options().types::<Bytes, Unit>();
                let options = options.key_comparator::<IntegerComparator>();
                let keys = options.create(transaction)?;
                Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(keys))
            });
        Lmdb {
            environment,
            keys: created.expect("created").unwrap_commit(),
            transaction: None,
        }
    }
}

impl Rival for Lmdb {
    fn observe(&mut self, keys: &[Observation]) -> usize {
        let begin = || self.environment.write_txn().expect("begun");
        let transaction = self.transaction.get_or_insert_with(begin);
        let mut new = 0;
        for key in keys {
            let bytes = key.fingerprint.0.to_ne_bytes();
            if self.keys.get(transaction, &bytes).expect("read").is_none() {
                self.keys.put(transaction, &bytes, &()).expect("written");
                new += 1;
            }
        }
        new
    }

    fn commit(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            transaction.commit().expect("committed");
        }
    }
}
