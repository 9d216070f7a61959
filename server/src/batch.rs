//! What the event loop asks of a store, and what the store answers.
//!
//! A batch holds the requests of many clients, in the order in which they arrived. The keys of all
//! of them are in one array, so that a store observes them as one batch. A batch goes to the thread
//! of its store and comes back, and is then used again: there is no allocation per key.

use dedupstore::Observation;

/// Which reply an operation belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyTo {
    /// The number of the connection.
    pub connection: usize,
    /// Which of the connections that had this number.
    pub serial: u64,
    /// The number of the reply in the connection's round.
    pub slot: u32,
}

/// The result for one key.
pub type Outcome = u8;
/// The key is not there, or was there before it was added.
pub const NO: Outcome = 0;
/// The key is there, or was added.
pub const YES: Outcome = 1;
/// The key is new, and the store is as full as it may be.
pub const FULL: Outcome = 2;
/// The store has failed; the batch says why.
pub const FAILED: Outcome = 3;

/// What to do with the keys of an operation.
#[derive(Debug)]
pub enum Kind {
    /// Add them.
    Observe,
    /// Look them up.
    Contains,
    /// Take them out.
    Forget,
    /// Something else, which has an answer of its own.
    Other(Other),
}

/// An operation whose answer is not one result per key.
#[derive(Debug)]
pub enum Other {
    /// Claim the keys. With an owner, the claims end when the connection closes.
    Claim {
        owner: Option<u64>,
        encoding: TicketEncoding,
    },
    /// Record claimed keys.
    Commit(Vec<u64>),
    /// Give claimed keys back.
    Abort(Vec<u64>),
    /// Give back what a closed connection has claimed; nobody waits for the answer.
    AbortOwned(u64),
    /// The number of keys.
    Cardinality,
    /// RedisBloom's information.
    Information,
    /// What a client needs to hash keys, and the counters.
    Describe,
    /// The description of `dedupstore inspect`.
    Inspect { json: bool },
    /// The cells that decide about a key.
    Explain,
    /// Make everything durable.
    Sync,
    /// Write a checkpoint.
    Checkpoint,
}

/// How tickets are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketEncoding {
    /// An array of integers.
    Integers,
    /// A bulk string with eight bytes per ticket.
    Bytes,
}

/// The answer to an [`Other`] operation.
#[derive(Debug, PartialEq)]
pub enum Answer {
    Integer(i64),
    Integers(Vec<i64>),
    Bytes(Vec<u8>),
    Information(Information),
    /// Names and values.
    Map(Vec<(&'static str, String)>),
    /// The store's file system knows the rest: the event loop lets another thread inspect it.
    Inspect {
        json: bool,
        live: Live,
    },
    Done,
    Error(String),
}

/// What BF.INFO shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Information {
    pub capacity: i64,
    pub size: i64,
    pub items: i64,
    /// None if the filter does not grow.
    pub expansion: Option<i64>,
}

/// Counts of an open store, which are ahead of those in its files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Live {
    pub observations: u64,
    pub new: u64,
    pub seen: u64,
    pub forgotten: u64,
    pub sequence: u64,
    pub durable: u64,
    pub load: f64,
    pub false_positive_rate: f64,
    pub claims: u64,
    pub generation: u64,
}

/// An operation on some of the batch's keys: those that follow the keys of the operation before.
#[derive(Debug)]
pub struct Operation {
    pub reply: ReplyTo,
    pub kind: Kind,
    pub keys: u32,
}

/// Requests of many clients to one store.
#[derive(Debug, Default)]
pub struct Batch {
    /// The keys of all operations.
    pub keys: Vec<Observation>,
    /// One result per key, after the store has answered.
    pub outcomes: Vec<Outcome>,
    pub operations: Vec<Operation>,
    /// The answers to [`Kind::Other`], in order.
    pub answers: Vec<Answer>,
    /// Why keys have the outcome [`FAILED`].
    pub failure: Option<String>,
}

impl Batch {
    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Forgets everything but the memory, unless that is much more than usual.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.outcomes.clear();
        self.operations.clear();
        self.answers.clear();
        self.failure = None;
        self.keys.shrink_to(USUAL_KEYS);
        self.outcomes.shrink_to(USUAL_KEYS);
        self.operations.shrink_to(USUAL_KEYS);
    }
}

/// The number of keys whose memory a batch keeps.
const USUAL_KEYS: usize = 128 << 10;
