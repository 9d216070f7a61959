//! What can end a command.

use std::io;
use std::path::{Path, PathBuf};

use dedupstore::CreateError;
use dedupstore::lines::{KeySelectorError, LineTooLong};
use dedupstore::store::StoreError;

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
    #[error("{error}{}", next_step(path, error))]
    Store { path: PathBuf, error: StoreError },
    /// No error: exit code 1.
    #[error("the answer is no")]
    AnswerIsNo,
}

impl Failure {
    /// An error with the store at a path.
    pub fn store(path: &Path) -> impl FnOnce(StoreError) -> Self {
        let path = path.to_owned();
        move |error| Failure::Store { path, error }
    }

    /// An error in writing; a closed pipe is told apart.
    pub fn writing(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Output(error),
        }
    }
}

/// What to run when a store cannot be used, where the error itself does not say.
fn next_step(path: &Path, error: &StoreError) -> String {
    let path = path.display();
    match error {
        StoreError::Io {
            operation: "open",
            error,
            ..
        } if error.kind() == io::ErrorKind::NotFound => {
            format!("; to make a store there: dedupstore create {path}")
        }
        StoreError::NotAStore { .. } => {
            format!("; name the directory of a store, or make one: dedupstore create {path}.dds")
        }
        _ => String::new(),
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; to read standard input, name no file or `-`",
        _ => "",
    }
}
