//! What can end a command.

use std::io;
use std::path::{Path, PathBuf};

use dedupstore::CreateError;
use dedupstore::lab::reproduce::RunError;
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
    #[error("{error}{hint}", error = .0, hint = another_size(.0))]
    Memory(#[from] CreateError),
    #[error("{0}; a larger --scale needs less memory")]
    Run(#[from] RunError),
    #[error("--field: {0}")]
    Key(#[from] KeySelectorError),
    #[error("{}{}", about(path, error), next_step(path, error))]
    Store { path: PathBuf, error: StoreError },
    /// Everything went well, and the answer is no.
    #[error("no")]
    AnswerIsNo,
    /// A signal ended it, with this exit code.
    #[error("a signal came")]
    Signal(u8),
    #[error("{0}")]
    Usage(String),
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

fn another_size(error: &CreateError) -> &'static str {
    match error {
        CreateError::NumbersOnly { .. } => "",
        _ => "; give another size with --memory",
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; to read standard input, name no file or `-`",
        _ => "",
    }
}

/// The error, with the store's name if it does not give it itself.
fn about(path: &Path, error: &StoreError) -> String {
    let (name, message) = (path.display().to_string(), error.to_string());
    match message.contains(name.trim_end_matches('/')) {
        true => message,
        false => format!("{name}: {message}"),
    }
}

/// What to run next, where the error does not say.
fn next_step(path: &Path, error: &StoreError) -> String {
    let path = path.display();
    match error {
        StoreError::NotAStore { .. } => {
            format!(
                "; it was left alone: name the directory of a store, or make one: dedupstore create {path}.dds"
            )
        }
        StoreError::Create(_) => "; give another size with --memory".to_owned(),
        StoreError::Io { error, .. } => match error.kind() {
            io::ErrorKind::NotFound => {
                format!("; to make a store there: dedupstore create {path}")
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "; make room (`df -h`), or give a smaller --memory".to_owned()
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                format!("; see who may write there with `ls -ld {path}`, and `findmnt -T {path}`")
            }
            _ => format!("; `dedupstore verify {path}` tells what is whole"),
        },
        _ => String::new(),
    }
}
