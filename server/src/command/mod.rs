//! The commands, one file per family.

mod bloom;
mod claims;
mod inspection;
mod session;
mod set;
mod stores;

use std::sync::Arc;

pub use claims::encode_hashed;

use crate::batch::{Kind, Other, ReplyTo};
use crate::counters::Counters;
use crate::resp::Arguments;
use crate::session::{Flavor, Session, Shape};
use crate::settings::Settings;
use crate::stores::{Found, Stores, Wanted};

/// What the event loop does after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The next request.
    Next,
    /// The same request again, when a store is opened or closed.
    Park,
    /// The requests between MULTI and EXEC, then the next.
    Execute,
}

/// What a request works with.
pub struct Context<'a> {
    pub connection: usize,
    pub serial: u64,
    pub session: &'a mut Session,
    pub stores: &'a mut Stores,
    pub settings: &'a Arc<Settings>,
    pub counters: &'a Arc<Counters>,
    pub parking: &'a mut Parking,
    /// Set by SHUTDOWN.
    pub stop: &'a mut bool,
}

/// Why a connection waits for a store, and what came of it.
#[derive(Debug, Default)]
pub struct Parking {
    /// The store that the connection waits for.
    pub store: Option<usize>,
    /// Whether the store is created for this connection.
    pub creates: bool,
    /// The name of the store that was created for this connection.
    pub created: Option<Vec<u8>>,
    /// Why the store could not be opened, created or deleted.
    pub failure: Option<String>,
    /// The number of stores that DEL has deleted.
    pub deleted: i64,
}

/// A command.
struct Command {
    name: &'static str,
    /// The number of arguments, including the name; negative for at least so many.
    arity: i8,
    is_write: bool,
    /// Whether the first argument is the name of a store.
    has_store: bool,
    run: fn(&mut Context<'_>, Arguments<'_>) -> Flow,
}

const fn command(
    name: &'static str,
    arity: i8,
    is_write: bool,
    has_store: bool,
    run: fn(&mut Context<'_>, Arguments<'_>) -> Flow,
) -> Command {
    Command {
        name,
        arity,
        is_write,
        has_store,
        run,
    }
}

/// All commands; the frequent ones first.
const COMMANDS: &[Command] = &[
    command("bf.add", 3, true, true, bloom::add),
    command("bf.exists", 3, false, true, bloom::exists),
    command("bf.madd", -3, true, true, bloom::add_many),
    command("bf.mexists", -3, false, true, bloom::exist_many),
    command("sadd", -3, true, true, set::add),
    command("sismember", 3, false, true, set::is_member),
    command("smismember", -3, false, true, set::are_members),
    command("scard", 2, false, true, bloom::cardinality),
    command("bf.insert", -4, true, true, bloom::insert),
    command("bf.reserve", -4, true, true, bloom::reserve),
    command("bf.card", 2, false, true, bloom::cardinality),
    command("bf.info", -2, false, true, bloom::information),
    command("dedup.claim", -3, true, true, claims::claim),
    command("dedup.commit", -3, true, true, claims::commit),
    command("dedup.abort", -3, true, true, claims::abort),
    command("dedup.hadd", 3, true, true, claims::add_hashed),
    command("dedup.hclaim", 3, true, true, claims::claim_hashed),
    command("dedup.hcommit", 3, true, true, claims::commit_hashed),
    command("dedup.hexists", 3, false, true, claims::exist_hashed),
    command("dedup.open", -2, true, true, inspection::open),
    command("dedup.checkpoint", 2, false, true, inspection::checkpoint),
    command("dedup.explain", 3, false, true, inspection::explain),
    command("dedup.inspect", -2, false, true, inspection::inspect),
    command("dedup.forget", -3, true, true, set::forget),
    command("exists", -2, false, true, stores::exists),
    command("del", -2, true, true, stores::delete),
    command("expire", -3, true, true, stores::expire),
    command("waitaof", 4, false, false, stores::wait_until_durable),
    command("shutdown", -1, false, false, stores::shut_down),
    command("ping", -1, false, false, session::ping),
    command("echo", 2, false, false, session::echo),
    command("hello", -1, false, false, session::hello),
    command("auth", -2, false, false, session::authenticate),
    command("client", -2, false, false, session::client),
    command("command", -1, false, false, session::list_commands),
    command("select", 2, false, false, session::select),
    command("quit", -1, false, false, session::quit),
    command("reset", 1, false, false, session::reset),
    command("multi", 1, false, false, session::begin),
    command("exec", 1, false, false, session::execute),
    command("discard", 1, false, false, session::discard),
    command("info", -1, false, false, inspection::server),
];

/// Carries out a request.
pub fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let name = arguments.get(0);
    if is_http(name) {
        context.session.closing = true;
        return Flow::Next;
    }
    let is_named = |command: &&Command| name.eq_ignore_ascii_case(command.name.as_bytes());
    let Some(command) = COMMANDS.iter().find(is_named) else {
        let text = format!("ERR unknown command '{}'", printable(name));
        return refuse(context, &text);
    };
    let (given, arity) = (arguments.len(), i64::from(command.arity));
    let is_right = match arity {
        0.. => given as i64 == arity,
        _ => given as i64 >= -arity,
    };
    if !is_right {
        return refuse(context, &wrong_number(command.name));
    }
    if !context.session.authenticated && !matches!(command.name, "auth" | "hello" | "quit") {
        return refuse(context, "NOAUTH Authentication required.");
    }
    if context.session.transaction.is_some()
        && !matches!(
            command.name,
            "exec" | "discard" | "multi" | "quit" | "reset"
        )
    {
        return session::enqueue(context, arguments);
    }
    (command.run)(context, arguments)
}

/// Returns whether a line comes from an HTTP client. A page in a browser can let it send a request to
/// a server on the same machine, whose body would be carried out as commands. Redis, too, closes such
/// a connection.
fn is_http(name: &[u8]) -> bool {
    [&b"post"[..], b"host:"]
        .iter()
        .any(|word| name.eq_ignore_ascii_case(word))
}

/// Answers with an error. It also spoils a transaction.
fn refuse(context: &mut Context<'_>, text: &str) -> Flow {
    if let Some(transaction) = &mut context.session.transaction {
        transaction.refused = true;
    }
    context.session.error(text);
    Flow::Next
}

fn wrong_number(name: &str) -> String {
    format!("ERR wrong number of arguments for '{name}' command")
}

/// Returns a text for an error message.
fn printable(bytes: &[u8]) -> String {
    const MOST: usize = 64;
    let shown = &bytes[..bytes.len().min(MOST)];
    shown.escape_ascii().to_string()
}

/// A store that is open, or what to do instead.
enum OpenStore {
    Open(usize),
    Absent,
    Flow(Flow),
}

impl Context<'_> {
    /// Looks for a store. If it cannot be opened, answers with the error.
    #[inline]
    fn store(&mut self, name: &[u8], wanted: Wanted) -> OpenStore {
        if let Some(failure) = self.parking.failure.take() {
            self.session.error(&failure);
            return OpenStore::Flow(Flow::Next);
        }
        match self.stores.find(name, wanted) {
            Found::Open(store) => OpenStore::Open(store),
            Found::Absent => OpenStore::Absent,
            Found::Refused(text) => {
                self.session.error(&text);
                OpenStore::Flow(Flow::Next)
            }
            Found::Wait { store, creates } => {
                self.park(store, creates);
                OpenStore::Flow(Flow::Park)
            }
        }
    }

    /// Waits until a store is opened or closed.
    fn park(&mut self, store: usize, creates: bool) {
        self.parking.store = Some(store);
        self.parking.creates = creates;
        if let Some(served) = self.stores.get(store) {
            served.parked.push(self.connection);
        }
    }

    /// Adds keys to the batch of a store, which answers with an outcome per key.
    #[inline]
    fn push_keys<'a>(
        &mut self,
        store: usize,
        kind: Kind,
        shape: Shape,
        flavor: Flavor,
        keys: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> Flow {
        let count = keys.len();
        let Some(store) = self.stores.get(store) else {
            return Flow::Next;
        };
        // Requests with one key each that follow one another are one operation.
        let last = store.batch.operations.last_mut();
        let last = last.filter(|last| {
            last.reply.connection == self.connection
                && last.reply.serial == self.serial
                && matches!(
                    (&last.kind, &kind),
                    (Kind::Observe, Kind::Observe) | (Kind::Contains, Kind::Contains)
                )
        });
        let last_slot = last.as_ref().map(|last| last.reply.slot);
        let slot = self.session.keys(shape, flavor, count, last_slot);
        match last {
            Some(last) if slot.continued => last.keys += count as u32,
            _ => {
                let reply = ReplyTo {
                    connection: self.connection,
                    serial: self.serial,
                    slot: slot.slot,
                };
                store.push(reply, kind, count);
                self.session.await_answer();
            }
        }
        store.add_keys(keys);
        let is_full = store.is_full();
        self.stores.any_full |= is_full;
        Flow::Next
    }

    /// Adds an operation with an answer of its own, and a slot for that.
    fn push_other<'a>(
        &mut self,
        store: usize,
        other: Other,
        keys: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> Flow {
        let slot = self.session.answer();
        self.push_other_into(store, other, keys, slot)
    }

    fn push_other_into<'a>(
        &mut self,
        store: usize,
        other: Other,
        keys: impl ExactSizeIterator<Item = &'a [u8]>,
        slot: u32,
    ) -> Flow {
        let reply = ReplyTo {
            connection: self.connection,
            serial: self.serial,
            slot,
        };
        if let Some(store) = self.stores.get(store) {
            store.push(reply, Kind::Other(other), keys.len());
            self.session.await_answer();
            store.add_keys(keys);
        }
        Flow::Next
    }
}

/// Returns no keys.
fn no_keys() -> impl ExactSizeIterator<Item = &'static [u8]> {
    std::iter::empty()
}
