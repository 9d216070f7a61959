//! A connection to one node.

use std::time::{Duration, Instant};

use redis::{Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo};
use redis::{RedisError, ServerErrorKind, TlsCertificates, Value};

use crate::address::{ClusterAddress, Credentials, node_name};
use crate::error::ClusterError;

/// How long a connection may be unused before it is checked. A server closes idle connections, and
/// a request on a closed one may or may not have been carried out.
const IDLE: Duration = Duration::from_secs(1);

/// How nodes are reached.
#[derive(Clone, Debug)]
pub struct Access {
    /// The user and the password.
    pub credentials: Credentials,
    /// Whether connections use TLS.
    pub tls: bool,
    /// The certificates that TLS trusts, in PEM; those of the system if there are none.
    pub certificate_authority: Option<Vec<u8>>,
    /// How long to wait for a connection.
    pub connect_timeout: Duration,
    /// How long to wait for the answers to a batch, from all nodes together.
    pub answer_timeout: Duration,
}

impl Access {
    /// Returns the access that an address describes, with what it does not say taken from the
    /// environment: see [`Credentials::or_environment`], and `DEDUPSTORE_TLS_CA`, which names a file
    /// with trusted certificates.
    pub fn of(address: &ClusterAddress) -> Result<Self, ClusterError> {
        let read = |path: String| {
            std::fs::read(&path).map_err(|error| ClusterError::Secret {
                what: "certificates",
                path,
                error,
            })
        };
        let path = std::env::var("DEDUPSTORE_TLS_CA").ok();
        let path = path.filter(|path| address.tls && !path.is_empty());
        Ok(Access {
            credentials: address.credentials.clone().or_environment()?,
            tls: address.tls,
            certificate_authority: path.map(read).transpose()?,
            connect_timeout: Duration::from_secs(2),
            answer_timeout: Duration::from_secs(5),
        })
    }

    /// Connects to a node and logs in.
    pub(crate) fn connect(&self, host: &str, port: u16) -> Result<Node, ClusterError> {
        let name = node_name(host, port);
        let connect = || -> Result<redis::Connection, RedisError> {
            let client = Client::open(self.information(host, port)?)?;
            let connection = client.get_connection_with_timeout(self.connect_timeout)?;
            connection.set_write_timeout(Some(self.answer_timeout))?;
            // The first request begins TLS, and waits for answers meanwhile.
            connection.set_read_timeout(Some(self.answer_timeout))?;
            Ok(connection)
        };
        match connect() {
            Ok(connection) => Ok(Node {
                connection,
                used: Instant::now(),
                name,
            }),
            Err(error) if is_login(&error) => Err(ClusterError::Login {
                node: name,
                reason: reason_of(&error),
            }),
            Err(error) => Err(ClusterError::Connect {
                node: name,
                reason: reason_of(&error),
            }),
        }
    }

    fn information(&self, host: &str, port: u16) -> Result<ConnectionInfo, RedisError> {
        let mut login = RedisConnectionInfo::default().set_skip_set_lib_name();
        if let Some(username) = &self.credentials.username {
            login = login.set_username(username);
        }
        if let Some(password) = &self.credentials.password {
            login = login.set_password(password);
        }
        let information = match (self.tls, &self.certificate_authority) {
            (false, _) => ConnectionAddr::Tcp(host.to_owned(), port).into_connection_info()?,
            (true, None) => ConnectionAddr::TcpTls {
                host: host.to_owned(),
                port,
                insecure: false,
                tls_params: None,
            }
            .into_connection_info()?,
            (true, Some(pem)) => {
                let url = format!("rediss://{}", node_name(host, port));
                let certificates = TlsCertificates {
                    client_tls: None,
                    root_cert: Some(pem.clone()),
                };
                let client = Client::build_with_tls(url, certificates)?;
                client.get_connection_info().clone()
            }
        };
        Ok(information.set_redis_settings(login))
    }
}

/// Returns the text of an error for a message.
pub(crate) fn reason_of(error: &RedisError) -> String {
    match error.is_timeout() {
        // The system calls this "resource temporarily unavailable".
        true => "it does not answer in time".to_owned(),
        false => error.to_string(),
    }
}

fn is_login(error: &RedisError) -> bool {
    let text = error.to_string();
    error.kind() == redis::ErrorKind::AuthenticationFailed
        || matches!(error.code(), Some("NOAUTH" | "WRONGPASS"))
        || text.contains("NOAUTH")
        || text.contains("WRONGPASS")
        || text.contains("without any password configured")
}

/// A connection to one node.
pub(crate) struct Node {
    connection: redis::Connection,
    used: Instant,
    pub name: String,
}

impl Node {
    /// Returns whether the connection can be used. It is tried if it was idle.
    pub fn is_usable(&mut self) -> bool {
        let idle = self.used.elapsed() > IDLE;
        self.used = Instant::now();
        !idle || self.call(&redis::cmd("PING"), IDLE).is_ok()
    }

    /// Sends requests, which are packed one after the other.
    pub fn send(&mut self, packed: &[u8]) -> Result<(), RedisError> {
        self.connection.send_packed_command(packed)
    }

    /// Waits for an answer, at most until the deadline. An error of the server is a value.
    pub fn receive(&mut self, deadline: Instant) -> Result<Value, RedisError> {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = left.max(Duration::from_millis(1));
        self.connection.set_read_timeout(Some(left))?;
        let value = self.connection.recv_response();
        self.used = Instant::now();
        value
    }

    /// Sends one request and waits for its answer. An error of the server is an error.
    pub fn call(&mut self, command: &redis::Cmd, timeout: Duration) -> Result<Value, RedisError> {
        self.send(&command.get_packed_command())?;
        match self.receive(Instant::now() + timeout)? {
            Value::ServerError(error) => Err(error.into()),
            value => Ok(value),
        }
    }
}

/// Returns whether an error says that a node cannot answer now, as opposed to a refusal.
pub(crate) fn is_temporary(error: &redis::ServerError) -> bool {
    matches!(
        error.kind(),
        Some(
            ServerErrorKind::BusyLoading
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly
                | ServerErrorKind::TryAgain
        )
    )
}
