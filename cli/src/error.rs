//! What can end a command.

use std::io;
use std::path::PathBuf;

use dedupstore::CreateError;
use dedupstore::lines::{KeySelectorError, LineTooLong};

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Whoever read our output has gone away.
    #[error("the output was closed")]
    ClosedPipe,
    #[error("cannot write the output: {0}")]
    Output(io::Error),
    #[error("cannot open {}: {error}{}", path.display(), hint(.error))]
    Open { path: PathBuf, error: io::Error },
    #[error("{} is a directory; name the files in it, for example {}/*.log", path.display(), path.display())]
    Directory { path: PathBuf },
    #[error("cannot read {name}: {error}")]
    Read { name: String, error: io::Error },
    #[error("{name}: {error}")]
    Line { name: String, error: LineTooLong },
    #[error("{0}; give another size with --memory")]
    Memory(#[from] CreateError),
    #[error("--field: {0}")]
    Key(#[from] KeySelectorError),
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    /// An error in writing; a closed pipe is told apart.
    pub fn writing(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Output(error),
        }
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; to read standard input, name no file or `-`",
        _ => "",
    }
}
