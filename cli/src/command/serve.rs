//! `dedupstore serve`: answers clients in every language over the Redis protocol.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use dedupstore::DEFAULT_MEMORY;
use dedupstore::store::{CreateOptions, Durability};
use dedupstore_server::{
    Limits, NewStore, RequestLimits, Server, Settings, StoreSettings, name_of, server_tls,
};

use crate::cleanup::CleanupOnSignal;
use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::filter_arguments::FilterArguments;
use crate::filter_choice::WindowQuestion;
use crate::local_path;
use crate::open_store::is_store;
use crate::reserved_filter;
use crate::server_log::{self, LogFormat};
use crate::server_metrics;
use crate::service_notification;
use crate::value_parsers;

/// Answer clients in every language: a server that speaks the Redis protocol
///
/// Clients of Redis and RedisBloom work unchanged: BF.ADD, BF.MADD, BF.EXISTS, BF.RESERVE, SADD,
/// SISMEMBER and more; docs/SERVE.md lists all commands and replies. The key of a command is the
/// name of a store in DIR, which is created on first use. A reply means that the keys are in the
/// store's log: they survive the end of the process. After WAITAOF 1 0 0, or with --sync every, they
/// survive a power loss, too.
///
/// SIGTERM answers what is under way, closes the stores and exits with 0; SIGHUP takes checkpoints.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A directory whose stores are served, or stores; at most one directory
    #[arg(value_name = "DIR|STORE", required = true)]
    paths: Vec<PathBuf>,

    /// Listen on this address; may be repeated. An address that other machines can reach needs
    /// --requirepass-file [default: 127.0.0.1:6379, unless there is --unix]
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<SocketAddr>,

    /// Listen on a Unix socket, which only this user can connect to
    #[arg(long, value_name = "PATH")]
    unix: Option<PathBuf>,

    /// Clients must give the password in this file's first line
    #[arg(long, value_name = "FILE")]
    requirepass_file: Option<PathBuf>,

    /// The certificate chain for TLS, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The private key for TLS, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Serve /metrics, for Prometheus, and /health on this address
    #[arg(long, value_name = "ADDRESS")]
    metrics_listen: Option<SocketAddr>,

    /// When recorded keys are safe from a power loss: before each reply (every), at this interval,
    /// or whenever the system writes them (none). The end of the process alone loses nothing
    /// [default: 1s]
    #[arg(long, value_name = "every|TIME|none", value_parser = value_parsers::durability)]
    sync: Option<Durability>,

    #[command(flatten)]
    filter: FilterArguments,

    /// Clients create no stores
    #[arg(long)]
    no_create: bool,

    /// Clients may delete stores with DEL
    #[arg(long)]
    allow_delete: bool,

    /// The longest key
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = value_parsers::size,
          help_heading = "Limits")]
    max_key: u64,

    /// The largest request: all keys of one command together
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = value_parsers::size,
          help_heading = "Limits")]
    max_request: u64,

    /// The largest number of connections
    #[arg(long, value_name = "N", default_value = "4096", value_parser = value_parsers::count,
          help_heading = "Limits")]
    max_clients: u64,

    /// How many requests of a connection are carried out before the first is answered
    #[arg(long, value_name = "N", default_value = "10000", value_parser = value_parsers::count,
          help_heading = "Limits")]
    max_pipeline: u64,

    /// The memory for incomplete requests and unread replies of all connections
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = value_parsers::size,
          help_heading = "Limits")]
    max_buffers: u64,

    /// The largest number of open stores
    #[arg(long, value_name = "N", default_value = "64", value_parser = value_parsers::count,
          help_heading = "Limits")]
    max_stores: u64,

    /// The largest number of claims per store that wait for a commit
    #[arg(long, value_name = "N", default_value = "1M", value_parser = value_parsers::count,
          help_heading = "Limits")]
    max_claims: u64,

    /// A claim that is neither committed nor aborted ends after this time
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = value_parsers::time,
          help_heading = "Limits")]
    claim_timeout: Duration,

    /// Close connections that are idle for this time; 0s for never
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = value_parsers::time,
          help_heading = "Limits")]
    idle_timeout: Duration,

    /// The form of the log on standard error
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log: LogFormat,
}

const EXAMPLES: &str = "\
Examples:
  dedupstore serve stores/                          on 127.0.0.1:6379
  redis-cli BF.ADD links https://harbour.example/   1 if it is new, 0 if it was seen
  dedupstore serve links.dds --unix /run/links.sock
  dedupstore serve stores/ --listen 0.0.0.0:6379 --requirepass-file password \\
      --tls-cert chain.pem --tls-key key.pem --metrics-listen 127.0.0.1:9121
  dedupstore filter redis://127.0.0.1:6379/links links.txt > new.txt";

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    for path in &arguments.paths {
        local_path::check_store("serve", path)?;
    }
    let settings = settings(&arguments, global.quiet)?;
    raise_file_limit();
    // Half-made stores are removed if a signal ends the process while it opens the first ones.
    let cleanup = CleanupOnSignal::start_ignoring_hangup();
    let server = Server::start(settings).map_err(|error| Failure::Usage(error.to_string()))?;
    let handle = server.handle();
    let log = |event: &str, fields: &[(&str, String)]| {
        if !global.quiet {
            server_log::write(arguments.log, event, fields);
        }
    };
    for address in server.addresses() {
        log("listening", &[("address", address.to_string())]);
    }
    if let Some(path) = &arguments.unix {
        log("listening", &[("unix", path.display().to_string())]);
    }
    if let Some(address) = arguments.metrics_listen {
        let started = server_metrics::start(address, Arc::clone(handle.counters()));
        let failed = |error| Failure::Usage(format!("cannot listen on {address}: {error}"));
        let address = started.map_err(failed)?;
        log("metrics", &[("address", address.to_string())]);
    }
    drop(cleanup);
    #[cfg(unix)]
    stop_on_signals(&handle).map_err(|error| Failure::Usage(error.to_string()))?;
    service_notification::send("READY=1\nSTATUS=answering requests");
    let summary = server.run();
    let summary = summary.map_err(|error| Failure::Usage(format!("the server failed: {error}")))?;
    match summary.failures.first() {
        Some(first) => Err(Failure::Usage(first.clone())),
        None => {
            log("stopped", &[("stores", summary.stores.to_string())]);
            Ok(())
        }
    }
}

fn settings(arguments: &Arguments, quiet: bool) -> Result<Settings, Failure> {
    let (stores, directories): (Vec<_>, Vec<_>) =
        arguments.paths.iter().partition(|path| is_store(path));
    let directory = match directories[..] {
        [] => None,
        [directory] => Some(directory.clone()),
        [_, second, ..] => {
            return Err(Failure::Usage(format!(
                "{} is a second directory; name one directory, or stores",
                second.display()
            )));
        }
    };
    if let Some(directory) = &directory {
        std::fs::create_dir_all(directory).map_err(|error| Failure::Create {
            path: directory.clone(),
            error,
        })?;
    }
    let mut listen = arguments.listen.clone();
    if listen.is_empty() && arguments.unix.is_none() {
        listen.push(SocketAddr::from(([127, 0, 0, 1], 6379)));
    }
    let password = match &arguments.requirepass_file {
        Some(path) => Some(read_password(path)?),
        None => None,
    };
    if let Some(address) = listen.iter().find(|it| !it.ip().is_loopback())
        && password.is_none()
    {
        return Err(Failure::Usage(format!(
            "other machines can reach {address}: give --requirepass-file FILE. Without --tls-cert and \
             --tls-key, the password and the keys are not encrypted; that is then the job of a proxy \
             or of the network"
        )));
    }
    let tls = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificate), Some(key)) => {
            let tls = server_tls(certificate, key);
            Some(tls.map_err(|error| Failure::Usage(error.to_string()))?)
        }
        _ => None,
    };
    let format = arguments.log;
    Ok(Settings {
        listen,
        unix: arguments.unix.clone(),
        directory,
        stores: stores.into_iter().map(|path| named(path)).collect(),
        create: !arguments.no_create,
        allow_delete: arguments.allow_delete,
        password,
        tls,
        limits: Limits {
            clients: arguments.max_clients as usize,
            request: RequestLimits {
                request_bytes: arguments.max_request as usize,
                argument_bytes: arguments.max_key as usize,
            },
            pipeline: arguments.max_pipeline.max(1) as usize,
            idle: Some(arguments.idle_timeout).filter(|time| !time.is_zero()),
            buffered_bytes: arguments.max_buffers as usize,
            stores: arguments.max_stores as usize,
        },
        store: StoreSettings {
            durability: arguments.sync.unwrap_or_default(),
            claim_timeout: arguments.claim_timeout,
            max_claims: arguments.max_claims as usize,
        },
        new_store: new_store(&arguments.filter)?,
        log: Arc::new(move |event, fields| {
            if !quiet {
                server_log::write(format, event, fields);
            }
        }),
    })
}

/// Returns the name of a store that is given by its path.
fn named(path: &Path) -> (Vec<u8>, PathBuf) {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name_of(&file).unwrap_or_else(|| file.trim_end_matches(".dds").as_bytes().to_vec());
    (name, path.to_owned())
}

/// Returns what makes the options of new stores: those of the command, or those of a reservation.
fn new_store(filter: &FilterArguments) -> Result<NewStore, Failure> {
    let mut defaults = filter.options()?;
    if let (Some(seconds), None) = (filter.window, defaults.spec()) {
        let bits = filter.memory.map(|bytes| bytes.saturating_mul(8));
        let chosen = WindowQuestion::of(seconds).choose(bits.unwrap_or(DEFAULT_MEMORY.bits()))?;
        defaults = defaults.filter(chosen.filter);
    }
    // Reports wrong options now, not to the first client.
    defaults
        .layout()
        .map_err(Failure::store(Path::new("NAME.dds")))?;
    Ok(Arc::new(move |reserve| -> Result<CreateOptions, String> {
        match reserve {
            None => Ok(defaults.clone()),
            Some(reserve) => reserved_filter::options(reserve).map_err(|it| it.to_string()),
        }
    }))
}

fn read_password(path: &Path) -> Result<Vec<u8>, Failure> {
    let text = std::fs::read(path).map_err(|error| Failure::Read {
        name: path.display().to_string(),
        error,
    })?;
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.is_empty() {
        true => Err(Failure::Usage(format!(
            "the first line of {} is empty; write the password there",
            path.display()
        ))),
        false => Ok(line.to_vec()),
    }
}

/// Every connection and every store needs open files, and the usual limit is 1,024.
fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // Without it, fewer connections are accepted.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// Stops the server on SIGTERM and SIGINT, at once on the second, and takes checkpoints on SIGHUP.
#[cfg(unix)]
fn stop_on_signals(handle: &dedupstore_server::Handle) -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let handle = handle.clone();
    let wait = move || {
        let mut stopping = false;
        for signal in signals.forever() {
            match signal {
                SIGHUP => handle.checkpoint(),
                signal if stopping => std::process::exit(128 + signal),
                _ => {
                    stopping = true;
                    service_notification::send("STOPPING=1");
                    handle.stop();
                }
            }
        }
    };
    std::thread::Builder::new()
        .name("dedupstore signals".to_owned())
        .spawn(wait)?;
    Ok(())
}
