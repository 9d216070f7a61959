//! Exact sets of keys on disk, each with settings that suit it.

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

/// Something that remembers keys and can be told to make them durable.
pub trait Rival {
    /// Returns how many were new.
    fn observe(&mut self, keys: &[Observation]) -> usize;

    /// All that was observed is durable on return.
    fn commit(&mut self);
}

/// Ours. It syncs by itself at the interval; a commit is asked for at the end of a round.
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

/// A hash set and a log of its new keys. Keys are hashed already: they are their own hash.
pub struct SetWithLog {
    known: HashSet<u64, BuildHasherDefault<Itself>>,
    log: BufWriter<File>,
}

#[derive(Default)]
pub struct Itself(u64);

impl Hasher for Itself {
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

/// redb: 1 GiB of cache; one write transaction an interval; a key is looked up first, as
/// most are known.
pub struct Redb {
    database: redb::Database,
    transaction: Option<redb::WriteTransaction>,
}

impl Redb {
    pub fn create(directory: &Path) -> Self {
        let mut builder = redb::Database::builder();
        builder.set_cache_size(CACHE_BYTES);
        let database = builder.create(directory.join("keys.redb")).expect("made");
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

/// fjall: 1 GiB of cache, 256 MiB of memtable, no compression, the rest as it comes; its
/// journal is synced an interval; a key is looked up first, as most are known.
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
            .expect("made");
        let options = || fjall::KeyspaceCreateOptions::default().max_memtable_size(256 << 20);
        let keys = database.keyspace("keys", options).expect("made");
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

/// LMDB: a writable map of 64 GiB, keys as integers; one write transaction an interval; a
/// key is looked up first, as most are known.
pub struct Lmdb {
    environment: &'static heed::Env,
    keys: heed::Database<'static, Bytes, Unit, IntegerComparator>,
    transaction: Option<heed::RwTxn<'static>>,
}

impl Lmdb {
    pub fn create(directory: &Path) -> Self {
        let mut options = EnvOpenOptions::new();
        options.map_size(64 << 30);
        // SAFETY: nobody else knows the directory, so nobody else changes the files; and
        // this program writes to the map through LMDB alone.
        let environment = unsafe { options.flags(EnvFlags::WRITE_MAP).open(directory) };
        // Its transactions borrow it; a benchmark can afford to keep it to the end.
        let environment: &heed::Env = Box::leak(Box::new(environment.expect("made")));
        let transaction = environment.write_txn().expect("begun");
        let made = environment.create_databases_and_commit(transaction, |opener, transaction| {
            let options = opener.database_options().types::<Bytes, Unit>();
            let options = options.key_comparator::<IntegerComparator>();
            let keys = options.create(transaction)?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(keys))
        });
        Lmdb {
            environment,
            keys: made.expect("made").unwrap_commit(),
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
