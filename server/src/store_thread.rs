//! The thread of a store: its one writer.
//!
//! The event loop hands over batches, and this thread carries them out in order. While it works on
//! one, the event loop forms the next from all clients: the busier the server, the larger the
//! batches, and the less a key costs.
//!
//! **Invariant:** a batch is answered after its keys are in the log. With [`Durability::Every`] they
//! are also synced.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dedupstore::store::{CreateOptions, Durability, OpenOptions, Parameters, StoreError};
use dedupstore::{KeyHasher, Verdict};

use crate::batch::{
    Answer, Batch, FAILED, FULL, Information, Kind, Live, NO, Operation, Other, Outcome,
    TicketEncoding, YES,
};
use crate::claims::NumberedClaims;
use crate::concurrency::{
    Builder, JoinHandle, Receiver, RecvTimeoutError, Sender, Store, channel, create_store,
    delete_store, now, open_store, receive_within,
};
use crate::describe;
use crate::mutant::{Mutant, planted};
use crate::session::IS_FULL;

/// How a store is opened, and the limits of its clients.
#[derive(Clone, Copy, Debug)]
pub struct StoreSettings {
    /// When recorded keys are safe from a power loss.
    pub durability: Durability,
    /// When a claim ends that was neither committed nor aborted.
    pub claim_timeout: Duration,
    /// The largest number of claims at a time.
    pub max_claims: usize,
}

/// What the event loop must know of an open store.
#[derive(Clone, Debug)]
pub struct OpenedStore {
    pub hasher: KeyHasher,
    pub parameters: Parameters,
    /// Whether this run has created it.
    pub created: bool,
    /// The number of observations replayed from the log.
    pub recovered: u64,
    pub live: Live,
}

/// A message from the thread of a store.
#[derive(Debug)]
pub enum FromStore {
    Opened(Box<Result<OpenedStore, String>>),
    /// A batch with its outcomes, and the counts after it if they are new.
    Answered(Box<Batch>, Option<Live>),
    /// The store is closed, and its thread has ended. `deleted` if its files are gone.
    Closed {
        deleted: bool,
        result: Result<(), String>,
    },
}

/// A message to the thread of a store.
#[derive(Debug)]
enum ToStore {
    Batch(Box<Batch>),
    Close { delete: bool },
}

/// A handle of the thread.
#[derive(Debug)]
pub struct StoreThread {
    sender: Sender<ToStore>,
    thread: JoinHandle<()>,
}

impl StoreThread {
    /// Opens a store, or creates it with `create`, on a thread of its own, which reports to `report`.
    pub fn start(
        path: PathBuf,
        create: Option<CreateFunction>,
        settings: StoreSettings,
        report: impl Fn(FromStore) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let thread = Builder::new()
            .name("dedupstore store".to_owned())
            .spawn(move || run(&path, create, settings, &receiver, &report))?;
        Ok(StoreThread { sender, thread })
    }

    /// Hands over a batch.
    pub fn submit(&self, batch: Box<Batch>) {
        // The thread ends only after it was told to close.
        let _ = self.sender.send(ToStore::Batch(batch));
    }

    /// Lets the thread close the store and end.
    pub fn close(&self, delete: bool) {
        let _ = self.sender.send(ToStore::Close { delete });
    }

    /// Waits for the end of the thread.
    pub fn join(self) {
        drop(self.sender);
        let _ = self.thread.join();
    }
}

/// Returns the options of a new store, or why there can be none.
pub type CreateFunction = Box<dyn FnOnce() -> Result<CreateOptions, String> + Send>;

fn run(
    path: &Path,
    create: Option<CreateFunction>,
    settings: StoreSettings,
    receiver: &Receiver<ToStore>,
    report: &impl Fn(FromStore),
) {
    let (store, created) = match open(path, create, settings.durability) {
        Ok(opened) => opened,
        Err(message) => return report(FromStore::Opened(Box::new(Err(message)))),
    };
    let claims = NumberedClaims::new(settings.claim_timeout, settings.max_claims);
    let mut worker = Worker::new(store, claims);
    report(FromStore::Opened(Box::new(Ok(worker.opened(created)))));
    loop {
        let message = match worker.checkpointing {
            None => receiver.recv().ok(),
            Some(_) => match receive_within(receiver, CHECKPOINT_POLL) {
                Err(RecvTimeoutError::Timeout) => {
                    worker.poll_checkpoint();
                    continue;
                }
                received => received.ok(),
            },
        };
        let Some(message) = message else { return };
        match message {
            ToStore::Batch(mut batch) => {
                let live = worker.carry_out(&mut batch);
                report(FromStore::Answered(batch, live));
            }
            ToStore::Close { delete } => {
                let closed = match delete {
                    true => delete_store(worker.store),
                    false => worker.store.close(),
                };
                let result = closed.map_err(|error| message_of(path, &error));
                return report(FromStore::Closed {
                    deleted: delete && result.is_ok(),
                    result,
                });
            }
        }
    }
}

fn open(
    path: &Path,
    create: Option<CreateFunction>,
    durability: Durability,
) -> Result<(Store, bool), String> {
    let options = OpenOptions::new().durability(durability);
    let failed = |error: StoreError| message_of(path, &error);
    match create {
        Some(create) if std::fs::symlink_metadata(path).is_err() => {
            let store = create_store(&options, path, &create()?).map_err(failed)?;
            Ok((store, true))
        }
        _ => Ok((open_store(&options, path).map_err(failed)?, false)),
    }
}

fn message_of(path: &Path, error: &StoreError) -> String {
    dedupstore_view::error_message(path.display(), error)
}

/// The counts are reported at this interval.
const LIVE_INTERVAL: Duration = Duration::from_millis(100);
/// Observations are recorded in frames of at most this many keys.
const MOST_KEYS: usize = 16 << 10;

/// How often an idle store looks whether a checkpoint goes on.
const CHECKPOINT_POLL: Duration = Duration::from_millis(10);

struct Worker {
    store: Store,
    /// The generation before the checkpoint that is under way, if it was asked for.
    checkpointing: Option<u64>,
    claims: NumberedClaims,
    verdicts: Vec<Verdict>,
    /// The number of keys that are observed at once.
    at_once: usize,
    reported: Instant,
    /// How many keys the store holds, once a client has asked: computing it takes longer than opening
    /// a small store.
    capacity: Option<i64>,
}

impl Worker {
    fn new(store: Store, claims: NumberedClaims) -> Self {
        let mut at_once = store.batch_limit().min(MOST_KEYS);
        if store.max_fpr().is_some() {
            // A store with a limit must stop close to it.
            at_once = at_once.min((store.filter().cells() / 1024).clamp(64, 1 << 14) as usize);
        }
        Worker {
            capacity: None,
            verdicts: vec![Verdict::New; at_once],
            at_once,
            claims,
            store,
            checkpointing: None,
            reported: now(),
        }
    }

    fn opened(&self, created: bool) -> OpenedStore {
        OpenedStore {
            hasher: self.store.hasher(),
            parameters: self.store.parameters().clone(),
            created,
            recovered: self.store.recovery().replayed,
            live: self.live(),
        }
    }

    fn live(&self) -> Live {
        let registers = self.store.registers();
        Live {
            observations: registers.observations(),
            new: registers.new_count(),
            seen: registers.seen_count(),
            forgotten: registers.forgotten(),
            sequence: self.store.sequence(),
            durable: self.store.durable_sequence(),
            load: self.store.load(),
            false_positive_rate: self.store.false_positive_rate(),
            claims: self.claims.len() as u64,
            generation: self.store.generation(),
        }
    }

    /// Goes on with a checkpoint, as every observation does.
    fn poll_checkpoint(&mut self) {
        let polled = self.store.observe_batch(&[], &mut []);
        let is_done = |before| self.store.generation() != before;
        if polled.is_err() || self.checkpointing.is_some_and(is_done) {
            self.checkpointing = None;
        }
    }

    /// Answers every operation of a batch.
    fn carry_out(&mut self, batch: &mut Batch) -> Option<Live> {
        batch.outcomes.resize(batch.keys.len(), FAILED);
        if self.store.filter().needs().tick {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            self.store.advance_clock(since.map_or(0, |it| it.as_secs()));
        }
        let operations = std::mem::take(&mut batch.operations);
        let (mut next, mut from) = (0, 0);
        while let Some(operation) = operations.get(next) {
            // Operations of the same kind are one batch for the filter.
            let mut to = from + operation.keys as usize;
            next += 1;
            while let Some(following) = operations.get(next)
                && is_same(operation, following)
            {
                to += following.keys as usize;
                next += 1;
            }
            let done = match &operation.kind {
                Kind::Observe => self.observe(batch, from, to),
                Kind::Contains => {
                    self.contains(batch, from, to);
                    Ok(())
                }
                Kind::Forget => self.forget(batch, from, to),
                Kind::Other(other) => {
                    let answer = self.answer(other, batch, from, to);
                    batch.answers.push(answer);
                    Ok(())
                }
            };
            if let Err(error) = done {
                batch.failure = Some(error.to_string());
            }
            from = to;
        }
        batch.operations = operations;
        let now = now();
        let is_due = now.duration_since(self.reported) >= LIVE_INTERVAL;
        is_due.then(|| {
            self.reported = now;
            self.live()
        })
    }

    /// Adds keys. After an error, the rest keep the outcome [`FAILED`].
    fn observe(&mut self, batch: &mut Batch, from: usize, to: usize) -> Result<(), StoreError> {
        let (keys, outcomes) = (&batch.keys[from..to], &mut batch.outcomes[from..to]);
        let parts = keys.chunks(self.at_once);
        for (keys, outcomes) in parts.zip(outcomes.chunks_mut(self.at_once)) {
            if is_full(&self.store) {
                for (key, outcome) in keys.iter().zip(outcomes) {
                    let verdict = self.store.contains_fingerprint(key.fingerprint);
                    *outcome = if verdict.is_seen() { NO } else { FULL };
                }
                continue;
            }
            let verdicts = &mut self.verdicts[..keys.len()];
            if planted(Mutant::AnsweredBeforeWritten) {
                self.store.observe_batch(keys, verdicts)?;
            } else {
                // In the log on return, which `observe_batch` does not promise.
                self.store.observe_pending(keys, verdicts)?.commit()?;
            }
            for (verdict, outcome) in verdicts.iter().zip(outcomes) {
                *outcome = Outcome::from(verdict.is_new());
            }
        }
        Ok(())
    }

    fn contains(&self, batch: &mut Batch, from: usize, to: usize) {
        let outcomes = &mut batch.outcomes[from..to];
        for (key, outcome) in batch.keys[from..to].iter().zip(outcomes) {
            let verdict = self.store.contains_fingerprint(key.fingerprint);
            *outcome = Outcome::from(verdict.is_seen());
        }
    }

    fn forget(&mut self, batch: &mut Batch, from: usize, to: usize) -> Result<(), StoreError> {
        let keys = batch.keys[from..to].iter().map(|key| key.fingerprint);
        let keys: Vec<_> = keys.collect();
        let mut verdicts = vec![Verdict::New; keys.len()];
        self.store.forget_batch(&keys, &mut verdicts)?;
        for (verdict, outcome) in verdicts.iter().zip(&mut batch.outcomes[from..to]) {
            *outcome = if verdict.is_seen() { YES } else { NO };
        }
        Ok(())
    }

    fn answer(&mut self, other: &Other, batch: &Batch, from: usize, to: usize) -> Answer {
        let failed = |error: StoreError| Answer::Error(format!("ERR {error}"));
        let keys = &batch.keys[from..to];
        let registers = self.store.registers();
        match other {
            Other::Claim { .. } if is_full(&self.store) => Answer::Error(IS_FULL.to_owned()),
            Other::Claim { owner, encoding } => {
                let mut answers = Vec::with_capacity(keys.len());
                let store = &mut self.store;
                match (
                    self.claims.claim(store, keys, *owner, &mut answers),
                    encoding,
                ) {
                    (Err(_), _) => Answer::Error(
                        "ERR too many claims wait for a commit; commit or abort some, or raise \
                         --max-claims"
                            .to_owned(),
                    ),
                    (Ok(()), TicketEncoding::Integers) => Answer::Integers(answers),
                    (Ok(()), TicketEncoding::Bytes) => {
                        Answer::Bytes(answers.iter().flat_map(|it| it.to_le_bytes()).collect())
                    }
                }
            }
            Other::Commit(numbers) => {
                let committed = self.claims.commit(&mut self.store, numbers);
                committed.map_or_else(failed, Answer::Integers)
            }
            Other::Abort(numbers) => Answer::Integers(self.claims.abort(&mut self.store, numbers)),
            Other::AbortOwned(owner) => {
                self.claims.abort_owned(&mut self.store, *owner);
                Answer::Done
            }
            Other::Cardinality => {
                Answer::Integer((registers.new_count() - registers.forgotten()) as i64)
            }
            Other::Information => Answer::Information(Information {
                capacity: *self
                    .capacity
                    .get_or_insert_with(|| describe::capacity(&self.store)),
                size: self.store.layout().region_bytes as i64,
                items: (registers.new_count() - registers.forgotten()) as i64,
                expansion: self.store.filter().growth(registers).map(|_| 2),
            }),
            Other::Describe => Answer::Bytes(describe::as_json(&self.store).into_bytes()),
            Other::Inspect { json } => Answer::Inspect {
                json: *json,
                live: self.live(),
            },
            Other::Explain => match keys.first() {
                Some(key) => Answer::Map(describe::evidence(&self.store, key.fingerprint)),
                None => Answer::Error("ERR expected a key".to_owned()),
            },
            Other::Sync => match self.store.sync() {
                Ok(()) => Answer::Integer(1),
                Err(error) => failed(error),
            },
            // In the background: clients do not wait for it.
            Other::Checkpoint => match self.store.begin_checkpoint() {
                Ok(()) => {
                    self.checkpointing = Some(self.store.generation());
                    Answer::Done
                }
                Err(error) => failed(error),
            },
        }
    }
}

/// Returns whether the false positive rate has reached the store's limit.
fn is_full(store: &Store) -> bool {
    let limit = store.max_fpr();
    limit.is_some_and(|limit| store.false_positive_rate() >= limit)
}

fn is_same(one: &Operation, other: &Operation) -> bool {
    matches!(
        (&one.kind, &other.kind),
        (Kind::Observe, Kind::Observe)
            | (Kind::Contains, Kind::Contains)
            | (Kind::Forget, Kind::Forget)
    )
}
