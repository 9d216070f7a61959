//! The servers. Each prints the port on which it listens, and never ends.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use dedupstore::{Observation, SeenSet, Verdict};
use dedupstore_server::RequestLimits;
use dedupstore_server::resp::{Parsed, RequestParser};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The names of the servers.
pub const KINDS: [&str; 4] = ["mio", "tokio", "tokio-2", "threads"];

const READ_BYTES: usize = 64 << 10;

/// Runs a server.
pub fn run(kind: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    println!("{}", listener.local_addr().expect("an address").port());
    let set = SeenSet::builder("blocked").expect("a valid filter");
    let set = set.memory("64MiB").build().expect("a valid size");
    let set = Arc::new(Mutex::new(set));
    match kind {
        "mio" => mio_loop(listener, &set),
        "tokio" => tokio_tasks(listener, &set, 1),
        "tokio-2" => tokio_tasks(listener, &set, 2),
        "threads" => threads(&listener, &set),
        other => panic!("no server is named {other}"),
    }
}

type Set = Arc<Mutex<SeenSet>>;

/// What a connection has received, and what it will send.
#[derive(Default)]
struct Session {
    parser: RequestParser,
    input: Vec<u8>,
    keys: Vec<Observation>,
    verdicts: Vec<Verdict>,
    output: Vec<u8>,
}

impl Session {
    /// Handles all complete requests, as one batch.
    fn handle(&mut self, received: &[u8], set: &Set) {
        self.input.extend_from_slice(received);
        let limits = RequestLimits {
            request_bytes: 1 << 20,
            argument_bytes: 1 << 16,
        };
        let mut set = set.lock().expect("no panic");
        let mut at = 0;
        self.keys.clear();
        while let Ok(Parsed::Complete(length)) = self.parser.parse(&self.input[at..], &limits) {
            let arguments = self.parser.arguments(&self.input[at..at + length]);
            let fingerprint = set.hasher().fingerprint(arguments.get(2));
            self.keys.push(fingerprint.into());
            at += length;
        }
        self.input.drain(..at);
        self.verdicts.resize(self.keys.len(), Verdict::New);
        set.observe_batch(&self.keys, &mut self.verdicts);
        drop(set);
        for verdict in &self.verdicts {
            let reply: &[u8] = if verdict.is_new() {
                b":1\r\n"
            } else {
                b":0\r\n"
            };
            self.output.extend_from_slice(reply);
        }
    }
}

fn mio_loop(listener: TcpListener, set: &Set) {
    use mio::net::{TcpListener, TcpStream};
    use mio::{Events, Interest, Poll, Token};

    const LISTENER: Token = Token(usize::MAX);
    listener.set_nonblocking(true).expect("supported");
    let mut listener = TcpListener::from_std(listener);
    let mut poll = Poll::new().expect("a poll");
    let registry = poll.registry().try_clone().expect("a registry");
    registry
        .register(&mut listener, LISTENER, Interest::READABLE)
        .expect("registered");
    let mut connections: HashMap<usize, (TcpStream, Session)> = HashMap::new();
    let mut next = 0;
    let mut events = Events::with_capacity(1024);
    let mut buffer = vec![0; READ_BYTES];
    loop {
        poll.poll(&mut events, None).expect("polled");
        for event in &events {
            if event.token() == LISTENER {
                while let Ok((mut stream, _)) = listener.accept() {
                    let _ = stream.set_nodelay(true);
                    let interest = Interest::READABLE | Interest::WRITABLE;
                    registry
                        .register(&mut stream, Token(next), interest)
                        .expect("registered");
                    connections.insert(next, (stream, Session::default()));
                    next += 1;
                }
                continue;
            }
            let Some((stream, session)) = connections.get_mut(&event.token().0) else {
                continue;
            };
            if !serve_ready(stream, session, &mut buffer, set) {
                connections.remove(&event.token().0);
            }
        }
    }
}

/// Reads and answers until the socket would block; returns whether the connection is alive.
fn serve_ready(
    stream: &mut (impl Read + Write),
    session: &mut Session,
    buffer: &mut [u8],
    set: &Set,
) -> bool {
    let would_block = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
    let mut is_drained = false;
    loop {
        while !session.output.is_empty() {
            match stream.write(&session.output) {
                Ok(count) => drop(session.output.drain(..count)),
                Err(error) => return would_block(&error),
            }
        }
        if is_drained {
            return true;
        }
        match stream.read(buffer) {
            Ok(0) => return false,
            Ok(count) => {
                session.handle(&buffer[..count], set);
                // On Linux, a short read has got everything.
                is_drained = count < buffer.len();
            }
            Err(error) => return would_block(&error),
        }
    }
}

fn tokio_tasks(listener: TcpListener, set: &Set, threads: usize) {
    let runtime = match threads {
        1 => tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build(),
        threads => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_io()
            .build(),
    };
    runtime.expect("a runtime").block_on(async {
        listener.set_nonblocking(true).expect("supported");
        let listener = tokio::net::TcpListener::from_std(listener).expect("registered");
        loop {
            let Ok((mut stream, _)) = listener.accept().await else {
                continue;
            };
            let _ = stream.set_nodelay(true);
            let set = Arc::clone(set);
            tokio::spawn(async move {
                let mut session = Session::default();
                let mut buffer = vec![0; READ_BYTES];
                while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                    session.handle(&buffer[..count], &set);
                    if stream.write_all(&session.output).await.is_err() {
                        break;
                    }
                    session.output.clear();
                }
            });
        }
    });
}

fn threads(listener: &TcpListener, set: &Set) {
    for stream in listener.incoming().flatten() {
        let set = Arc::clone(set);
        std::thread::spawn(move || serve_blocking(stream, &set));
    }
}

fn serve_blocking(mut stream: TcpStream, set: &Set) {
    let _ = stream.set_nodelay(true);
    let mut session = Session::default();
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        session.handle(&buffer[..count], set);
        if stream.write_all(&session.output).is_err() {
            break;
        }
        session.output.clear();
    }
}
