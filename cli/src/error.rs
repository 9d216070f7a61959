//! The reasons for which a command ends early.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dedupstore::CreateError;
use dedupstore::lab::reproduce::RunError;
use dedupstore::lines::{KeyOptionsError, LineTooLong};
use dedupstore::store::{MergeError, RepairError, StoreError};
use dedupstore_cluster::{ClusterAddress, ClusterError};
use dedupstore_server::{ClientError, ServerAddress};
use dedupstore_view::{
    CreateCommand, LimitReached, contradiction_message, create_error_message, error_message,
    key_error_message, merge_error_message, repair_error_message, still_in_use_message,
};

use crate::compression::Compression;
use crate::decompress::{is_standard_input, name_of};
use crate::table::plural;

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The reader of standard output has closed the pipe.
    #[error("the output was closed")]
    ClosedPipe,
    #[error("cannot write the output: {0}")]
    Output(io::Error),
    /// The report of a new store cannot be written.
    #[error("cannot write the output: {error}; {}", after_creation(path, *removed))]
    Report {
        path: PathBuf,
        error: io::Error,
        /// Whether the store was removed because of that.
        removed: bool,
    },
    #[error(
        "standard output is closed, so nobody would get the output; redirect it to a file, or to \
         /dev/null to discard it"
    )]
    ClosedOutput,
    #[error("cannot open {}: {error}{}", path.display(), hint(.error))]
    Open { path: PathBuf, error: io::Error },
    #[error("{0} is a directory; name the files in it, for example {0}/*.log", path.display())]
    Directory { path: PathBuf },
    #[error("cannot read {name}: {error}")]
    Read { name: String, error: io::Error },
    #[error("{}", decompression(path, *compression, error, *bytes))]
    Decompress {
        path: PathBuf,
        compression: Compression,
        error: io::Error,
        /// The number of bytes decompressed before the error.
        bytes: u64,
    },
    #[error(
        "{failed} of {} could not be read to the end; the others, and the complete lines before \
         each error, were processed",
        plural(*total, "input")
    )]
    Inputs { failed: u64, total: u64 },
    #[error("{name}: {error}")]
    Line { name: String, error: LineTooLong },
    #[error("{}", create_error_message(.0))]
    Memory(#[from] CreateError),
    #[error("cannot write to {}: {error}{}", path.display(), hint_for_writing(.error))]
    Create { path: PathBuf, error: io::Error },
    #[error("cannot write metrics to {}: {error}; choose a file in a directory that you can write to", path.display())]
    Metrics { path: PathBuf, error: io::Error },
    #[error("{0}; a larger --scale needs less memory")]
    Run(#[from] RunError),
    #[error("{}", key_error_message(.0))]
    Key(#[from] KeyOptionsError),
    #[error("{}", error_message(path.display(), error))]
    Store { path: PathBuf, error: StoreError },
    /// An option contradicts the store.
    #[error("{}", contradiction_message(path.display(), error, like_it))]
    Contradiction {
        path: PathBuf,
        error: StoreError,
        /// The command that creates another store like it.
        like_it: Box<CreateCommand>,
    },
    /// Another process uses the store, and the time of --wait is over.
    #[error("{}", still_in_use_message(path.display(), in_use, *waited))]
    StillInUse {
        path: PathBuf,
        /// Who uses the store.
        in_use: String,
        waited: Duration,
    },
    #[error("{}", repair_error_message(path.display(), error))]
    Repair { path: PathBuf, error: RepairError },
    #[error("{}", merge_error_message(.0))]
    Merge(#[from] MergeError),
    /// The next lines would exceed the limit of the false positive rate.
    #[error("{0}")]
    Limit(LimitReached),
    /// The command succeeded, and its answer is no.
    #[error("no")]
    AnswerIsNo,
    /// A signal ended the command with this exit code.
    #[error("ended by a signal")]
    Signal(u8),
    /// A server cannot be used.
    #[error("{address}: {error}{}", server_hint(error))]
    Server { address: String, error: ClientError },
    /// A store on Redis cannot be used.
    #[error("{address}: {error}{}", cluster_hint(address, error))]
    Cluster {
        address: String,
        error: Box<ClusterError>,
    },
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    /// Wraps an error of the store at a path.
    pub fn store(path: &Path) -> impl FnOnce(StoreError) -> Self {
        let path = path.to_owned();
        move |error| Failure::Store { path, error }
    }

    /// Wraps an error of the server at an address.
    pub fn server(address: &ServerAddress) -> impl FnOnce(ClientError) -> Self {
        let address = address.to_string();
        move |error| Failure::Server { address, error }
    }

    /// Wraps an error of a store on Redis.
    pub fn cluster(address: &ClusterAddress) -> impl FnOnce(ClusterError) -> Self + use<> {
        let address = address.to_string();
        move |error| Failure::Cluster {
            address,
            error: Box::new(error),
        }
    }

    /// Wraps an error of options that may contradict the store at a path.
    pub fn agreement(path: &Path, like_it: &CreateCommand) -> impl FnOnce(StoreError) -> Self {
        let (path, like_it) = (path.to_owned(), Box::new(like_it.clone()));
        move |error| Failure::Contradiction {
            path,
            error,
            like_it,
        }
    }

    /// Wraps an error of reading an input; a closed output pipe is not an error.
    pub fn reading(name: &str, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Read {
                name: name.to_owned(),
                error,
            },
        }
    }

    /// Wraps an error of writing the output; a closed pipe is not an error.
    pub fn writing(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Output(error),
        }
    }
}

fn after_creation(path: &Path, removed: bool) -> String {
    match removed {
        true => format!("{} was removed again; nothing was created", path.display()),
        false => format!("{} was created and is complete", path.display()),
    }
}

fn hint_for_writing(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; create the directory first",
        _ => "",
    }
}

fn decompression(path: &Path, compression: Compression, error: &io::Error, bytes: u64) -> String {
    let (name, format) = (name_of(path), compression.name());
    let problem = match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("the {format} data is truncated"),
        io::ErrorKind::OutOfMemory => {
            format!("the {format} data needs more memory than allowed ({error})")
        }
        _ => format!("the {format} data is corrupt ({error})"),
    };
    let check = match is_standard_input(path) {
        true => String::new(),
        false => format!("; check the file: {} -t {name}", compression.program()),
    };
    format!(
        "cannot decompress {name}: {problem} after {} of text; the complete lines before \
         that were processed{check}",
        plural(bytes, "byte")
    )
}

fn server_hint(error: &ClientError) -> &'static str {
    match error {
        ClientError::Connect(_) => "; start a server there: dedupstore serve DIR",
        ClientError::Connection(_) => "; what was not recorded is printed again by the next run",
        ClientError::Refused(text) if text.ends_with("not found") => {
            "; the server creates a store when it is first used, for example by `filter`"
        }
        _ => "",
    }
}

fn cluster_hint(address: &str, error: &ClusterError) -> String {
    match error {
        ClusterError::Connect { .. } => {
            "; or start a server there: dedupstore serve DIR".to_owned()
        }
        ClusterError::NotFound { .. } => format!("; to create one: dedupstore create {address}"),
        _ => String::new(),
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; to read standard input, name no file, or `-`",
        _ => "",
    }
}
