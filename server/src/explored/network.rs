//! Simulated connections: a buffer of bounded size in each direction.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use mio::Token;
use shuttle::sync::{Condvar, Mutex, MutexGuard};

use super::events::Registry;

thread_local! {
    static LISTENERS: RefCell<HashMap<PathBuf, Arc<Backlog>>> = RefCell::default();
}

pub fn reset() {
    LISTENERS.take();
}

/// Connects to a server that listens on a path. None if nobody listens. Each direction holds at most
/// so many bytes that are not read.
pub fn connect(path: &Path, buffer_bytes: usize) -> Option<ClientSocket> {
    let backlog = LISTENERS.with_borrow(|listeners| listeners.get(path).cloned())?;
    let stream = Arc::new(Stream {
        state: Mutex::new(State {
            buffer_bytes,
            ..State::default()
        }),
        changed: Condvar::new(),
    });
    let mut waiting = lock(&backlog.0);
    if waiting.closed {
        return None;
    }
    waiting.streams.push_back(Arc::clone(&stream));
    if let Some((registry, token)) = &waiting.registered {
        registry.report(*token, true, false);
    }
    Some(ClientSocket(stream))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Registered = Option<(Registry, Token)>;

/// Connections that are not accepted.
#[derive(Default)]
struct Backlog(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    streams: VecDeque<Arc<Stream>>,
    registered: Registered,
    closed: bool,
}

/// Accepts connections.
pub struct Listener(Arc<Backlog>, PathBuf);

impl Listener {
    pub fn tcp(_: SocketAddr) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn unix(path: &Path) -> io::Result<Self> {
        let backlog = Arc::<Backlog>::default();
        let copy = Arc::clone(&backlog);
        LISTENERS.with_borrow_mut(|listeners| listeners.insert(path.to_owned(), copy));
        Ok(Listener(backlog, path.to_owned()))
    }

    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        lock(&self.0.0).registered = Some((registry.clone(), token));
        Ok(())
    }

    pub fn accept(&self, _: Option<&Arc<rustls::ServerConfig>>) -> io::Result<Socket> {
        match lock(&self.0.0).streams.pop_front() {
            Some(stream) => Ok(Socket(stream)),
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    pub fn address(&self) -> Option<SocketAddr> {
        None
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        LISTENERS.with_borrow_mut(|listeners| listeners.remove(&self.1));
        let mut waiting = lock(&self.0.0);
        waiting.closed = true;
        let streams = std::mem::take(&mut waiting.streams);
        drop(waiting);
        // The clients learn that nobody will accept them.
        streams.into_iter().map(Socket).for_each(drop);
    }
}

struct Stream {
    state: Mutex<State>,
    /// For the client: a server never waits for a socket.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    to_server: VecDeque<u8>,
    to_client: VecDeque<u8>,
    buffer_bytes: usize,
    registered: Registered,
    client_closed: bool,
    server_closed: bool,
}

impl State {
    /// Tells the server what the client did.
    fn report(&self, readable: bool) {
        if let Some((registry, token)) = &self.registered {
            registry.report(*token, readable, self.client_closed);
        }
    }

    fn take_replies(&mut self) -> Vec<u8> {
        if self.to_client.len() >= self.buffer_bytes {
            // Now the server can write again.
            self.report(false);
        }
        std::mem::take(&mut self.to_client).into()
    }
}

/// The server's side of a connection.
pub struct Socket(Arc<Stream>);

impl Socket {
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let mut state = lock(&self.0.state);
        state.registered = Some((registry.clone(), token));
        let readable = !state.to_server.is_empty() || state.client_closed;
        state.report(readable);
        Ok(())
    }

    pub fn deregister(&mut self, _: &Registry) {
        lock(&self.0.state).registered = None;
    }

    pub fn is_drained_by_short_reads(&self) -> bool {
        true
    }

    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = lock(&self.0.state);
        let count = buffer.len().min(state.to_server.len());
        if count == 0 && !state.client_closed {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        for (place, byte) in buffer.iter_mut().zip(state.to_server.drain(..count)) {
            *place = byte;
        }
        self.0.changed.notify_all();
        Ok(count)
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = lock(&self.0.state);
        if state.client_closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = state.buffer_bytes.saturating_sub(state.to_client.len());
        let count = room.min(bytes.len());
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        state.to_client.extend(&bytes[..count]);
        self.0.changed.notify_all();
        Ok(count)
    }

    pub fn flush(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    pub fn close(&mut self) {}
}

impl Drop for Socket {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.server_closed = true;
        state.registered = None;
        self.0.changed.notify_all();
    }
}

/// The client's side of a connection.
pub struct ClientSocket(Arc<Stream>);

impl ClientSocket {
    /// Sends everything, and meanwhile receives: a server reads no more while nobody reads its
    /// replies. Returns false if the server has closed the connection.
    pub fn send(&self, mut bytes: &[u8], received: &mut Vec<u8>) -> bool {
        while !bytes.is_empty() {
            let must_wait = |state: &mut State| {
                let is_full = state.to_server.len() >= state.buffer_bytes;
                is_full && state.to_client.is_empty() && !state.server_closed
            };
            let waited = self.0.changed.wait_while(lock(&self.0.state), must_wait);
            let mut state = waited.unwrap_or_else(PoisonError::into_inner);
            received.extend(state.take_replies());
            if state.server_closed {
                return false;
            }
            let room = state.buffer_bytes - state.to_server.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            state.to_server.extend(now);
            state.report(true);
            bytes = later;
        }
        true
    }

    /// Waits for bytes and returns them; none at the end of the stream.
    pub fn receive(&self) -> Vec<u8> {
        let is_empty = |state: &mut State| state.to_client.is_empty() && !state.server_closed;
        let waited = self.0.changed.wait_while(lock(&self.0.state), is_empty);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.take_replies()
    }
}

impl Drop for ClientSocket {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.client_closed = true;
        state.report(true);
    }
}
