//! How a server is set up.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dedupstore::store::CreateOptions;

use crate::resp::request::RequestLimits;
use crate::store_thread::StoreSettings;

/// The limits that protect the server from its clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest number of connections.
    pub clients: usize,
    /// The limits of a request.
    pub request: RequestLimits,
    /// The largest number of requests that are carried out before the first of them is answered.
    pub pipeline: usize,
    /// A connection that neither sends nor receives anything for so long is closed; None for never.
    pub idle: Option<Duration>,
    /// The largest number of bytes of all incomplete requests and unread replies together.
    pub buffered_bytes: usize,
    /// The largest number of stores that are open at a time.
    pub stores: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            clients: 4096,
            request: RequestLimits {
                request_bytes: 8 << 20,
                argument_bytes: 64 << 10,
            },
            pipeline: 10_000,
            idle: Some(Duration::from_secs(3600)),
            buffered_bytes: 256 << 20,
            stores: 64,
        }
    }
}

/// What a client asks of a new store with BF.RESERVE or BF.INSERT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reserve {
    /// The false positive rate; None for the server's default.
    pub error_rate: Option<f64>,
    /// The number of keys; None for the server's default.
    pub capacity: Option<u64>,
    /// Whether the filter grows beyond the capacity.
    pub scaling: bool,
    /// When keys are forgotten, in seconds; None for never.
    pub window_seconds: Option<u64>,
}

/// Returns the options of a new store: for a reservation, or the defaults.
pub type NewStore = Arc<dyn Fn(Option<Reserve>) -> Result<CreateOptions, String> + Send + Sync>;

/// Receives events, each with a name and values.
pub type EventLog = Arc<dyn Fn(&str, &[(&str, String)]) + Send + Sync>;

/// How a server is set up.
#[derive(Clone)]
pub struct Settings {
    /// The addresses to listen on.
    pub listen: Vec<SocketAddr>,
    /// The path of a Unix socket to listen on.
    pub unix: Option<PathBuf>,
    /// The directory whose stores are served; None if only `stores` are.
    pub directory: Option<PathBuf>,
    /// Stores that are opened at the start, with their names.
    pub stores: Vec<(Vec<u8>, PathBuf)>,
    /// Whether clients create stores.
    pub create: bool,
    /// Whether clients delete stores.
    pub allow_delete: bool,
    /// The password of all clients.
    pub password: Option<Vec<u8>>,
    /// TLS for TCP connections.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// The limits that protect it from clients.
    pub limits: Limits,
    /// How stores are opened.
    pub store: StoreSettings,
    /// Makes the options of new stores.
    pub new_store: NewStore,
    /// Receives events.
    pub log: EventLog,
}
