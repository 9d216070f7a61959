//! A connection's socket: TCP, a Unix socket, or TLS over TCP.

use std::io::{self, Read, Write};
use std::sync::Arc;

use mio::event::Source;
use mio::net::TcpStream;
#[cfg(unix)]
use mio::net::UnixStream;
use mio::{Interest, Registry, Token};
use rustls::ServerConnection;

/// A socket that does not block.
pub enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
    Tls(Box<ServerConnection>, TcpStream),
}

impl Socket {
    /// Wraps an accepted connection.
    pub fn tcp(stream: TcpStream, tls: Option<&Arc<rustls::ServerConfig>>) -> io::Result<Self> {
        // Replies are written as a whole, so waiting for more bytes gains nothing.
        stream.set_nodelay(true)?;
        #[cfg(unix)]
        {
            use rustix::net::sockopt;
            // Finds clients whose machine is gone.
            sockopt::set_socket_keepalive(&stream, true)?;
        }
        match tls {
            None => Ok(Socket::Tcp(stream)),
            Some(config) => {
                let session =
                    ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
                Ok(Socket::Tls(Box::new(session), stream))
            }
        }
    }

    /// Registers for readiness.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.source().register(registry, token, interest)
    }

    /// Ends the registration.
    pub fn deregister(&mut self, registry: &Registry) {
        let _ = self.source().deregister(registry);
    }

    fn source(&mut self) -> &mut dyn Source {
        match self {
            Socket::Tcp(stream) | Socket::Tls(_, stream) => stream,
            #[cfg(unix)]
            Socket::Unix(stream) => stream,
        }
    }

    /// Returns whether a read that gets less than it could has got everything.
    pub fn is_drained_by_short_reads(&self) -> bool {
        cfg!(target_os = "linux") && !matches!(self, Socket::Tls(..))
    }

    /// Reads what has arrived; 0 at the end of the stream. Fails with `WouldBlock` if nothing has.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.read(buffer),
            #[cfg(unix)]
            Socket::Unix(stream) => stream.read(buffer),
            Socket::Tls(session, stream) => loop {
                match session.reader().read(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    // A stream that ends without TLS's farewell ends as well.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                    read => return read,
                }
                let arrived = session.read_tls(stream)?;
                session.process_new_packets().map_err(io::Error::other)?;
                write_tls(session, stream)?;
                if arrived == 0 {
                    return Ok(0);
                }
            },
        }
    }

    /// Writes as much as fits. Fails with `WouldBlock` if nothing does.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.write(bytes),
            #[cfg(unix)]
            Socket::Unix(stream) => stream.write(bytes),
            Socket::Tls(session, stream) => {
                // The session buffers; not more than the socket takes, though.
                write_tls(session, stream)?;
                if session.wants_write() {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                let written = session.writer().write(bytes)?;
                write_tls(session, stream)?;
                Ok(written)
            }
        }
    }

    /// Writes what the session holds back; returns whether nothing is left.
    pub fn flush(&mut self) -> io::Result<bool> {
        match self {
            Socket::Tls(session, stream) => {
                write_tls(session, stream)?;
                Ok(!session.wants_write())
            }
            _ => Ok(true),
        }
    }

    /// Ends a session politely.
    pub fn close(&mut self) {
        if let Socket::Tls(session, stream) = self {
            session.send_close_notify();
            let _ = write_tls(session, stream);
        }
    }
}

fn write_tls(session: &mut ServerConnection, stream: &mut TcpStream) -> io::Result<()> {
    while session.wants_write() {
        match session.write_tls(stream) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
