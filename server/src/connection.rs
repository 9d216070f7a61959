//! A connection: its socket, the bytes that have arrived, and those that wait to be sent.

use std::io;
use std::time::Instant;

use crate::command::Parking;
use crate::concurrency::{Socket, now};
use crate::resp::request::RequestLimits;
use crate::resp::{Arguments, Parsed, ProtocolError, RequestParser};
use crate::session::Session;

/// The size of the first buffer, and the least room for a read.
const LEAST_BUFFER: usize = 16 << 10;
/// A buffer above this size is given back when it is empty.
const USUAL_BUFFER: usize = 256 << 10;
/// A read gets at most so much, so that other connections have their turn.
const MOST_READ: usize = 256 << 10;

/// The requests of a transaction, and how many bytes of them are carried out.
#[derive(Debug, Default)]
pub struct Executing {
    pub bytes: Vec<u8>,
    pub start: usize,
    pub parser: RequestParser,
}

/// A connection to a client.
pub struct Connection {
    pub socket: Socket,
    /// Tells apart connections that had the same number.
    pub serial: u64,
    pub session: Session,
    pub parser: RequestParser,
    pub parking: Parking,
    /// The requests of a transaction that is being carried out.
    pub executing: Option<Executing>,
    /// The buffer; the part between `start` and `end` has arrived and is not parsed.
    input: Vec<u8>,
    start: usize,
    end: usize,
    pub output: Vec<u8>,
    /// How much of the output is sent.
    sent: usize,
    /// Whether the socket may have more to read.
    pub readable: bool,
    /// Whether the client has ended its side: then everything is read up to the end.
    pub ended: bool,
    /// Whether it waits for its turn.
    pub queued: bool,
    /// When it last sent or received something.
    pub active: Instant,
    /// The bytes of its buffers, as last reported.
    pub reported_bytes: usize,
}

impl Connection {
    pub fn new(socket: Socket, serial: u64, authenticated: bool) -> Self {
        Connection {
            socket,
            serial,
            session: Session::new(authenticated),
            parser: RequestParser::default(),
            parking: Parking::default(),
            executing: None,
            input: Vec::new(),
            start: 0,
            end: 0,
            output: Vec::new(),
            sent: 0,
            readable: true,
            ended: false,
            queued: false,
            active: now(),
            reported_bytes: 0,
        }
    }

    /// Parses the next request: of the transaction that is being carried out, or of what has
    /// arrived. Returns its length.
    pub fn next_request(&mut self, limits: &RequestLimits) -> Result<Parsed, ProtocolError> {
        match &mut self.executing {
            Some(executing) => {
                let bytes = &executing.bytes[executing.start..];
                executing.parser.parse(bytes, limits)
            }
            None => self.parser.parse(&self.input[self.start..self.end], limits),
        }
    }

    /// Returns the parsed request, and what it works on.
    pub fn request(&mut self) -> (Arguments<'_>, &mut Session, &mut Parking) {
        let arguments = match &self.executing {
            Some(executing) => executing
                .parser
                .arguments(&executing.bytes[executing.start..]),
            None => self.parser.arguments(&self.input[self.start..self.end]),
        };
        (arguments, &mut self.session, &mut self.parking)
    }

    /// Removes a request of this length.
    pub fn consume(&mut self, length: usize) {
        if let Some(executing) = &mut self.executing {
            executing.start += length;
            if executing.start >= executing.bytes.len() {
                self.executing = None;
            }
            return;
        }
        self.start = (self.start + length).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.input.len() > USUAL_BUFFER {
                self.input = Vec::new();
            }
        }
    }

    /// Reads more bytes; 0 at the end of the stream.
    pub fn fill(&mut self) -> io::Result<usize> {
        if self.start > 0 {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.input.len() - self.end < LEAST_BUFFER / 2 {
            // By what has arrived, never by what a client claims.
            let length = (2 * self.input.len()).max(LEAST_BUFFER);
            self.input.resize(length, 0);
        }
        let most = self.input.len().min(self.end + MOST_READ);
        let room = most - self.end;
        let count = self.socket.read(&mut self.input[self.end..most])?;
        self.end += count;
        if count < room && !self.ended && self.socket.is_drained_by_short_reads() {
            // Saves a read that would find nothing. When more arrives, there is another event.
            self.readable = false;
        }
        Ok(count)
    }

    /// Sends as much output as the socket takes; returns whether all is sent.
    pub fn send(&mut self) -> io::Result<(usize, bool)> {
        let before = self.sent;
        while self.sent < self.output.len() {
            match self.socket.write(&self.output[self.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok((self.sent - before, false));
                }
                Err(error) => return Err(error),
            }
        }
        let count = self.sent - before;
        if !self.socket.flush()? {
            return Ok((count, false));
        }
        self.output.clear();
        self.output.shrink_to(USUAL_BUFFER);
        self.sent = 0;
        Ok((count, true))
    }

    /// Returns the memory of the buffers.
    pub fn buffered_bytes(&self) -> usize {
        self.input.len() + self.output.capacity()
    }
}
