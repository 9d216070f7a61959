//! The stores of a server: which are open, and the batches that are being formed for them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use dedupstore::lines::{KeyOptions, KeyReader, Normalization};
use dedupstore::{KeyHasher, Observation};

use crate::batch::{Batch, Kind, Operation, Other, ReplyTo};
use crate::counters::Counters;
use crate::settings::{Reserve, Settings};
use crate::store_name::directory_name;
use crate::store_thread::{CreateFunction, FromStore, OpenedStore, StoreThread};

/// Passes a message of a store, given its number, to the event loop.
pub type Report = Arc<dyn Fn(usize, FromStore) + Send + Sync>;

/// From so many keys on, a batch takes no more requests before it is handed over.
const FULL_BATCH_KEYS: usize = 1 << 20;

/// A store that is open, being opened or being closed.
#[derive(Debug)]
pub struct ServedStore {
    pub name: Vec<u8>,
    pub path: PathBuf,
    pub state: State,
    /// The batch that is being formed.
    pub batch: Box<Batch>,
    /// The other batch, unless the store's thread has it.
    pub spare: Option<Box<Batch>>,
    /// Connections that wait until the store is opened or closed.
    pub parked: Vec<usize>,
    /// Whether the store is to be closed, and then deleted.
    close_with: Option<bool>,
    thread: StoreThread,
    hasher: KeyHasher,
    /// Normalizes keys, if the store records that.
    keys: Option<KeyReader>,
}

/// Whether a store takes requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Opening,
    Open,
    Closing,
}

impl ServedStore {
    /// Hashes keys and adds them to the batch.
    #[inline]
    pub fn add_keys<'a>(&mut self, keys: impl Iterator<Item = &'a [u8]>) {
        let hasher = self.hasher;
        match &mut self.keys {
            None => {
                let hashed = keys.map(|key| Observation::from(hasher.fingerprint(key)));
                self.batch.keys.extend(hashed);
            }
            Some(reader) => self.batch.keys.extend(
                keys.map(|key| Observation::from(hasher.fingerprint(reader.written_key(key)))),
            ),
        }
    }

    /// Returns whether the batch takes no more requests for now.
    pub fn is_full(&self) -> bool {
        self.batch.keys.len() >= FULL_BATCH_KEYS
    }

    /// Completes the opening.
    pub fn set_opened(&mut self, opened: &OpenedStore) {
        self.state = State::Open;
        self.hasher = opened.hasher;
        let rule = opened.parameters.key_rule(&KeyOptions::default()).ok();
        let rule = rule.filter(|rule| rule.normalization != Normalization::None);
        self.keys = rule.map(KeyReader::of);
    }

    /// Adds an operation whose keys are already in the batch.
    pub fn push(&mut self, reply: ReplyTo, kind: Kind, keys: usize) {
        self.batch.operations.push(Operation {
            reply,
            kind,
            keys: keys as u32,
        });
    }

    /// Hands the batch over, if the thread has no other.
    pub fn submit(&mut self, counters: &Counters) {
        if self.batch.is_empty() || self.state == State::Opening {
            return;
        }
        if let Some(spare) = self.spare.take() {
            let batch = std::mem::replace(&mut self.batch, spare);
            Counters::add(&counters.batches, 1);
            Counters::add(&counters.keys, batch.keys.len() as u64);
            self.thread.submit(batch);
        }
    }

    /// Takes no more requests, and closes the store when the last batch is answered.
    pub fn close(&mut self, delete: bool) {
        self.state = State::Closing;
        self.close_with = Some(delete);
    }

    /// Closes the store if that was asked for and nothing is left to do.
    pub fn close_if_idle(&mut self) {
        if self.batch.is_empty()
            && self.spare.is_some()
            && let Some(delete) = self.close_with.take()
        {
            self.thread.close(delete);
        }
    }
}

/// What a request needs a store for.
#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    /// To look at it; if there is none, there is nothing to see.
    Existing,
    /// To change it; if there is none, it is created.
    Created(Option<Reserve>),
}

/// The result of looking for a store.
#[derive(Debug)]
pub enum Found {
    /// It is open.
    Open(usize),
    /// The request must be tried again when the store is opened or closed. `creates` if that is done
    /// for this request.
    Wait { store: usize, creates: bool },
    /// There is none.
    Absent,
    /// It cannot be opened or created.
    Refused(String),
}

/// The stores of a server.
pub struct Stores {
    stores: Vec<Option<ServedStore>>,
    numbers: HashMap<Vec<u8>, usize>,
    /// The store that was looked for last: most requests are about the same one.
    last: Option<usize>,
    /// Whether a batch takes no more requests before it is handed over.
    pub any_full: bool,
    settings: Arc<Settings>,
    report: Report,
}

impl Stores {
    pub fn new(settings: Arc<Settings>, report: Report) -> Self {
        Stores {
            stores: Vec::new(),
            numbers: HashMap::new(),
            last: None,
            any_full: false,
            settings,
            report,
        }
    }

    /// Returns a store by its number.
    #[inline]
    pub fn get(&mut self, store: usize) -> Option<&mut ServedStore> {
        self.stores.get_mut(store)?.as_mut()
    }

    /// Returns all stores.
    pub fn all(&mut self) -> impl Iterator<Item = &mut ServedStore> {
        self.stores.iter_mut().flatten()
    }

    /// Returns the numbers of the open stores.
    pub fn open(&self) -> Vec<usize> {
        let is_open = |store: &Option<ServedStore>| {
            store
                .as_ref()
                .is_some_and(|store| store.state == State::Open)
        };
        let numbers = 0..self.stores.len();
        numbers.filter(|&at| is_open(&self.stores[at])).collect()
    }

    /// Hands over what was gathered, and closes stores that are to be closed.
    pub fn submit_all(&mut self, counters: &Counters) {
        self.any_full = false;
        for store in self.stores.iter_mut().flatten() {
            store.submit(counters);
            store.close_if_idle();
            self.any_full |= store.is_full();
        }
    }

    /// Returns the number of stores that are not closed.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns whether all stores are closed.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Looks for a store, and opens or creates it.
    #[inline]
    pub fn find(&mut self, name: &[u8], wanted: Wanted) -> Found {
        if let Some(last) = self.last
            && let Some(Some(store)) = self.stores.get(last)
            && store.name == name
            && store.state == State::Open
        {
            return Found::Open(last);
        }
        self.find_other(name, wanted)
    }

    fn find_other(&mut self, name: &[u8], wanted: Wanted) -> Found {
        if let Some(&number) = self.numbers.get(name) {
            let state = self.get(number).map(|store| store.state);
            return match state {
                Some(State::Open) => {
                    self.last = Some(number);
                    Found::Open(number)
                }
                _ => Found::Wait {
                    store: number,
                    creates: false,
                },
            };
        }
        let Some(path) = self.path_of(name) else {
            return match (&self.settings.directory, wanted) {
                (None, Wanted::Existing) => Found::Absent,
                (None, Wanted::Created(_)) => Found::Refused(
                    "ERR there is no such store, and this server has no directory for new ones"
                        .to_owned(),
                ),
                _ => Found::Refused("ERR the name of the store is empty or too long".to_owned()),
            };
        };
        let exists = std::fs::symlink_metadata(&path).is_ok();
        let reserve = match wanted {
            _ if exists => None,
            Wanted::Existing => return Found::Absent,
            Wanted::Created(_) if !self.settings.create => {
                return Found::Refused("ERR not found; this server creates no stores".to_owned());
            }
            Wanted::Created(reserve) => Some(reserve),
        };
        if self.len() >= self.settings.limits.stores {
            let limit = self.settings.limits.stores;
            return Found::Refused(format!("ERR {limit} stores are open, which is the limit"));
        }
        match self.start(name, path, reserve) {
            Ok(store) => Found::Wait {
                store,
                creates: reserve.is_some(),
            },
            Err(error) => Found::Refused(format!("ERR cannot start a thread: {error}")),
        }
    }

    /// Returns whether there is a store of a name, open or not.
    pub fn exists(&self, name: &[u8]) -> bool {
        let on_disk = || {
            let path = self.path_of(name);
            path.is_some_and(|path| std::fs::symlink_metadata(path).is_ok())
        };
        self.numbers.contains_key(name) || on_disk()
    }

    fn path_of(&self, name: &[u8]) -> Option<PathBuf> {
        let named = self.settings.stores.iter().find(|(known, _)| known == name);
        if let Some((_, path)) = named {
            return Some(path.clone());
        }
        let directory = self.settings.directory.as_ref()?;
        Some(directory.join(directory_name(name)?))
    }

    /// Starts the thread of a store. With `reserve`, it creates the store.
    pub fn start(
        &mut self,
        name: &[u8],
        path: PathBuf,
        reserve: Option<Option<Reserve>>,
    ) -> std::io::Result<usize> {
        let free = self.stores.iter().position(Option::is_none);
        let number = free.unwrap_or(self.stores.len());
        let report = Arc::clone(&self.report);
        let report = move |message| report(number, message);
        let new_store = &self.settings.new_store;
        let create = reserve.map(|reserve| -> CreateFunction {
            let new_store = Arc::clone(new_store);
            Box::new(move || new_store(reserve))
        });
        let thread = StoreThread::start(path.clone(), create, self.settings.store, report)?;
        let store = ServedStore {
            name: name.to_vec(),
            path,
            state: State::Opening,
            batch: Box::default(),
            spare: Some(Box::default()),
            parked: Vec::new(),
            close_with: None,
            thread,
            hasher: KeyHasher::new(0),
            keys: None,
        };
        match self.stores.get_mut(number) {
            Some(place) => *place = Some(store),
            None => self.stores.push(Some(store)),
        }
        self.numbers.insert(name.to_vec(), number);
        Ok(number)
    }

    /// Removes a store whose thread has ended; returns the connections that wait for it.
    pub fn remove(&mut self, number: usize) -> Vec<usize> {
        self.last = None;
        let Some(store) = self.stores.get_mut(number).and_then(Option::take) else {
            return Vec::new();
        };
        self.numbers.remove(&store.name);
        store.thread.join();
        store.parked
    }

    /// Gives back what a closed connection has claimed.
    pub fn abort_claims_of(&mut self, connection: usize, serial: u64) {
        for store in self.all().filter(|store| store.state == State::Open) {
            let reply = ReplyTo {
                connection,
                serial,
                slot: 0,
            };
            store.push(reply, Kind::Other(Other::AbortOwned(serial)), 0);
        }
    }
}
