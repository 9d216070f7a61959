//! Readiness of simulated sockets, with the interface of mio.
//!
//! A wait without end of time ends only by an event: so a lost wake-up is a deadlock, which the model
//! checker reports.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use mio::Token;
use shuttle::sync::{Condvar, Mutex, MutexGuard};

/// Waits of at most this time end at once: during the end of a server.
const SHORT: Duration = Duration::from_millis(100);

/// What happened to one socket.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event {
    token: usize,
    readable: bool,
    closed: bool,
}

impl Event {
    pub fn token(&self) -> Token {
        Token(self.token)
    }

    pub fn is_readable(&self) -> bool {
        self.readable
    }

    pub fn is_read_closed(&self) -> bool {
        self.closed
    }

    pub fn is_error(&self) -> bool {
        false
    }
}

/// What has happened since the last wait.
#[derive(Default)]
pub struct Events(Vec<Event>);

impl Events {
    pub fn with_capacity(_: usize) -> Self {
        Events::default()
    }
}

impl<'a> IntoIterator for &'a Events {
    type Item = &'a Event;
    type IntoIter = std::slice::Iter<'a, Event>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Where sockets report what happens to them.
#[derive(Clone, Default)]
pub struct Registry(Arc<Happened>);

#[derive(Default)]
struct Happened {
    events: Mutex<BTreeMap<usize, Event>>,
    added: Condvar,
}

impl Registry {
    fn events(&self) -> MutexGuard<'_, BTreeMap<usize, Event>> {
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports that a socket can be written to, and perhaps read from, and perhaps has ended.
    pub fn report(&self, token: Token, readable: bool, closed: bool) {
        let mut events = self.events();
        let event = events.entry(token.0).or_default();
        event.token = token.0;
        event.readable |= readable;
        event.closed |= closed;
        drop(events);
        self.0.added.notify_one();
    }
}

/// Waits for events.
pub struct Poll(Registry);

impl Poll {
    pub fn new() -> io::Result<Self> {
        Ok(Poll(Registry::default()))
    }

    pub fn registry(&self) -> &Registry {
        &self.0
    }

    pub fn poll(&mut self, events: &mut Events, time: Option<Duration>) -> io::Result<()> {
        events.0.clear();
        if time.is_some_and(|time| !time.is_zero() && time < SHORT) {
            shuttle::thread::yield_now();
        }
        let mut waiting = self.0.events();
        if time.is_none_or(|time| time >= SHORT) {
            let is_empty = |events: &mut BTreeMap<usize, Event>| events.is_empty();
            let waited = self.0.0.added.wait_while(waiting, is_empty);
            waiting = waited.unwrap_or_else(PoisonError::into_inner);
        }
        events.0.extend(std::mem::take(&mut *waiting).into_values());
        Ok(())
    }
}

/// Ends a wait from another thread.
pub struct Waker(Registry, Token);

impl Waker {
    pub fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        Ok(Waker(registry.clone(), token))
    }

    pub fn wake(&self) -> io::Result<()> {
        self.0.report(self.1, false, false);
        Ok(())
    }
}
