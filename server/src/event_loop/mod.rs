//! The thread that reads and writes all sockets.
//!
//! A turn of the loop handles everything that has happened: sockets that became ready, and answers
//! of stores. Requests of all connections are gathered in one batch per store, which is handed over
//! at the end of the turn.
//!
//! **Invariant:** the loop never waits for a store, a disk or a client.

mod messages;
mod stopping;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mio::Token;

use crate::batch::{Answer, ReplyTo};
use crate::command::{self, Context, Flow};
use crate::concurrency::{Events, Listener, Poll, Receiver, Sender, Socket, Waker, channel, now};
use crate::connection::{Connection, Executing};
use crate::counters::Counters;
use crate::inspector::Inspector;
use crate::mutant::{Mutant, planted};
use crate::resp::Parsed;
use crate::resp::reply;
use crate::server::{StartError, Summary};
use crate::settings::Settings;
use crate::store_thread::FromStore;
use crate::stores::{Report, Stores};

/// A message from another thread.
#[derive(Debug)]
pub enum Message {
    Store(usize, FromStore),
    Inspected(ReplyTo, Answer),
    Checkpoint,
    Stop,
}

const WAKER: Token = Token(usize::MAX);
/// Listeners have the highest numbers.
const FIRST_LISTENER: usize = usize::MAX - 1024;
/// How often idle connections are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// How long clients have to read their last replies when the server stops.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// A round ends when its replies are expected to be larger than this.
const ROUND_BYTES: usize = 64 << 10;

pub struct EventLoop {
    poll: Poll,
    settings: Arc<Settings>,
    counters: Arc<Counters>,
    listeners: Vec<Listener>,
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
    /// Connections that can go on.
    ready: VecDeque<usize>,
    next_serial: u64,
    stores: Stores,
    inspector: Inspector,
    receiver: Receiver<Message>,
    sender: Sender<Message>,
    waker: Arc<Waker>,
    buffered_bytes: usize,
    /// When the server stops at the latest, if it stops.
    stopping: Option<Instant>,
    closing_stores: bool,
    swept: Instant,
    summary: Summary,
}

impl EventLoop {
    pub fn new(
        settings: Arc<Settings>,
        counters: Arc<Counters>,
    ) -> io::Result<(Self, Sender<Message>, Arc<Waker>)> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let (sender, receiver) = channel();
        let (to_loop, wake) = (sender.clone(), Arc::clone(&waker));
        let report: Report = Arc::new(move |store, message| {
            let _ = to_loop.send(Message::Store(store, message));
            if !planted(Mutant::NoWakeOfEventLoop) {
                let _ = wake.wake();
            }
        });
        let event_loop = EventLoop {
            poll,
            stores: Stores::new(Arc::clone(&settings), report),
            settings,
            counters,
            listeners: Vec::new(),
            connections: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            next_serial: 1,
            inspector: Inspector::default(),
            receiver,
            sender: sender.clone(),
            waker: Arc::clone(&waker),
            buffered_bytes: 0,
            stopping: None,
            closing_stores: false,
            swept: now(),
            summary: Summary::default(),
        };
        Ok((event_loop, sender, waker))
    }

    /// Starts to listen; returns the TCP addresses.
    pub fn listen(&mut self) -> Result<Vec<SocketAddr>, StartError> {
        let failed = |address: String| move |error| StartError::Listen { address, error };
        let mut listeners = Vec::new();
        for &address in &self.settings.listen {
            listeners.push(Listener::tcp(address).map_err(failed(address.to_string()))?);
        }
        if let Some(path) = &self.settings.unix {
            let name = path.display().to_string();
            listeners.push(Listener::unix(path).map_err(failed(name))?);
        }
        for (at, listener) in listeners.iter_mut().enumerate() {
            listener.register(self.poll.registry(), Token(FIRST_LISTENER + at))?;
        }
        self.listeners = listeners;
        let addresses = self.listeners.iter().filter_map(Listener::address);
        Ok(addresses.collect())
    }

    /// Opens the stores that are named, and waits for them.
    pub fn open_stores(&mut self) -> Result<(), StartError> {
        let named = self.settings.stores.clone();
        let mut paths = Vec::new();
        for (name, path) in named {
            let number = self.stores.start(&name, path.clone(), None)?;
            paths.push((number, path));
        }
        for _ in 0..paths.len() {
            let Ok(Message::Store(number, FromStore::Opened(opened))) = self.receiver.recv() else {
                break;
            };
            if let Err(message) = &*opened {
                let path = paths.iter().find(|(it, _)| *it == number);
                return Err(StartError::Store {
                    path: path.map(|(_, path)| path.clone()).unwrap_or_default(),
                    message: message.clone(),
                });
            }
            self.opened(number, *opened);
        }
        Ok(())
    }

    /// Answers requests until the server is stopped and all stores are closed.
    pub fn run(mut self) -> io::Result<Summary> {
        self.counters.ready.store(true, Ordering::Release);
        let mut events = Events::with_capacity(1024);
        loop {
            let timeout = match (self.ready.is_empty(), self.stopping) {
                (false, _) => Duration::ZERO,
                (true, Some(_)) => Duration::from_millis(10),
                (true, None) => SWEEP_INTERVAL,
            };
            match self.poll.poll(&mut events, Some(timeout)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            for event in &events {
                match event.token() {
                    WAKER => {}
                    Token(token) if token >= FIRST_LISTENER => self.accept(token - FIRST_LISTENER),
                    Token(token) => {
                        if let Some(Some(connection)) = self.connections.get_mut(token) {
                            connection.readable |= event.is_readable() || event.is_read_closed();
                            connection.ended |= event.is_read_closed() || event.is_error();
                        }
                        self.enqueue(token);
                    }
                }
            }
            while let Ok(message) = self.receiver.try_recv() {
                self.handle(message);
            }
            // Those that become ready meanwhile have their turn after the sockets were looked at.
            for _ in 0..self.ready.len() {
                if let Some(number) = self.ready.pop_front() {
                    self.advance(number);
                }
            }
            self.stores.submit_all(&self.counters);
            if now().duration_since(self.swept) >= SWEEP_INTERVAL {
                self.sweep();
            }
            if self.stopping.is_some() && self.drain() {
                return Ok(self.summary);
            }
        }
    }

    fn enqueue(&mut self, number: usize) {
        if let Some(Some(connection)) = self.connections.get_mut(number)
            && !std::mem::replace(&mut connection.queued, true)
        {
            self.ready.push_back(number);
        }
    }

    fn accept(&mut self, listener: usize) {
        while let Some(listener) = self.listeners.get(listener) {
            let mut socket = match listener.accept(self.settings.tls.as_ref()) {
                Ok(socket) => socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                // Out of descriptors, for example. The next connection tries again.
                Err(error) => {
                    Counters::add(&self.counters.rejected, 1);
                    (self.settings.log)("cannot accept", &[("error", error.to_string())]);
                    return;
                }
            };
            let open = self.connections.len() - self.free.len();
            if open >= self.settings.limits.clients || self.stopping.is_some() {
                let _ = socket.write(b"-ERR max number of clients reached\r\n");
                Counters::add(&self.counters.rejected, 1);
                continue;
            }
            self.add(socket);
        }
    }

    fn add(&mut self, mut socket: Socket) {
        let number = self.free.pop().unwrap_or(self.connections.len());
        if socket
            .register(self.poll.registry(), Token(number))
            .is_err()
        {
            if number < self.connections.len() {
                self.free.push(number);
            }
            return;
        }
        let authenticated = self.settings.password.is_none();
        let connection = Connection::new(socket, self.next_serial, authenticated);
        self.next_serial += 1;
        match self.connections.get_mut(number) {
            Some(place) => *place = Some(Box::new(connection)),
            None => self.connections.push(Some(Box::new(connection))),
        }
        Counters::add(&self.counters.accepted, 1);
        self.counters.connections.fetch_add(1, Ordering::Relaxed);
        self.enqueue(number);
    }

    /// Closes a connection that was taken out of its place.
    fn close(&mut self, number: usize, mut connection: Box<Connection>) {
        connection.socket.close();
        connection.socket.deregister(self.poll.registry());
        self.buffered_bytes -= connection.reported_bytes;
        if connection.session.owns_claims {
            self.stores.abort_claims_of(number, connection.serial);
        }
        if let Some(store) = connection.parking.store.and_then(|it| self.stores.get(it)) {
            store.parked.retain(|&parked| parked != number);
        }
        self.free.push(number);
        self.counters.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Lets a connection go on as far as it can.
    fn advance(&mut self, number: usize) {
        let Some(mut connection) = self.connections.get_mut(number).and_then(Option::take) else {
            return;
        };
        connection.queued = false;
        let goes_on = self.advance_taken(number, &mut connection);
        let bytes = connection.buffered_bytes();
        self.buffered_bytes = self.buffered_bytes - connection.reported_bytes + bytes;
        connection.reported_bytes = bytes;
        self.counters
            .buffered_bytes
            .store(self.buffered_bytes as u64, Ordering::Relaxed);
        match goes_on {
            true => self.connections[number] = Some(connection),
            false => self.close(number, connection),
        }
    }

    /// Returns false if the connection is to be closed.
    fn advance_taken(&mut self, number: usize, connection: &mut Connection) -> bool {
        loop {
            if !connection.output.is_empty() {
                match connection.send() {
                    Err(_) => return false,
                    Ok((count, is_all)) => {
                        Counters::add(&self.counters.written_bytes, count as u64);
                        if count > 0 {
                            connection.active = now();
                        }
                        if !is_all {
                            return true;
                        }
                    }
                }
            }
            if connection.session.is_waiting() || connection.parking.store.is_some() {
                return true;
            }
            if connection.session.closing && !connection.session.has_replies() {
                return false;
            }
            let deferred = !connection.session.closing && self.round(number, connection);
            let session = &mut connection.session;
            if session.is_waiting() || connection.parking.store.is_some() {
                return true;
            }
            if session.has_replies() {
                session.finish_round(&mut connection.output);
                continue;
            }
            if session.closing {
                return false;
            }
            if deferred {
                connection.queued = true;
                self.ready.push_back(number);
                return true;
            }
            if !connection.readable || self.stopping.is_some() {
                return true;
            }
            if self.buffered_bytes > self.settings.limits.buffered_bytes
                && connection.reported_bytes > ROUND_BYTES
            {
                let text = "ERR the server's buffers are full; send smaller requests";
                reply::error(&mut connection.output, text);
                connection.session.closing = true;
                continue;
            }
            match connection.fill() {
                Ok(0) => return false,
                Ok(count) => {
                    Counters::add(&self.counters.read_bytes, count as u64);
                    connection.active = now();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    connection.readable = false;
                    return true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }

    /// Carries out the requests that have arrived, until the round is full. Returns whether a batch
    /// was full, so that the connection must try again.
    fn round(&mut self, number: usize, connection: &mut Connection) -> bool {
        let (mut stop, mut requests) = (false, 0);
        let limits = &self.settings.limits;
        let serial = connection.serial;
        let mut deferred = false;
        while connection.session.requests < limits.pipeline
            && connection.session.expected_bytes() < ROUND_BYTES
            && !connection.session.closing
        {
            let length = match connection.next_request(&limits.request) {
                Ok(Parsed::Complete(length)) => length,
                Ok(Parsed::Incomplete) => break,
                Err(error) => {
                    Counters::add(&self.counters.protocol_errors, 1);
                    connection
                        .session
                        .error(&format!("ERR Protocol error: {error}"));
                    connection.session.closing = true;
                    break;
                }
            };
            if self.stores.any_full {
                deferred = true;
                break;
            }
            let (arguments, session, parking) = connection.request();
            if arguments.is_empty() {
                connection.consume(length);
                continue;
            }
            let mut context = Context {
                connection: number,
                serial,
                session,
                stores: &mut self.stores,
                settings: &self.settings,
                counters: &self.counters,
                parking,
                stop: &mut stop,
            };
            match command::run(&mut context, arguments) {
                Flow::Next => {
                    connection.consume(length);
                    // What came of waiting is for this request only.
                    connection.parking.created = None;
                    connection.parking.failure = None;
                }
                Flow::Park => break,
                Flow::Execute => {
                    connection.consume(length);
                    let transaction = connection.session.transaction.take().unwrap_or_default();
                    let count = transaction.count;
                    connection
                        .session
                        .reply(|output, _| reply::array(output, count));
                    connection.executing = (count > 0).then(|| Executing {
                        bytes: transaction.bytes,
                        ..Executing::default()
                    });
                }
            }
            connection.session.requests += 1;
            requests += 1;
        }
        Counters::add(&self.counters.commands, requests);
        if stop {
            self.stop();
        }
        deferred
    }
}
