//! A connection that sends bytes as they are.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use dedupstore_server::resp::{Value, ValueParser};

/// A connection to a server.
pub struct Wire {
    /// The socket.
    pub stream: TcpStream,
    parser: ValueParser,
    buffer: Vec<u8>,
}

impl Wire {
    /// Connects to a server that listens.
    pub fn connect(address: &str) -> Self {
        Self::try_connect(address).expect("connected")
    }

    /// Connects to a server that may have ended.
    pub fn try_connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        stream.set_write_timeout(Some(Duration::from_secs(120)))?;
        Ok(Wire {
            stream,
            parser: ValueParser::default(),
            buffer: vec![0; 64 << 10],
        })
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Waits for a reply. Fails at the end of the stream.
    pub fn receive(&mut self) -> io::Result<Value> {
        loop {
            let value = self.parser.next_value().map_err(io::Error::other)?;
            if let Some(value) = value {
                return Ok(value);
            }
            let count = self.stream.read(&mut self.buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.parser.push(&self.buffer[..count]);
        }
    }

    /// Sends a request and waits for its reply.
    pub fn try_call(&mut self, arguments: &[&[u8]]) -> io::Result<Value> {
        self.send(&request(arguments))?;
        self.receive()
    }

    /// Sends a request, in words, and waits for its reply.
    pub fn call(&mut self, words: &str) -> Value {
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        self.try_call(&words).expect("a reply")
    }
}

/// Returns the bytes of a request.
pub fn request(arguments: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        add_argument(&mut bytes, argument);
    }
    bytes
}

/// Adds an argument to a request.
pub fn add_argument(bytes: &mut Vec<u8>, argument: &[u8]) {
    bytes.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
    bytes.extend_from_slice(argument);
    bytes.extend_from_slice(b"\r\n");
}
