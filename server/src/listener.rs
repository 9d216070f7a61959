//! The sockets on which a server listens.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mio::net::TcpListener;
#[cfg(unix)]
use mio::net::UnixListener;
use mio::{Interest, Registry, Token};

use crate::socket::Socket;

/// A socket on which a server listens.
pub enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens on an address.
    pub fn tcp(address: SocketAddr) -> io::Result<Self> {
        TcpListener::bind(address).map(Listener::Tcp)
    }

    /// Listens on a Unix socket that only this user can connect to. A socket that a killed server
    /// has left behind is replaced.
    #[cfg(unix)]
    pub fn unix(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt};
        use std::os::unix::net::UnixStream;
        let is_socket = std::fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
        if is_socket && UnixStream::connect(path).is_err() {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Listener::Unix(listener, path.to_owned()))
    }

    /// There are no Unix sockets here.
    #[cfg(not(unix))]
    pub fn unix(_: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Registers for readiness.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        match self {
            Listener::Tcp(listener) => registry.register(listener, token, Interest::READABLE),
            #[cfg(unix)]
            Listener::Unix(listener, _) => registry.register(listener, token, Interest::READABLE),
        }
    }

    /// Accepts a connection.
    pub fn accept(&self, tls: Option<&Arc<rustls::ServerConfig>>) -> io::Result<Socket> {
        match self {
            Listener::Tcp(listener) => Socket::tcp(listener.accept()?.0, tls),
            #[cfg(unix)]
            Listener::Unix(listener, _) => Ok(Socket::Unix(listener.accept()?.0)),
        }
    }

    /// Returns the address of a TCP socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            #[cfg(unix)]
            Listener::Unix(..) => None,
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Listener::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}
