//! The connection of a client: TCP, TLS over TCP, or a Unix socket.

use std::io::{self, Read, Write};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use crate::client::ClientError;
use crate::server_address::Endpoint;
use crate::tls::{TlsError, client_tls};

/// How long to wait for a reply. A store that is opened may replay its log first.
const TIMEOUT: Duration = Duration::from_secs(600);
/// How long to wait for each answer while TLS begins.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection that waits.
pub enum ClientStream {
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl ClientStream {
    /// Connects to a server. With TLS, the server's certificate is checked.
    pub fn connect(endpoint: &Endpoint) -> Result<Self, ClientError> {
        match endpoint {
            Endpoint::Tcp(host, port) => Ok(ClientStream::Tcp(tcp(host, *port)?)),
            Endpoint::Tls(host, port) => {
                let name = ServerName::try_from(host.clone());
                let name = name.map_err(|_| ClientError::HostName(host.clone()))?;
                let session = ClientConnection::new(client_tls()?, name);
                let session = session.map_err(TlsError::Configuration)?;
                let mut stream = StreamOwned::new(session, tcp(host, *port)?);
                // A server without TLS may wait for the rest of a request.
                stream.sock.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
                // Now, so that a certificate that is not trusted fails here.
                while stream.conn.is_handshaking() {
                    let done = stream.conn.complete_io(&mut stream.sock);
                    done.map_err(refused)?;
                }
                stream.sock.set_read_timeout(Some(TIMEOUT))?;
                Ok(ClientStream::Tls(Box::new(stream)))
            }
            #[cfg(unix)]
            Endpoint::Unix(path) => {
                let stream = UnixStream::connect(path).map_err(ClientError::Connect)?;
                stream.set_read_timeout(Some(TIMEOUT))?;
                Ok(ClientStream::Unix(stream))
            }
            #[cfg(not(unix))]
            Endpoint::Unix(_) => Err(ClientError::Connect(io::ErrorKind::Unsupported.into())),
        }
    }
}

/// Tells a certificate that is not accepted from other errors.
fn refused(error: io::Error) -> ClientError {
    let inner = error.get_ref().and_then(|it| it.downcast_ref());
    match inner {
        Some(rustls::Error::InvalidCertificate(reason)) => {
            ClientError::Certificate(reason.to_string())
        }
        // The time ran out.
        None if error.kind() == io::ErrorKind::WouldBlock => ClientError::Connect(io::Error::new(
            io::ErrorKind::TimedOut,
            "no answer to the beginning of TLS; does the server use TLS?",
        )),
        _ => ClientError::Connect(error),
    }
}

fn tcp(host: &str, port: u16) -> Result<TcpStream, ClientError> {
    let stream = TcpStream::connect((host, port)).map_err(ClientError::Connect)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

impl Read for ClientStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            ClientStream::Tcp(stream) => stream.read(buffer),
            ClientStream::Tls(stream) => stream.read(buffer),
            #[cfg(unix)]
            ClientStream::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for ClientStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            ClientStream::Tcp(stream) => stream.write(bytes),
            ClientStream::Tls(stream) => stream.write(bytes),
            #[cfg(unix)]
            ClientStream::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            ClientStream::Tcp(stream) => stream.flush(),
            ClientStream::Tls(stream) => stream.flush(),
            #[cfg(unix)]
            ClientStream::Unix(stream) => stream.flush(),
        }
    }
}
