//! A client for the commands that take the address of a server.

use std::io::{self, Read, Write};

use dedupstore::Observation;

use crate::client_stream::ClientStream;
use crate::command::encode_hashed;
use crate::resp::reply;
use crate::resp::{ProtocolError, Value, ValueParser};
use crate::server_address::ServerAddress;
use crate::tls::TlsError;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// There is no connection.
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    /// TLS cannot be set up.
    #[error("cannot use TLS: {0}")]
    Tls(#[from] TlsError),
    /// The server's certificate is not accepted.
    #[error(
        "the certificate of the server is not accepted: {0}; if its authority is your own, set \
         SSL_CERT_FILE to a file in PEM form with the authority's certificate"
    )]
    Certificate(String),
    /// The host cannot have a certificate.
    #[error("cannot use TLS: `{0}` is neither a name nor an address")]
    HostName(String),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Connection(#[from] io::Error),
    /// The server speaks another protocol.
    #[error("the server sent no valid reply: {0}")]
    Protocol(#[from] ProtocolError),
    /// The server refused the request.
    #[error("the server answered: {0}")]
    Refused(String),
    /// The server answered something else.
    #[error("the server is not a dedupstore server: it answered {0}")]
    Unexpected(String),
}

/// The answer to the claim of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashedTicket {
    /// The key is new; commit this ticket.
    New(u64),
    /// The key was seen.
    Seen,
    /// The key is claimed, and neither committed nor aborted.
    Pending,
}

/// A connection to a server that waits for each reply.
pub struct Client {
    stream: ClientStream,
    parser: ValueParser,
    store: Vec<u8>,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Client {
    /// Connects to the server of an address.
    pub fn connect(address: &ServerAddress) -> Result<Self, ClientError> {
        let mut client = Client {
            stream: ClientStream::connect(&address.endpoint)?,
            parser: ValueParser::default(),
            store: address.store.clone(),
            request: Vec::new(),
            buffer: vec![0; 64 << 10],
        };
        if let Some(password) = &address.password {
            client.call(&[b"AUTH", password])?;
        }
        Ok(client)
    }

    /// Sends a request and waits for its reply. An error reply is an error.
    pub fn call(&mut self, arguments: &[&[u8]]) -> Result<Value, ClientError> {
        self.request.clear();
        reply::array(&mut self.request, arguments.len());
        for argument in arguments {
            reply::bulk(&mut self.request, argument);
        }
        self.stream.write_all(&self.request)?;
        self.stream.flush()?;
        loop {
            if let Some(value) = self.parser.next_value()? {
                return match value {
                    Value::Error(text) => Err(ClientError::Refused(text)),
                    value => Ok(value),
                };
            }
            let count = self.stream.read(&mut self.buffer)?;
            if count == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            self.parser.push(&self.buffer[..count]);
        }
    }

    fn call_store(&mut self, command: &[u8], rest: &[&[u8]]) -> Result<Value, ClientError> {
        let store = std::mem::take(&mut self.store);
        let mut arguments = vec![command, &store[..]];
        arguments.extend_from_slice(rest);
        let answer = self.call(&arguments);
        self.store = store;
        answer
    }

    /// Returns the description of the store, as JSON. Creates it if that is wanted.
    pub fn open(&mut self, create: bool) -> Result<String, ClientError> {
        let rest: &[&[u8]] = if create { &[] } else { &[b"NOCREATE"] };
        text(self.call_store(b"DEDUP.OPEN", rest)?)
    }

    /// Returns the report of `dedupstore inspect`, or its JSON.
    pub fn inspect(&mut self, json: bool) -> Result<String, ClientError> {
        let rest: &[&[u8]] = if json { &[b"JSON"] } else { &[] };
        text(self.call_store(b"DEDUP.INSPECT", rest)?)
    }

    /// Claims hashed keys. The claims end with the connection.
    pub fn claim(&mut self, keys: &[Observation]) -> Result<Vec<HashedTicket>, ClientError> {
        let mut bytes = Vec::with_capacity(16 * keys.len());
        keys.iter().for_each(|key| encode_hashed(&mut bytes, key));
        let answer = self.call_store(b"DEDUP.HCLAIM", &[&bytes])?;
        let Value::Bulk(tickets) = &answer else {
            return Err(ClientError::Unexpected(format!("{answer:?}")));
        };
        let (tickets, rest) = tickets.as_chunks::<8>();
        if tickets.len() != keys.len() || !rest.is_empty() {
            return Err(ClientError::Unexpected(
                "a wrong number of tickets".to_owned(),
            ));
        }
        let ticket = |bytes: &[u8; 8]| match i64::from_le_bytes(*bytes) {
            0 => HashedTicket::Seen,
            number @ 1.. => HashedTicket::New(number as u64),
            _ => HashedTicket::Pending,
        };
        Ok(tickets.iter().map(ticket).collect())
    }

    /// Records claimed keys. Fails if a claim has ended.
    pub fn commit(&mut self, tickets: &[u64]) -> Result<(), ClientError> {
        if tickets.is_empty() {
            return Ok(());
        }
        let bytes: Vec<u8> = tickets.iter().flat_map(|it| it.to_le_bytes()).collect();
        let answer = self.call_store(b"DEDUP.HCOMMIT", &[&bytes])?;
        match &answer {
            Value::Array(found) if found.iter().all(|it| *it == Value::Integer(1)) => Ok(()),
            Value::Array(_) => Err(ClientError::Refused("a claim has ended".to_owned())),
            other => Err(ClientError::Unexpected(format!("{other:?}"))),
        }
    }

    /// Gives claimed keys back.
    pub fn abort(&mut self, tickets: &[u64]) -> Result<(), ClientError> {
        if tickets.is_empty() {
            return Ok(());
        }
        let tickets: Vec<_> = tickets.iter().map(u64::to_string).collect();
        let tickets: Vec<_> = tickets.iter().map(String::as_bytes).collect();
        self.call_store(b"DEDUP.ABORT", &tickets).map(|_| ())
    }

    /// Returns, per hashed key, whether it was seen.
    pub fn contains(&mut self, keys: &[Observation]) -> Result<Vec<bool>, ClientError> {
        let mut bytes = Vec::with_capacity(16 * keys.len());
        keys.iter().for_each(|key| encode_hashed(&mut bytes, key));
        let answer = self.call_store(b"DEDUP.HEXISTS", &[&bytes])?;
        match answer {
            Value::Array(found) if found.len() == keys.len() => {
                Ok(found.iter().map(|it| *it == Value::Integer(1)).collect())
            }
            other => Err(ClientError::Unexpected(format!("{other:?}"))),
        }
    }
}

fn text(value: Value) -> Result<String, ClientError> {
    match value {
        Value::Bulk(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        other => Err(ClientError::Unexpected(format!("{other:?}"))),
    }
}
