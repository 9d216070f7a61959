//! Starting, stopping and running a server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use crate::concurrency::{Sender, Waker};
use crate::counters::Counters;
use crate::event_loop::{EventLoop, Message};
use crate::settings::Settings;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Cannot listen on an address.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address or path.
        address: String,
        /// What is wrong.
        error: io::Error,
    },
    /// The operating system provides no events.
    #[error("cannot wait for events: {0}")]
    Events(#[from] io::Error),
    /// A store cannot be opened.
    #[error("{message}")]
    Store {
        /// The store.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
}

/// What a server did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The number of stores that were closed.
    pub stores: usize,
    /// What went wrong with the others.
    pub failures: Vec<String>,
}

/// A server that listens and does not answer yet.
pub struct Server {
    event_loop: EventLoop,
    handle: Handle,
    addresses: Vec<SocketAddr>,
}

/// Controls a running server from other threads.
#[derive(Clone)]
pub struct Handle {
    sender: Sender<Message>,
    waker: Arc<Waker>,
    counters: Arc<Counters>,
}

impl Handle {
    /// Lets the server answer what is under way, close all stores, and end.
    pub fn stop(&self) {
        self.send(Message::Stop);
    }

    /// Takes a checkpoint of every open store.
    pub fn checkpoint(&self) {
        self.send(Message::Checkpoint);
    }

    /// Returns the counts.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    fn send(&self, message: Message) {
        let _ = self.sender.send(message);
        let _ = self.waker.wake();
    }
}

impl Server {
    /// Listens, and opens the stores that are named.
    pub fn start(settings: Settings) -> Result<Self, StartError> {
        let settings = Arc::new(settings);
        let counters = Arc::new(Counters::default());
        let (mut event_loop, sender, waker) =
            EventLoop::new(Arc::clone(&settings), Arc::clone(&counters))?;
        let addresses = event_loop.listen()?;
        event_loop.open_stores()?;
        Ok(Server {
            event_loop,
            handle: Handle {
                sender,
                waker,
                counters,
            },
            addresses,
        })
    }

    /// Returns the TCP addresses on which it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns a handle for other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Answers requests until it is stopped.
    pub fn run(self) -> io::Result<Summary> {
        self.event_loop.run()
    }
}
